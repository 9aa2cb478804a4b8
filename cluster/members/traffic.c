/*
 * Counts what goes to each member and comes from it, for reports. node.c calls it at the end of a step, hear.c for each
 * message that was opened.
 */
#include "cluster/members/traffic.h"

#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

#include <string.h>

void traffic_heard(struct node *node, struct bytes sender, size_t bytes)
{
    const int index = member_find(node, sender);
    node->asker = index;
    if (index < 0 || node->member[index].self)
        return;
    node->member[index].traffic.received_messages++;
    node->member[index].traffic.received_bytes += bytes;
}

static void note_sent(struct member *member, size_t bytes)
{
    member->traffic.sent_messages++;
    member->traffic.sent_bytes += bytes;
}

static void note_published(struct node *node, size_t bytes)
{
    for (uint32_t i = 0; i < node->member_end; i++)
        if (member_needed(&node->member[i]))
            note_sent(&node->member[i], bytes);
}

static void note_request(struct node *node, const char *address, size_t bytes)
{
    for (uint32_t i = 0; i < node->member_end; i++)
        if (node->member[i].used && !node->member[i].self &&
            strcmp(node->member[i].snapshot_address, address) == 0) {
            note_sent(&node->member[i], bytes);
            return;
        }
}

void traffic_sent(struct node *node, const struct effects *effects)
{
    for (size_t i = 0; i < effects->effect_count; i++) {
        const struct effect *effect = &effects->effect[i];
        switch (effect->kind) {
        case EFFECT_PUBLISH:
            note_published(node, effect->size);
            break;
        case EFFECT_REQUEST:
            note_request(node, effect->address, effect->size);
            break;
        case EFFECT_REPLY:
            if (node->asker >= 0 && !node->member[node->asker].self)
                note_sent(&node->member[node->asker], effect->size);
            break;
        case EFFECT_CONNECT:
        case EFFECT_DISCONNECT:
            break;
        }
    }
}
