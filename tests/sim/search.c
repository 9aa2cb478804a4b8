/*
 * Adversarial schedules: a limit that practically never refills, peers that spend all they may at random
 * moments, and links that hold everything back for long. Whatever the schedule, the sum of all spends stays
 * within capacity + overshoot. Drives real nodes directly, without the simulated network: an event is a
 * spend, a wake-up or the delivery of the oldest message of some link.
 */
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)

enum {
    WIRE_MAX = 32, /* messages under way on a link; the oldest is lost when another comes */
    KEYS = 3,
    CAPACITY = 1000000,
};

struct wire {
    struct payload *payload[WIRE_MAX];
    unsigned first, count;
    bool slow;
};

struct search {
    struct random random;
    struct test_limits limits;
    struct effects effects;
    struct node *node[SIM_NODES_MAX];
    struct wire wire[SIM_NODES_MAX][SIM_NODES_MAX];
    unsigned nodes;
    uint64_t now_ns;
    uint64_t total[KEYS], allowed; /* tokens */
    uint64_t steps;
};

static struct key_id key_of(unsigned key)
{
    return (struct key_id){0x9e3779b97f4a7c15u * (key + 1), key};
}

static void put(struct wire *wire, struct payload *payload)
{
    if (wire->count == WIRE_MAX) {
        payload_release(wire->payload[wire->first]);
        wire->first = (wire->first + 1) % WIRE_MAX;
        wire->count--;
    }
    payload->references++;
    wire->payload[(wire->first + wire->count++) % WIRE_MAX] = payload;
}

static struct payload *take(struct wire *wire)
{
    struct payload *payload = wire->payload[wire->first];
    wire->first = (wire->first + 1) % WIRE_MAX;
    wire->count--;
    return payload;
}

static void step(struct search *search, unsigned i, enum event_kind kind, struct payload *payload);

/* Questions and answers do not wait: only gossip is under attack here. */
static void ask(struct search *search, unsigned i, const char *address, struct payload *question)
{
    unsigned j = (unsigned)(address[0] - 'a');
    if (search->node[j] == NULL) /* not started yet */
        return;
    step(search, j, EVENT_REQUEST, question);
    for (size_t e = 0; e < search->effects.effect_count; e++)
        if (search->effects.effect[e].kind == EFFECT_REPLY) {
            struct bytes bytes = effect_bytes(&search->effects, &search->effects.effect[e]);
            struct payload *answer = payload_create(bytes.data, bytes.size);
            step(search, i, EVENT_RESPONSE, answer);
            payload_release(answer);
            return;
        }
}

static void step(struct search *search, unsigned i, enum event_kind kind, struct payload *payload)
{
    struct event event = {.kind = kind, .now_ns = search->now_ns};
    struct payload *question = NULL;
    char asked[NODE_ADDRESS_BYTES] = "";
    if (payload != NULL)
        event.bytes = (struct bytes){(const char *)payload->data, payload->size};
    search->steps++;
    node_step(search->node[i], &event, &search->effects);
    for (size_t e = 0; e < search->effects.effect_count; e++) {
        const struct effect *effect = &search->effects.effect[e];
        struct bytes bytes = effect_bytes(&search->effects, effect);
        if (effect->kind == EFFECT_PUBLISH) {
            struct payload *message = payload_create(bytes.data, bytes.size);
            for (unsigned j = 0; j < search->nodes; j++)
                if (j != i)
                    put(&search->wire[i][j], message);
            payload_release(message);
        } else if (effect->kind == EFFECT_REQUEST && question == NULL) {
            memcpy(asked, effect->address, sizeof asked);
            question = payload_create(bytes.data, bytes.size);
        }
    }
    if (question != NULL) {
        ask(search, i, asked, question);
        payload_release(question);
    }
}

static void name(char *to, unsigned i, const char *what)
{
    (void)snprintf(to, NODE_NAME_BYTES, "%c%s", (char)('a' + i), what);
}

static void start(struct search *search, unsigned i, const uint64_t *weights)
{
    static struct node_options options;
    struct error error;
    memset(&options, 0, sizeof options);
    name(options.name, i, "");
    name(options.region, i, "");
    name(options.gossip_address, i, ":1");
    name(options.snapshot_address, i, ":2");
    for (unsigned j = 0; j < search->nodes; j++) {
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
    options.region_count = search->nodes;
    options.interval_ns = SECOND / 100;
    options.silent_after_ns = options.join_timeout_ns = options.leave_timeout_ns = 3600 * SECOND;
    options.table_keys = 64;
    options.log_keys_max = 65536;
    options.message_max_bytes = 1 << 20;
    options.incarnation = 1;
    options.seed = i;
    options.limits = &search->limits.named;
    search->node[i] = node_create(&options, &error);
    if (search->node[i] == NULL) {
        printf("node_create: %s\n", error.text);
        exit(EXIT_FAILURE);
    }
    step(search, i, EVENT_START, NULL);
}

static bool all_active(const struct search *search)
{
    for (unsigned i = 0; i < search->nodes; i++) {
        struct node_status status;
        node_status(search->node[i], &status);
        if (status.state != PEER_ACTIVE || status.share == 0)
            return false;
    }
    return true;
}

static void deliver(struct search *search, unsigned from, unsigned to)
{
    struct payload *payload = take(&search->wire[from][to]);
    step(search, to, EVENT_MESSAGE, payload);
    payload_release(payload);
}

/* Prompt delivery until everyone has its share. */
static bool join(struct search *search)
{
    for (int round = 0; round < 200; round++) {
        search->now_ns += SECOND / 100;
        for (unsigned i = 0; i < search->nodes; i++)
            step(search, i, EVENT_WAKE, NULL);
        for (unsigned i = 0; i < search->nodes; i++)
            for (unsigned j = 0; j < search->nodes; j++)
                while (search->wire[i][j].count > 0)
                    deliver(search, i, j);
        if (all_active(search))
            return true;
    }
    printf("nodes do not become active\n");
    return false;
}

static void draw_weights(struct search *search, uint64_t *weights)
{
    uint64_t sum = 0;
    bool even = draw_one_in(&search->random, 2);
    for (unsigned i = 0; i < search->nodes; i++)
        sum += weights[i] = even ? 1000 : draw_between(&search->random, 100, 1100);
    for (unsigned i = 0; i < search->nodes; i++)
        weights[i] = SHARE_ONE * weights[i] / sum;
}

static void slow_down(struct search *search)
{
    for (unsigned i = 0; i < search->nodes; i++)
        for (unsigned j = 0; j < search->nodes; j++)
            search->wire[i][j].slow = random_below(&search->random, 100) < 35;
}

static void spend(struct search *search)
{
    unsigned i = (unsigned)random_below(&search->random, search->nodes);
    unsigned key = (unsigned)random_below(&search->random, KEYS);
    uint64_t tokens = node_peek(search->node[i], key_of(key), 0, 1, search->now_ns).remaining_tokens;
    if (tokens > 0 && draw_one_in(&search->random, 3))
        tokens = 1 + random_below(&search->random, tokens);
    if (tokens > 0 && node_admit(search->node[i], key_of(key), 0, tokens, search->now_ns).allowed)
        search->total[key] += tokens;
    if (!draw_one_in(&search->random, 3)) {
        search->now_ns += SECOND / 100;
        step(search, i, EVENT_WAKE, NULL);
    }
}

static void deliver_some(struct search *search)
{
    for (int attempt = 0; attempt < 20; attempt++) {
        unsigned i = (unsigned)random_below(&search->random, search->nodes);
        unsigned j = (unsigned)random_below(&search->random, search->nodes);
        const struct wire *wire = &search->wire[i][j];
        if (wire->count == 0 || (wire->slow && !draw_one_in(&search->random, 50)))
            continue;
        deliver(search, i, j);
        return;
    }
}

/* What was spent and what all could spend at this moment. Refill: a token in a year. */
static uint64_t reach(struct search *search, unsigned key)
{
    uint64_t sum = search->total[key];
    for (unsigned i = 0; i < search->nodes; i++)
        sum += node_peek(search->node[i], key_of(key), 0, 1, search->now_ns).remaining_tokens;
    return sum;
}

/* Runs one schedule; how far from the limit it stayed, in tokens: negative if it was exceeded. */
static int64_t attack(struct search *search)
{
    unsigned length = draw_one_in(&search->random, 2) ? 60 : 300;
    int64_t closest = INT64_MAX;
    for (unsigned s = 0; s < length * search->nodes; s++) {
        if (s % 40 == 0)
            slow_down(search);
        if (random_below(&search->random, 100) < 35)
            spend(search);
        else
            deliver_some(search);
        int64_t left = (int64_t)search->allowed - (int64_t)reach(search, s % KEYS);
        closest = left < closest ? left : closest;
    }
    return closest;
}

static int64_t trial(struct search *search, uint64_t seed)
{
    static const uint8_t sizes[] = {2, 3, 3, 4, 5};
    static const uint64_t overshoots[] = {0, 0, CAPACITY / 5, CAPACITY};
    uint64_t weights[SIM_NODES_MAX];
    memset(search, 0, sizeof *search);
    random_seed(&search->random, seed);
    effects_init(&search->effects);
    search->now_ns = SECOND;
    search->nodes = sizes[random_below(&search->random, sizeof sizes)];
    uint64_t overshoot = overshoots[random_below(&search->random, 4)];
    search->allowed = CAPACITY + overshoot + 1;
    (void)limits_add(&search->limits, "search", CAPACITY, 1, LIMIT_PERIOD_MAX_NS, overshoot);
    draw_weights(search, weights);
    for (unsigned i = 0; i < search->nodes; i++)
        start(search, i, weights);
    int64_t closest = join(search) ? attack(search) : INT64_MIN;
    for (unsigned i = 0; i < search->nodes; i++) {
        node_validate(search->node[i]);
        node_destroy(&search->node[i]);
        for (unsigned j = 0; j < search->nodes; j++)
            while (search->wire[i][j].count > 0)
                payload_release(take(&search->wire[i][j]));
    }
    effects_close(&search->effects);
    return closest;
}

static double wall_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int search_run(uint64_t from, uint64_t trials, double seconds, bool tap)
{
    struct search *search = malloc(sizeof *search);
    uint64_t exceeded = 0, done = 0, steps = 0;
    int64_t closest = INT64_MAX;
    double until = wall_seconds() + seconds;
    if (search == NULL)
        return EXIT_FAILURE;
    for (; seconds > 0 ? wall_seconds() < until : done < trials; done++) {
        int64_t left = trial(search, from + done);
        steps += search->steps;
        closest = left < closest ? left : closest;
        if (left >= 0)
            continue;
        if (exceeded++ < 10)
            printf("# schedule %" PRIu64
                   " exceeds the declared overshoot by %.6f of the capacity    (--search 1 --from %" PRIu64 ")\n",
                   from + done, -(double)left / CAPACITY, from + done);
    }
    printf("# %" PRIu64 " schedules, %" PRIu64 " steps, %" PRIu64
           " exceeded the declared overshoot, closest %.4f of capacity from it\n",
           done, steps, exceeded, (double)closest / CAPACITY);
    if (tap)
        printf("%sok 1 - no schedule exceeds the declared overshoot\n1..1\n", exceeded > 0 ? "not " : "");
    free(search);
    return exceeded > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
