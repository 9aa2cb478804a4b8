/*
 * Any bytes as a message, and any story of a node: messages of a real peer that arrive damaged, late, doubled or
 * never, spends, restarts, time. Nothing may be read beyond its end and no invariant of a node may break.
 *
 * The input is read twice. First as one message. Then as a script for two nodes, ann and bob: each step is a
 * byte that says what happens, and what that needs. Damaged messages are sealed again: they come from a peer that
 * has the cluster's secret and lost its mind. So the samples need not change with the encoding.
 */
#include "cluster/codec/effects.h"
#include "cluster/node.h"
#include "limit/key.h"
#include "tests/fuzz/message_walk.h"
#include "tests/lib/decisions.h"
#include "tests/lib/limits.h"
#include "tests/lib/newer_message.h"

#include <stdlib.h>

#define MS UINT64_C(1000000)

enum {
    NODES = 2,
    PACKETS_MAX = 64,
    STEPS_MAX = 400,
    MESSAGE_MAX_BYTES = 65536,
    EDITS_MAX = 8,
    EVENTS_MAX = 1 << 14,
    AGAIN_MAX = 1000
};

struct script {
    const uint8_t *at;
    size_t left;
};

struct packet {
    enum event_kind kind;
    size_t size;
    char *data; /* without its seal */
};

struct story {
    struct test_limits limits;
    struct node *node[NODES];
    uint64_t incarnation[NODES];
    struct packet packet[NODES][PACKETS_MAX]; /* on the way to each */
    unsigned packet_count[NODES];
    uint64_t now_ns;
    struct effects effects;
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
extern const unsigned fuzz_mutations;
const unsigned fuzz_mutations = 800;

static uint32_t take(struct script *script, unsigned bytes)
{
    uint32_t value = 0;
    for (; bytes > 0 && script->left > 0; bytes--, script->left--)
        value = value << 8 | *script->at++;
    return value;
}

/* ---- packets ---- */

static void put_packet(struct story *story, unsigned to, enum event_kind kind, struct bytes bytes)
{
    if (story->packet_count[to] == PACKETS_MAX || bytes.size < MESSAGE_SEAL_BYTES)
        return;
    struct packet *packet = &story->packet[to][story->packet_count[to]++];
    *packet = (struct packet){.kind = kind, .size = bytes.size - MESSAGE_SEAL_BYTES};
    packet->data = malloc(bytes.size);
    assert(packet->data);
    memcpy(packet->data, bytes.data, packet->size);
}

static void drop_packet(struct story *story, unsigned to, unsigned index)
{
    free(story->packet[to][index].data);
    story->packet[to][index] = story->packet[to][--story->packet_count[to]];
}

/* Whether more is left to do at once. */
static bool step_once(struct story *story, unsigned i, struct event event)
{
    event.now_ns = story->now_ns;
    node_step(story->node[i], &event, &story->effects);
    node_validate(story->node[i]);
    unsigned replies = 0;
    for (size_t e = 0; e < story->effects.effect_count; e++) {
        const struct effect *effect = &story->effects.effect[e];
        struct bytes bytes = effect_bytes(&story->effects, effect);
        assert(bytes.size <= MESSAGE_MAX_BYTES);
        replies += effect->kind == EFFECT_REPLY;
        if (effect->kind == EFFECT_PUBLISH)
            put_packet(story, 1 - i, EVENT_MESSAGE, bytes);
        else if (effect->kind == EFFECT_REQUEST)
            put_packet(story, 1 - i, EVENT_REQUEST, bytes);
        else if (effect->kind == EFFECT_REPLY)
            put_packet(story, 1 - i, EVENT_RESPONSE, bytes);
    }
    assert(replies == (event.kind == EVENT_REQUEST));
    if (story->effects.left)
        node_destroy(&story->node[i]);
    return story->node[i] && story->effects.next_wake_ns <= story->now_ns;
}

/* What one step leaves undone the next ones do, some day. */
static void step(struct story *story, unsigned i, struct event event)
{
    bool again = story->node[i] && step_once(story, i, event);
    for (unsigned steps = 1; again; steps++) {
        assert(steps < AGAIN_MAX);
        again = step_once(story, i, (struct event){.kind = EVENT_WAKE});
    }
}

/* Seals and delivers; the message stands in memory of its exact size. */
static void deliver(struct story *story, unsigned to, enum event_kind kind, const char *data, size_t size)
{
    static const struct hash_key key;
    struct key_id seal = hash_128(&key, data, size);
    char *exact = malloc(size + sizeof seal);
    assert(exact);
    memcpy(exact, data, size);
    memcpy(exact + size, &seal, sizeof seal);
    step(story, to, (struct event){.kind = kind, .bytes = {exact, size + sizeof seal}});
    free(exact);
}

/* One change of a message that stands in `data`, with room for 16 bytes more; returns its new size. */
static size_t edit(struct script *script, char *data, size_t size)
{
    size_t at = size > 0 ? take(script, 2) % size : 0;
    uint32_t how = take(script, 1), value = take(script, 1);
    switch (size > 0 ? how % 4 : 4) {
    case 0:
        data[at] = (char)value;
        return size;
    case 1:
        data[at] = (char)(data[at] ^ 1 << value % 8);
        return size;
    case 2: /* instead of a small number, a large one */
        memmove(data + at + 9, data + at + 1, size - at - 1);
        memset(data + at + 1, (int)value, 8);
        data[at] = (char)0xcf;
        return size + 8;
    case 3:
        memmove(data + at, data + at + 1, size - at - 1);
        return size - 1;
    }
    return size;
}

static void deliver_damaged(struct story *story, struct script *script, unsigned to, unsigned index)
{
    const struct packet *packet = &story->packet[to][index];
    enum event_kind kind = packet->kind;
    size_t size = packet->size;
    char *data = malloc(size + 16 * EDITS_MAX);
    assert(data);
    memcpy(data, packet->data, size);
    for (uint32_t edits = 1 + take(script, 1) % EDITS_MAX; edits > 0; edits--)
        size = edit(script, data, size);
    deliver(story, to, kind, data, size);
    free(data);
}

/* As a later release would have said it, with more fields than are known, and than may be; or of an unknown kind. */
static void deliver_later(struct story *story, struct script *script, unsigned to, unsigned index)
{
    const struct packet *packet = &story->packet[to][index];
    uint32_t more = take(script, 1) % (LATER_FIELDS_MAX + 2);
    struct effects later;
    struct random random;
    random_seed(&random, more);
    effects_init(&later);
    if (more == 0)
        newer_append_kind(&later, bytes_of("bob"));
    else
        newer_append(&later, (struct bytes){packet->data, packet->size}, &random, more);
    deliver(story, to, packet->kind, (const char *)later.arena, later.arena_size);
    effects_close(&later);
}

/* ---- nodes ---- */

static void start(struct story *story, unsigned i)
{
    static const char *const names[NODES] = {"ann", "bob"};
    static struct node_options options;
    struct error error;
    memset(&options, 0, sizeof options);
    memcpy(options.name, names[i], 4);
    memcpy(options.region, names[i], 4);
    options.region_count = NODES;
    for (unsigned r = 0; r < NODES; r++) {
        memcpy(options.regions[r].region, names[r], 4);
        options.regions[r].weight = SHARE_ONE / NODES;
    }
    options.peer_count = 1;
    memcpy(options.peers[0].name, names[1 - i], 4);
    memcpy(options.peers[0].region, names[1 - i], 4);
    memcpy(options.peers[0].snapshot_address, names[1 - i], 4);
    options.unlisted_max = 8;
    options.interval_ns = 100 * MS;
    options.events_max = EVENTS_MAX;
    options.silent_after_ns = 1000 * MS;
    options.join_timeout_ns = 500 * MS;
    options.forget_after_ns = 60000 * MS;
    options.leave_timeout_ns = 500 * MS;
    options.table_keys = 64;
    options.log_keys_max = 32;
    options.message_max_bytes = MESSAGE_MAX_BYTES;
    options.incarnation = ++story->incarnation[i];
    options.seed = i;
    options.limits = &story->limits.named;
    options.grants = true;
    story->node[i] = node_create(&options, &error);
    assert(story->node[i]);
    step(story, i, (struct event){.kind = EVENT_START});
}

static void spend(struct story *story, unsigned i, uint32_t key, uint64_t cost)
{
    uint16_t limit = key % 2;
    struct key_id id = {(uint64_t)(key / 2) << 58 | key, (uint64_t)key << 56 | limit};
    if (!story->node[i])
        return;
    struct verdict peeked = node_peek(story->node[i], id, limit, cost, story->now_ns);
    struct verdict verdict = node_admit(story->node[i], id, limit, cost, story->now_ns);
    assert(verdict.allowed == (verdict.reason == VERDICT_ALLOWED));
    assert(verdict.allowed == peeked.allowed || verdict.reason == VERDICT_LOG_FULL ||
           verdict.reason == VERDICT_KEYS_FULL);
    struct explanation explanation;
    node_explain(story->node[i], id, limit, story->now_ns, &explanation);
}

/* A window and a log at once, all or nothing; then some of it comes back. */
static void spend_both(struct story *story, unsigned i, uint32_t key, uint64_t cost, uint64_t back)
{
    static const struct limit_terms terms[] = {{.kind = LIMIT_CELL, .flags = LIMIT_PERSISTENT, .capacity = 50},
                                               {.kind = LIMIT_LOG, .capacity = 9, .period_ns = 3000 * MS}};
    struct charge charges[2];
    struct verdict verdicts[2];
    if (!story->node[i])
        return;
    for (uint32_t c = 0; c < 2; c++) {
        struct error error;
        int limit = node_intern_limit(story->node[i], &terms[c], &error);
        if (limit < 0)
            return;
        charges[c] = (struct charge){.id = {key << 8 | c, ~(uint64_t)key}, .cost = cost, .limit = (uint16_t)limit};
    }
    charges[0].window_ns = 10000 * MS;
    charges[0].window_end_ns = (story->now_ns / charges[0].window_ns + 1) * charges[0].window_ns;
    charges[0].expires_ns = charges[0].window_end_ns;
    bool allowed = node_check(story->node[i], charges, 2, true, story->now_ns, verdicts);
    assert(allowed == (verdicts[0].allowed && verdicts[1].allowed));
    uint64_t given = node_return(story->node[i], charges, 2, back, story->now_ns);
    assert(given <= back && given <= cost);
}

static void happen(struct story *story, struct script *script)
{
    uint32_t what = take(script, 1);
    unsigned i = what >> 7;
    unsigned index = story->packet_count[i] > 0 ? (what >> 4 & 7) % story->packet_count[i] : 0;
    bool any = story->packet_count[i] > 0;
    static const enum event_kind kinds[] = {EVENT_MESSAGE, EVENT_REQUEST, EVENT_RESPONSE, EVENT_MESSAGE};
    switch (what & 15) {
    case 0:
    case 1:
    case 2: /* time passes */
        story->now_ns += (uint64_t)take(script, 1) * ((what & 15) == 2 ? 100 * MS : 2 * MS);
        step(story, i, (struct event){.kind = EVENT_WAKE});
        break;
    case 3:
        for (uint32_t count = 1 + take(script, 1) % 64, key = take(script, 1); count > 0; count--)
            spend(story, i, key++ % 256, 1);
        break;
    case 4: {
        uint32_t key = take(script, 1), cost = take(script, 1);
        if (cost >= 128)
            spend_both(story, i, key, cost & 7, cost >> 3 & 15);
        else
            spend(story, i, key, cost);
        break;
    }
    case 5:
    case 6:
    case 7:
    case 8: /* a message arrives, as it was sent */
        if (any) {
            deliver(story, i, story->packet[i][index].kind, story->packet[i][index].data,
                    story->packet[i][index].size);
            if ((what & 15) != 8)
                drop_packet(story, i, index);
        }
        break;
    case 9:
    case 10:
        if (any)
            deliver_damaged(story, script, i, index);
        break;
    case 11:
        if (any)
            deliver_later(story, script, i, index);
        break;
    case 12:
        if (any)
            drop_packet(story, i, index);
        break;
    case 13: { /* bytes of the script itself */
        size_t size = take(script, 2) % 1024;
        size = size < script->left ? size : script->left;
        deliver(story, i, kinds[what >> 4 & 3], (const char *)script->at, size);
        script->at += size;
        script->left -= size;
        break;
    }
    case 14: /* a crash, and a start */
        node_destroy(&story->node[i]);
        start(story, i);
        break;
    case 15: {
        static const enum event_kind rare[] = {EVENT_STOP, EVENT_FORGET, EVENT_MUTE, EVENT_MUTE};
        step(story, i,
             (struct event){.kind = rare[what >> 4 & 3], .name = i ? "ann" : "bob", .mute_in = what & 32});
        break;
    }
    }
}

static void play(struct script *script)
{
    static struct story story;
    memset(&story, 0, sizeof story);
    story.now_ns = 1000 * MS;
    bool valid = limits_add(&story.limits, "small", 20, 20, 1000 * MS, 5) &&
                 limits_add(&story.limits, "large", 1000000, 7, 1001 * MS, 0);
    assert(valid);
    effects_init(&story.effects);
    for (unsigned i = 0; i < NODES; i++)
        start(&story, i);
    for (unsigned steps = 0; steps < STEPS_MAX && script->left > 0; steps++)
        happen(&story, script);
    for (unsigned i = 0; i < NODES; i++) {
        node_destroy(&story.node[i]);
        while (story.packet_count[i] > 0)
            drop_packet(&story, i, 0);
    }
    effects_close(&story.effects);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct message_walk walk;
    (void)message_walk(&walk, (struct bytes){(const char *)bytes, size});
    play(&(struct script){bytes, size});
    return 0;
}
