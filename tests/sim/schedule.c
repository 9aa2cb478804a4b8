#include "tests/sim/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

enum { JOIN_ROUNDS_MAX = 200 };

struct key_id schedule_key(unsigned key)
{
    return (struct key_id){0x9e3779b97f4a7c15u * (key + 1), key};
}

static struct payload *take(struct wire *wire, unsigned place)
{
    struct payload **first = &wire->payload[wire->first],
                   **wanted = &wire->payload[(wire->first + place) % WIRE_MAX];
    struct payload *taken = *wanted;
    *wanted = *first;
    wire->first = (wire->first + 1) % WIRE_MAX;
    wire->count--;
    return taken;
}

static void put(struct wire *wire, struct payload *payload)
{
    if (wire->count == WIRE_MAX)
        payload_release(take(wire, 0));
    payload->references++;
    wire->payload[(wire->first + wire->count++) % WIRE_MAX] = payload;
}

static void step(struct schedule *schedule, unsigned i, enum event_kind kind, struct payload *payload);

/* Questions and answers do not wait: only gossip is under attack here. */
static void ask(struct schedule *schedule, unsigned i, const char *address, struct payload *question)
{
    unsigned j = (unsigned)(address[0] - 'a');
    if (schedule->node[j] == NULL) /* not started yet */
        return;
    step(schedule, j, EVENT_REQUEST, question);
    for (size_t e = 0; e < schedule->effects.effect_count; e++)
        if (schedule->effects.effect[e].kind == EFFECT_REPLY) {
            struct bytes bytes = effect_bytes(&schedule->effects, &schedule->effects.effect[e]);
            struct payload *answer = payload_create(bytes.data, bytes.size);
            step(schedule, i, EVENT_RESPONSE, answer);
            payload_release(answer);
            return;
        }
}

static void publish(struct schedule *schedule, unsigned i, struct bytes bytes)
{
    struct payload *message = payload_create(bytes.data, bytes.size);
    for (unsigned j = 0; j < schedule->nodes; j++)
        if (j != i)
            put(&schedule->wire[i][j], message);
    payload_release(message);
}

static void step(struct schedule *schedule, unsigned i, enum event_kind kind, struct payload *payload)
{
    struct event event = {.kind = kind, .now_ns = schedule->now_ns};
    struct payload *question = NULL;
    char asked[NODE_ADDRESS_BYTES] = "";
    if (payload != NULL)
        event.bytes = (struct bytes){(const char *)payload->data, payload->size};
    schedule->steps++;
    node_step(schedule->node[i], &event, &schedule->effects);
    schedule->wake_ns[i] = schedule->effects.next_wake_ns;
    for (size_t e = 0; e < schedule->effects.effect_count; e++) {
        const struct effect *effect = &schedule->effects.effect[e];
        struct bytes bytes = effect_bytes(&schedule->effects, effect);
        if (effect->kind == EFFECT_PUBLISH) {
            publish(schedule, i, bytes);
        } else if (effect->kind == EFFECT_REQUEST && question == NULL) {
            memcpy(asked, effect->address, sizeof asked);
            question = payload_create(bytes.data, bytes.size);
        }
    }
    if (question != NULL) {
        ask(schedule, i, asked, question);
        payload_release(question);
    }
}

void schedule_wake(struct schedule *schedule, unsigned i)
{
    step(schedule, i, EVENT_WAKE, NULL);
}

void schedule_deliver(struct schedule *schedule, unsigned from, unsigned to, unsigned place)
{
    struct payload *payload = take(&schedule->wire[from][to], place);
    step(schedule, to, EVENT_MESSAGE, payload);
    payload_release(payload);
}

void schedule_lose(struct schedule *schedule, unsigned from, unsigned to)
{
    while (schedule->wire[from][to].count > 0)
        payload_release(take(&schedule->wire[from][to], 0));
}

static void name(char *to, unsigned i, const char *what)
{
    (void)snprintf(to, NODE_NAME_BYTES, "%c%s", (char)('a' + i), what);
}

static void start(struct schedule *schedule, unsigned i, const uint64_t *weights)
{
    static struct node_options options;
    struct error error;
    memset(&options, 0, sizeof options);
    name(options.name, i, "");
    name(options.region, i, "");
    name(options.gossip_address, i, ":1");
    name(options.snapshot_address, i, ":2");
    for (unsigned j = 0; j < schedule->nodes; j++) {
        name(options.regions[j].region, j, "");
        options.regions[j].weight = weights[j];
        if (j == i)
            continue;
        struct node_peer_options *peer = &options.peers[options.peer_count++];
        name(peer->name, j, "");
        name(peer->region, j, "");
        name(peer->gossip_address, j, ":1");
        name(peer->snapshot_address, j, ":2");
    }
    options.region_count = schedule->nodes;
    options.interval_ns = schedule->interval_ns;
    options.join_timeout_ns = options.leave_timeout_ns = 3600 * SECOND;
    options.silent_after_ns = schedule->silent_after_ns;
    options.table_keys = 64;
    options.untold_max = 64;
    options.log_keys_max = 65536;
    options.message_max_bytes = 1 << 20;
    options.incarnation = 1;
    options.seed = i;
    options.limits = &schedule->limits.named;
    options.grants = options.grants_eager = true;
    schedule->node[i] = node_create(&options, &error);
    if (schedule->node[i] == NULL) {
        printf("node_create: %s\n", error.text);
        exit(EXIT_FAILURE);
    }
    step(schedule, i, EVENT_START, NULL);
}

static bool all_active(const struct schedule *schedule)
{
    for (unsigned i = 0; i < schedule->nodes; i++) {
        struct node_status status;
        node_status(schedule->node[i], &status);
        if (status.state != PEER_ACTIVE || status.share == 0)
            return false;
    }
    return true;
}

/* Prompt delivery until everyone has its share. */
static bool join(struct schedule *schedule)
{
    for (int round = 0; round < JOIN_ROUNDS_MAX; round++) {
        schedule->now_ns += schedule->interval_ns;
        for (unsigned i = 0; i < schedule->nodes; i++)
            schedule_wake(schedule, i);
        for (unsigned i = 0; i < schedule->nodes; i++)
            for (unsigned j = 0; j < schedule->nodes; j++)
                while (schedule->wire[i][j].count > 0)
                    schedule_deliver(schedule, i, j, 0);
        if (all_active(schedule))
            return true;
    }
    printf("nodes do not become active\n");
    return false;
}

static void draw_weights(struct schedule *schedule, uint64_t *weights)
{
    uint64_t sum = 0;
    bool even = draw_one_in(&schedule->random, 2);
    for (unsigned i = 0; i < schedule->nodes; i++)
        sum += weights[i] = even ? 1000 : draw_between(&schedule->random, 100, 1100);
    for (unsigned i = 0; i < schedule->nodes; i++)
        weights[i] = SHARE_ONE * weights[i] / sum;
}

void schedule_init(struct schedule *schedule, uint64_t seed)
{
    memset(schedule, 0, sizeof *schedule);
    random_seed(&schedule->random, seed);
    effects_init(&schedule->effects);
    schedule->now_ns = SECOND;
    schedule->interval_ns = SECOND / 100;
    schedule->silent_after_ns = 3600 * SECOND;
}

bool schedule_start(struct schedule *schedule, unsigned nodes)
{
    uint64_t weights[SIM_NODES_MAX];
    schedule->nodes = nodes;
    draw_weights(schedule, weights);
    return schedule_start_with(schedule, nodes, weights);
}

bool schedule_start_with(struct schedule *schedule, unsigned nodes, const uint64_t *weights)
{
    schedule->nodes = nodes;
    for (unsigned i = 0; i < nodes; i++)
        start(schedule, i, weights);
    return join(schedule);
}

void schedule_close(struct schedule *schedule)
{
    for (unsigned i = 0; i < schedule->nodes; i++) {
        node_validate(schedule->node[i]);
        node_destroy(&schedule->node[i]);
        for (unsigned j = 0; j < schedule->nodes; j++)
            schedule_lose(schedule, i, j);
    }
    effects_close(&schedule->effects);
}

uint64_t schedule_voucher_tokens(const struct schedule *schedule, unsigned i, unsigned key)
{
    struct explanation explanation;
    node_explain(schedule->node[i], schedule_key(key), 0, schedule->now_ns, &explanation);
    return explanation.voucher_tokens;
}

uint64_t schedule_may_take(const struct schedule *schedule, unsigned i, unsigned key)
{
    return node_peek(schedule->node[i], schedule_key(key), 0, 1, schedule->now_ns).available_tokens;
}
