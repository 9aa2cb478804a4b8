/*
 * hear opens each message of a peer, whatever its kind. It counts and drops a message that is
 * unsealed, malformed, of another version or of an unknown kind, or that another member than its
 * sender has brought; the log says which side must be upgraded. It hands all other messages to
 * gossip.c or to plane_message.c.
 */
#include "cluster/hear.h"

#include "cluster/codec/effects.h"
#include "cluster/codec/envelope.h"
#include "cluster/gossip.h"
#include "cluster/members/traffic.h"
#include "cluster/plane/plane_message.h"
#include "cluster/state/node_state.h"

#include <string.h>

static void note_unsealed(struct node *node, struct effects *effects)
{
    node->stats.messages_unsealed++;
    if (!effects_notice_is_due(&node->notices.unsealed_ns, node->now_ns))
        return;
    effects_notice(
        effects, NOTICE_WARNING,
        "a message without this cluster's seal was dropped: either it was damaged or its sender has another "
        "secret");
}

/*
 * Warns once of each version. A peer can send any number of versions, so at least the gap of
 * effects_notice_is_due lies between two warnings.
 */
static void note_version(struct node *node, const struct envelope *envelope, struct effects *effects)
{
    bool newer = envelope->version > MESSAGE_VERSION;
    node->stats.messages_unreadable++;
    if (node->notices.unreadable_ns > 0 && node->notices.unreadable == envelope->version)
        return;
    if (!effects_notice_is_due(&node->notices.unreadable_ns, node->now_ns))
        return;
    node->notices.unreadable = envelope->version;
    const struct bytes somebody = bytes_of("a peer"),
                       sender = envelope->sender.size > 0 ? envelope->sender : somebody;
    effects_notice(
        effects, NOTICE_WARNING,
        "%.*s sends messages of version %llu, this daemon reads versions %d to %d and drops them: upgrade "
        "%s",
        (int)sender.size, sender.data, (unsigned long long)envelope->version, MESSAGE_VERSION_LEAST,
        MESSAGE_VERSION, newer ? "this daemon" : "that peer");
}

/* `names`: between commas. */
static bool has_name(const char *names, struct bytes name)
{
    for (const char *at = names; *at; at += *at == ',') {
        const size_t size = strcspn(at, ",");
        if (bytes_equal((struct bytes){at, size}, name))
            return true;
        at += size;
    }
    return false;
}

/*
 * Every member says what it knows itself: nobody brings a message of another one. Where the connection of a message has
 * ended before it was heard, nobody knows any more whose that was, and the sender says it again.
 */
static bool is_impostor(struct node *node, const struct envelope *envelope, const char *from,
                        struct effects *effects)
{
    if (from == NULL || has_name(from, envelope->sender))
        return false;
    if (from[0] == '\0') {
        node->stats.messages_orphaned++;
        return true;
    }
    node->stats.messages_impostor++;
    if (effects_notice_is_due(&node->notices.impostor_ns, node->now_ns))
        effects_notice(effects, NOTICE_WARNING,
                       "a message in the name of %.*s was dropped: the certificate of its connection is for %s",
                       (int)envelope->sender.size, envelope->sender.data, from);
    return true;
}

/*
 * A message must arrive as the event of its kind: published, as a request, or as the reply to one.
 */
static const enum event_kind event_of[MESSAGE_KINDS] = {
    [MESSAGE_GOSSIP] = EVENT_MESSAGE,    [MESSAGE_REQUEST] = EVENT_REQUEST,
    [MESSAGE_REPLY] = EVENT_RESPONSE,    [MESSAGE_RULES_ADVERT] = EVENT_MESSAGE,
    [MESSAGE_RULES_ASK] = EVENT_REQUEST, [MESSAGE_RULES_PAGE] = EVENT_RESPONSE,
};

static void take(struct node *node, const struct envelope *envelope, enum event_kind event, struct effects *effects)
{
    if (event_of[envelope->kind] != event) {
        node->stats.messages_invalid++;
        return;
    }
    switch (envelope->kind) {
    case MESSAGE_GOSSIP:
    case MESSAGE_REQUEST:
    case MESSAGE_REPLY:
        gossip_receive(node, envelope, effects);
        return;
    case MESSAGE_RULES_ADVERT:
    case MESSAGE_RULES_ASK:
    case MESSAGE_RULES_PAGE:
        node->stats.messages_invalid += !plane_receive(node, envelope, effects);
        return;
    case MESSAGE_KINDS:
        break;
    }
}

/* While secrets are rotated, some peers seal with another one than the first. */
static bool unseal(struct node *node, struct bytes *bytes)
{
    const struct node_seals *seals = &node->options.seals;
    for (uint32_t i = 0; i < seals->count; i++)
        if (message_unseal(bytes, &seals->key[i])) {
            node->stats.messages_former_secret += i > 0;
            return true;
        }
    return false;
}

void node_set_seals(struct node *node, const struct node_seals *seals)
{
    assert(seals->count > 0 && seals->count <= NODE_SEALS_MAX);
    node->options.seals = *seals;
}

void hear_message(struct node *node, const struct event *event, struct effects *effects)
{
    struct envelope envelope;
    struct bytes bytes = event->bytes;
    if (event->kind == EVENT_RESPONSE && bytes.size == 0)
        return; /* an empty reply: the peer did not understand the request */
    node->stats.bytes_received += bytes.size;
    if (bytes.size > node->options.message_max_bytes) {
        node->stats.messages_invalid++;
        return;
    }
    if (!unseal(node, &bytes)) {
        note_unsealed(node, effects);
        return;
    }
    switch (envelope_open(&envelope, bytes)) {
    case ENVELOPE_OPEN:
        if (is_impostor(node, &envelope, event->from, effects)) {
            envelope_close(&envelope);
            return;
        }
        traffic_heard(node, envelope.sender, event->bytes.size);
        take(node, &envelope, event->kind, effects);
        envelope_close(&envelope);
        return;
    case ENVELOPE_NONSENSE:
        node->stats.messages_invalid++;
        return;
    case ENVELOPE_OTHER_VERSION:
        note_version(node, &envelope, effects);
        return;
    case ENVELOPE_UNKNOWN_KIND:
        node->stats.messages_unknown_kind++;
        return;
    }
}
