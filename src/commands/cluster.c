/*
 * Answers what operators ask about the peers: NODES, CLUSTER NODES, FORGET, KEY, DEBUG.
 */
#include "base/hex.h"
#include "commands/call.h"

#include <assert.h>
#include <string.h>

/*
 * A weight has nine digits. A share is a little less than its weight, because the share is cut to a
 * binary fraction: rounding restores the weight.
 */
static double share_of(const struct peer_report *peer)
{
    const uint64_t billionths = (peer->share * 1000000000u + SHARE_ONE / 2) / SHARE_ONE;
    return (double)billionths / 1e9;
}

static void answer_traffic(struct answer *answer, const struct peer_traffic *traffic)
{
    answer_pair_count(answer, "received_messages", traffic->received_messages);
    answer_pair_count(answer, "received_bytes", traffic->received_bytes);
    answer_pair_count(answer, "sent_messages", traffic->sent_messages);
    answer_pair_count(answer, "sent_bytes", traffic->sent_bytes);
}

static void answer_clock(struct answer *answer, const struct peer_report *peer)
{
    answer_pair_text(answer, "clock", clock_state_name(peer->clock));
    answer_text(answer, "clock_rate");
    if (peer->clock != CLOCK_UNMEASURED)
        answer_double(answer, 1 + (double)peer->clock_ppm / 1e6);
    else
        answer_null(answer);
    answer_pair_integer(answer, "clock_jumps", peer->clock_jumps);
    answer_text(answer, "clock_offset_ms");
    if (peer->wall_known)
        answer_integer(answer, peer->wall_ahead_ms);
    else
        answer_null(answer);
}

static void answer_fingerprint(struct answer *answer, const uint8_t key[NODE_KEY_BYTES], bool is_there)
{
    char text[2 * NODE_KEY_BYTES + 1];
    hex_write(key, NODE_KEY_BYTES, text);
    if (is_there)
        answer_text(answer, text);
    else
        answer_null(answer);
}

static void answer_key(struct answer *answer, const struct peer_report *peer)
{
    static const uint8_t none[NODE_KEY_BYTES];
    answer_pair_text(answer, "key_state", key_state_name(peer->key_state));
    answer_text(answer, "key");
    answer_fingerprint(answer, peer->key, memcmp(peer->key, none, sizeof none) != 0);
    answer_text(answer, "offered_key");
    answer_fingerprint(answer, peer->offered_key,
                       peer->key_state == KEY_DIFFERS && memcmp(peer->offered_key, none, sizeof none) != 0);
}

enum { NODES_PAIRS = 27 }; /* of each peer in NODES: answer_pair_* calls */

void call_nodes(struct call *call)
{
    struct answer *answer = &call->answer;
    struct peer_report peers[NODE_PEERS_MAX];
    size_t count = node_peers(call->commands->node, call->now_ns, peers);
    char waits_for[NODE_NOTICE_BYTES];
    node_waits_for(call->commands->node, waits_for);
    answer_array(answer, count);
    for (size_t i = 0; i < count; i++) {
        const struct peer_report *peer = &peers[i];
        answer_map(answer, NODES_PAIRS);
        answer_pair_text(answer, "node", peer->name);
        answer_pair_text(answer, "region", peer->region);
        answer_pair_text(answer, "address", peer->gossip_address);
        answer_pair_text(answer, "state", peer_state_name(peer->state));
        answer_pair_bool(answer, "self", peer->self);
        answer_pair_integer(answer, "heard_ago_ms", peer->self ? 0 : call_ms(peer->heard_ago_ns));
        answer_pair_count(answer, "round_trip_us", peer->round_trip_ns / 1000);
        answer_pair_count(answer, "lag_batches", peer->lag_batches);
        answer_pair_count(answer, "log_batches", peer->log_batches);
        answer_pair_double(answer, "share", share_of(peer));
        answer_pair_bool(answer, "config_differs", peer->config_differs);
        answer_pair_bool(answer, "decides", peer->decides);
        answer_pair_count(answer, "incarnation", peer->incarnation);
        answer_traffic(answer, &peer->traffic);
        answer_clock(answer, peer);
        answer_key(answer, peer);
        answer_pair_bool(answer, "forgotten", peer->forgotten);
        answer_pair_bool(answer, "passed_over", peer->passed_over);
        answer_pair_text(answer, "waits_for", peer->self ? waits_for : "");
    }
}

void call_cluster(struct call *call)
{
    enum subcommand_id id = call_subcommand(call, COMMAND_CLUSTER);
    if (id == SUBCOMMAND_ID_COUNT)
        return;
    assert(id == SUBCOMMAND_CLUSTER_NODES);
    struct peer_report peers[NODE_PEERS_MAX];
    size_t count = node_peers(call->commands->node, call->now_ns, peers);
    size_t begun = answer_bulk_begin(&call->answer);
    for (size_t i = 0; i < count; i++) {
        const struct peer_report *peer = &peers[i];
        output_print(call->answer.output,
                     "%s %s %s %s%s heard_ms=%lld round_trip_us=%llu lag=%llu log=%llu share=%.4f%s%s%s%s\n",
                     peer->name, peer->region, peer->gossip_address, peer->self ? "self," : "",
                     peer_state_name(peer->state), (long long)(peer->self ? 0 : call_ms(peer->heard_ago_ns)),
                     (unsigned long long)peer->round_trip_ns / 1000, (unsigned long long)peer->lag_batches,
                     (unsigned long long)peer->log_batches, share_of(peer),
                     peer->config_differs ? " config=differs" : "",
                     peer->clock == CLOCK_FAST || peer->clock == CLOCK_SLOW ? " clock=" : "",
                     peer->clock == CLOCK_FAST || peer->clock == CLOCK_SLOW ? clock_state_name(peer->clock) : "",
                     peer->passed_over ? " passed_over" : "");
    }
    answer_bulk_end(&call->answer, begun);
}

/* Copies the name of a peer other than this node into `name`, or answers an error if no such peer is listed. */
static bool find_peer(struct call *call, struct bytes word, char name[NODE_NAME_BYTES])
{
    struct peer_report peers[NODE_PEERS_MAX];
    size_t count = node_peers(call->commands->node, call->now_ns, peers);
    for (size_t i = 0; i < count; i++) {
        if (!bytes_equal(word, bytes_of(peers[i].name)))
            continue;
        if (peers[i].self) {
            answer_error(&call->answer, "ERR '%s' is this node itself: expected the name of another",
                         peers[i].name);
            return false;
        }
        memcpy(name, peers[i].name, NODE_NAME_BYTES);
        return true;
    }
    answer_error(&call->answer, "ERR unknown node '%.*s': CLUSTER NODES names them all", call_shown(word),
                 word.data);
    return false;
}

/* Whoever was learned of and is forgotten need not be listed any more. */
static bool is_forgotten(const struct call *call, const char *name)
{
    struct peer_report peers[NODE_PEERS_MAX];
    const size_t count = node_peers(call->commands->node, call->now_ns, peers);
    for (size_t i = 0; i < count; i++)
        if (strcmp(peers[i].name, name) == 0)
            return peers[i].forgotten;
    return true;
}

void call_forget(struct call *call)
{
    char name[NODE_NAME_BYTES];
    if (!find_peer(call, call->words->args[1], name))
        return;
    struct event event = {.kind = EVENT_FORGET, .now_ns = call->now_ns, .name = name};
    call->commands->submit(call->commands->context, &event, NULL);
    answer_simple(&call->answer, is_forgotten(call, name) ? "OK" : "WAITS");
}

static void accept_key(struct call *call)
{
    const struct bytes text = call->words->args[3];
    char name[NODE_NAME_BYTES];
    uint8_t key[NODE_KEY_BYTES];
    const bool none = word_is(text, "none");
    if (!find_peer(call, call->words->args[2], name))
        return;
    if (!none && !hex_read(text, key, sizeof key)) {
        answer_error(&call->answer, "ERR wrong fingerprint '%.*s': expected 64 hexadecimal digits, or none",
                     call_shown(text), text.data);
        return;
    }
    struct event event = {.kind = EVENT_KEY, .now_ns = call->now_ns, .name = name, .key = none ? NULL : key};
    call->commands->submit(call->commands->context, &event, NULL);
    answer_simple(&call->answer, "OK");
}

/* True: an answer says who could not follow another key, since it knows the one before the present one. */
static bool key_is_untold(struct call *call)
{
    struct peer_report peers[NODE_PEERS_MAX];
    const size_t count = node_peers(call->commands->node, call->now_ns, peers);
    for (size_t i = 0; i < count && node_key_follows(call->commands->node); i++)
        if (peers[i].lacks_our_key) {
            answer_error(
                &call->answer,
                "ERR '%s' may not know the present key yet, and could not follow another one: expected that "
                "it is heard, or forgotten",
                peers[i].name);
            return true;
        }
    return false;
}

static void rotate_key(struct call *call)
{
    const struct node *node = call->commands->node;
    uint8_t former[NODE_KEY_BYTES];
    if (key_is_untold(call))
        return;
    memcpy(former, node_key(node), NODE_KEY_BYTES);
    struct event event = {.kind = EVENT_ROTATE, .now_ns = call->now_ns};
    call->commands->submit(call->commands->context, &event, NULL);
    if (memcmp(former, node_key(node), NODE_KEY_BYTES) == 0)
        answer_error(&call->answer,
                     "ERR the key stays as it is: headgate.key could not be written, as the log says");
    else
        answer_fingerprint(&call->answer, node_key(node), true);
}

void call_member_key(struct call *call)
{
    enum subcommand_id id = call_subcommand(call, COMMAND_MEMBER_KEY);
    const uint8_t *own = node_key(call->commands->node);
    if (id == SUBCOMMAND_ID_COUNT)
        return;
    if (!own)
        answer_error(&call->answer,
                     "ERR this daemon signs nothing: expected a state_dir, and signatures other than off");
    else if (id == SUBCOMMAND_MEMBER_KEY_SHOW)
        answer_fingerprint(&call->answer, own, true);
    else if (id == SUBCOMMAND_MEMBER_KEY_ACCEPT)
        accept_key(call);
    else if (id == SUBCOMMAND_MEMBER_KEY_ROTATE)
        rotate_key(call);
}

/* ---- DEBUG ---- */

static void mute(struct call *call, const char *name, bool in, bool out)
{
    struct event event = {.kind = EVENT_MUTE, .now_ns = call->now_ns, .name = name, .mute_in = in, .mute_out = out};
    call->commands->submit(call->commands->context, &event, NULL);
}

static void drop(struct call *call)
{
    const struct resp_command *words = call->words;
    struct bytes way = words->count > 3 ? words->args[3] : bytes_of("both");
    bool both = word_is(way, "both"), in = both || word_is(way, "in"), out = both || word_is(way, "out");
    char name[NODE_NAME_BYTES];
    if (words->count > 4) {
        call_wrong_arity(call, &command_table[COMMAND_DEBUG], &subcommand_table[SUBCOMMAND_DEBUG_DROP].spec);
    } else if (!in && !out) {
        answer_error(&call->answer, "ERR unknown direction '%.*s': expected in, out or both", call_shown(way),
                     way.data);
    } else if (find_peer(call, words->args[2], name)) {
        mute(call, name, in, out);
        answer_simple(&call->answer, "OK");
    }
}

static void heal(struct call *call)
{
    const struct resp_command *words = call->words;
    char name[NODE_NAME_BYTES];
    if (words->count > 3) {
        call_wrong_arity(call, &command_table[COMMAND_DEBUG], &subcommand_table[SUBCOMMAND_DEBUG_HEAL].spec);
        return;
    }
    if (words->count == 3) {
        if (!find_peer(call, words->args[2], name))
            return;
        mute(call, name, false, false);
    } else {
        struct peer_report peers[NODE_PEERS_MAX];
        size_t count = node_peers(call->commands->node, call->now_ns, peers);
        for (size_t i = 0; i < count; i++)
            if (!peers[i].self)
                mute(call, peers[i].name, false, false);
    }
    answer_simple(&call->answer, "OK");
}

void call_debug(struct call *call)
{
    if (!call->commands->debug) {
        answer_error(&call->answer,
                     "ERR DEBUG is off: set `debug: true` in the config of this node and restart it");
        return;
    }
    enum subcommand_id id = call_subcommand(call, COMMAND_DEBUG);
    if (id == SUBCOMMAND_DEBUG_DROP)
        drop(call);
    else if (id == SUBCOMMAND_DEBUG_HEAL)
        heal(call);
    else
        assert(id == SUBCOMMAND_ID_COUNT);
}
