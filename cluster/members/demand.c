/*
 * demand averages what each member was asked for since the last tick: of others what they said, or what their batches
 * told if they say nothing; of this node what its threads have counted.
 */
#include "cluster/members/demand.h"

#include "base/number.h"
#include "cluster/members/weights_auto.h"
#include "cluster/state/node_state.h"

enum { DEMAND_SMOOTHING = 8 };

static struct demand_record own_demand(const struct node *node)
{
    struct demand_record own = {.said = true, .proposes = weights_auto_proposes(node)};
    for (uint32_t i = 0; i < node->thread_count; i++) {
        own.given += node->thread[i].admitted_tokens;
        own.wanted += node->thread[i].wanted_tokens;
    }
    return own;
}

struct demand_record demand_say(const struct node *node)
{
    return node->options.region_count > 1 ? own_demand(node) : (struct demand_record){0};
}

void demand_hear(struct node *node, const struct message *message, uint32_t sender)
{
    struct member *member = &node->member[sender];
    const struct demand_record *record = &message->members[message->sender].demand;
    const struct demand_word before = member->demand;
    const bool again = before.incarnation == member->incarnation;
    if (again && message->number <= before.message)
        return;
    member->demand = (struct demand_word){.said = record->said,
                                          .proposes = record->proposes,
                                          .incarnation = member->incarnation,
                                          .message = message->number,
                                          .given = record->given,
                                          .wanted = record->wanted};
    /* figures that fall are a peer's nonsense: what it says from here on counts */
    if (!again || !before.said || !record->said || record->given < before.given || record->wanted < before.wanted)
        return;
    member->demand_tokens = number_sum(member->demand_tokens, record->given - before.given);
    member->wanted_tokens = number_sum(member->wanted_tokens, record->wanted - before.wanted);
}

static void smooth(double *tokens_per_s, uint64_t *tokens, uint64_t elapsed_ns)
{
    const double sample = (double)*tokens * 1e9 / (double)elapsed_ns;
    *tokens_per_s += (sample - *tokens_per_s) / DEMAND_SMOOTHING;
    *tokens = 0;
}

void demand_gather(struct node *node)
{
    struct publishing *publishing = &node->publishing;
    const struct demand_record own = own_demand(node);
    node->member[node->me].demand_tokens += own.given - publishing->demand_tokens;
    node->member[node->me].wanted_tokens += own.wanted - publishing->wanted_tokens;
    publishing->demand_tokens = own.given;
    publishing->wanted_tokens = own.wanted;
}

void demand_average(struct node *node)
{
    struct publishing *publishing = &node->publishing;
    const uint64_t elapsed_ns = node->now_ns - publishing->demand_ns;
    publishing->demand_ns = node->now_ns;
    if (elapsed_ns == 0)
        return;
    for (uint32_t i = 0; i < node->member_end; i++) {
        struct member *member = &node->member[i];
        smooth(&member->demand_tokens_per_s, &member->demand_tokens, elapsed_ns);
        smooth(&member->wanted_tokens_per_s, &member->wanted_tokens, elapsed_ns);
    }
}
