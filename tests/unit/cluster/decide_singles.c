/* Many alike that are decided over together come to what they come to one by one, by the general way. */
#include "base/random.h"
#include "tests/lib/cluster_harness.h"

enum {
    KEYS = 12,          /* that are asked for at about the same time: */
    ROUNDS_PER_KEY = 4, /* after so many rounds others */
    ROUNDS_MAX = 600,
    TOGETHER = 8,
    TENANT_KEYS = 8,
    INTERVAL_MS = 100,
};

/* What is seen of Ann after each round. */
struct seen {
    uint64_t allowed;
    uint64_t wants_step;
    struct node_stats stats;
    int64_t settled[KEYS], unsettled[KEYS];
};

typedef uint64_t decider(struct node *node, struct charge *like, const struct key_id *ids, uint32_t count,
                         uint64_t now_ns);

static uint64_t together(struct node *node, struct charge *like, const struct key_id *ids, uint32_t count,
                         uint64_t now_ns)
{
    return node_takes_each(node, like, ids, count, now_ns);
}

static uint64_t one_by_one(struct node *node, struct charge *like, const struct key_id *ids, uint32_t count,
                           uint64_t now_ns)
{
    uint64_t allowed = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct verdict verdict;
        like->id = ids[i];
        allowed |= (uint64_t)node_check(node, like, 1, true, now_ns, &verdict) << i;
    }
    return allowed;
}

static struct key_id key_number(unsigned number)
{
    char name[16];
    (void)snprintf(name, sizeof name, "key %u", number);
    return key_of(name, 1);
}

/* `early`: requests read the clock before the last step was made. */
static void play(decider *decide, bool early, struct seen *seen)
{
    static const uint64_t costs[] = {1, 1, 1, 0, 2, 30, 58, 200}, floors[] = {0, 0, 0, 20};
    struct random random;
    world_of(2);
    random_seed(&random, 1);
    struct node *node = world.host[ANN].node;
    node_set_tenant_keys_max(node, TENANT_KEYS);
    for (int round = 0; round < ROUNDS_MAX; round++) {
        struct key_id ids[TOGETHER];
        uint32_t count = 1 + (uint32_t)random_below(&random, TOGETHER);
        struct charge like = {.limit = 1,
                              .cost = costs[random_below(&random, 8)],
                              .floor_tokens = floors[random_below(&random, 4)],
                              .tenant = (uint16_t)(random_below(&random, 4) == 0)};
        for (uint32_t i = 0; i < count; i++)
            ids[i] = key_number((unsigned)round / ROUNDS_PER_KEY + (unsigned)random_below(&random, KEYS));
        uint64_t at_ns = world.now_ns - (early ? random_below(&random, 20 * MS) : 0);
        seen[round].allowed = decide(node, &like, ids, count, at_ns);
        seen[round].wants_step = node_wants_step(node);
        node_stats(node, &seen[round].stats);
        for (unsigned k = 0; k < KEYS; k++) {
            struct bucket bucket = node_bucket(node, key_number((unsigned)round / ROUNDS_PER_KEY + k), 1, at_ns);
            seen[round].settled[k] = bucket.settled;
            seen[round].unsettled[k] = bucket.unsettled;
        }
        if (random_below(&random, 3) == 0)
            world_run(random_below(&random, INTERVAL_MS));
        skip_text();
    }
    world_close();
}

static unsigned first_difference(const struct seen *a, const struct seen *b, uint64_t *allowed, uint64_t *wanted)
{
    unsigned same = ROUNDS_MAX;
    for (unsigned round = ROUNDS_MAX; round-- > 0;) {
        *allowed += (uint64_t)__builtin_popcountll(a[round].allowed);
        *wanted += a[round].wants_step;
        if (memcmp(&a[round], &b[round], sizeof a[round]) != 0)
            same = round;
    }
    return same;
}

/* The others are told at once where more than half of what Ann may spend is spent. Her allowance is 60. */
static void hurries(decider *decide)
{
    struct charge like = {.limit = 1, .cost = 10};
    const struct key_id id = key_number(0);
    unsigned patient = 0;
    world_of(2);
    while (decide(world.host[ANN].node, &like, &id, 1, world.now_ns) == 1 && !node_wants_step(world.host[ANN].node))
        patient++;
    OK_U64(patient, 3, "half is spent, and one is in no hurry; with the next spend one is");
    world_close();
}

int main(void)
{
    static struct seen many[ROUNDS_MAX], each[ROUNDS_MAX];
    for (int early = 0; early < 2; early++) {
        uint64_t allowed = 0, wanted = 0;
        play(together, early, many);
        play(one_by_one, early, each);
        OK_U64(first_difference(many, each, &allowed, &wanted), ROUNDS_MAX, "the same comes of both%s",
               early ? ", of requests as old as the last step" : "");
        OK(allowed > 100 && wanted > 10, "%u are allowed, and a step is wanted %u times", (unsigned)allowed,
           (unsigned)wanted);
    }
    hurries(together);
    hurries(one_by_one);
    return tap_done();
}
