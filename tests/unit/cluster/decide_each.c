/* Requests that are alike and are decided over together come to what they come to one by one. */
#include "base/random.h"
#include "tests/lib/cluster_harness.h"

enum { KEYS = 24, TOGETHER = 8, CHARGES = 4, ROUNDS = TAP_SLOW ? 1000 : 5000, TENANT_KEYS = 16 };

static const struct limit_terms slow = {.capacity = 160, .rate = 1, .period_ns = 3600000 * MS};
static const struct limit_terms soon = {.capacity = 160, .rate = 160, .period_ns = 200 * MS};
static const struct limit_terms cell = {.kind = LIMIT_CELL, .capacity = 160};
static const struct limit_terms leases = {.kind = LIMIT_LOG, .capacity = 160, .period_ns = 60000 * MS};

/* Requests that are alike: the ids of their keys, one request's after the other, and what they come to. */
struct many {
    struct charge like[CHARGES];
    size_t charge_count;
    uint32_t count;
    struct key_id ids[TOGETHER * CHARGES];
    uint64_t allowed; /* bits */
    struct verdict verdicts[TOGETHER * CHARGES];
};

typedef void decider(struct node *node, struct many *many);

static void together(struct node *node, struct many *many)
{
    many->allowed = node_check_each(node, many->like, (uint32_t)many->charge_count, many->ids, many->count,
                                    world.now_ns, many->verdicts);
}

static void one_by_one(struct node *node, struct many *many)
{
    many->allowed = 0;
    for (uint32_t i = 0, key = 0; i < many->count; i++, key += (uint32_t)many->charge_count) {
        struct charge charges[CHARGES];
        for (size_t c = 0; c < many->charge_count; c++) {
            charges[c] = many->like[c];
            charges[c].id = many->ids[key + c];
        }
        many->allowed |=
            (uint64_t)node_check(node, charges, many->charge_count, true, world.now_ns, many->verdicts + key) << i;
    }
}

/* Of few groups of the table, so that keys are in each other's way; now and then twice the same in a request. */
static struct key_id draw_id(struct random *random, const struct charge *charge)
{
    uint64_t key = random_below(random, KEYS), kind = charge->limit * 2u + charge->tenant;
    return (struct key_id){key % 6 << 61 | kind << 50, (key + 1) * 0x9e3779b97f4a7c15u};
}

static void draw(struct random *random, struct many *many)
{
    static const struct limit_terms *const terms[] = {&slow, &soon, &soon, &soon, &cell, &leases};
    many->charge_count = 1 + random_below(random, CHARGES);
    many->count = 1 + (uint32_t)random_below(random, TOGETHER);
    for (size_t i = 0; i < many->charge_count; i++) {
        struct charge *charge = &many->like[i];
        *charge = charge_at(ANN, "", terms[random_below(random, random_below(random, 4) == 0 ? 6 : 5)],
                            random_below(random, 40) == 0 ? 161 : random_below(random, 8));
        charge->floor_tokens = random_below(random, 10) == 0 ? 80 : 0;
        charge->shadow = random_below(random, 8) == 0;
        charge->tenant = (uint16_t)random_below(random, 2);
    }
    for (size_t i = 0; i < many->count * many->charge_count; i++)
        many->ids[i] = draw_id(random, &many->like[i % many->charge_count]);
}

static uint64_t mix(uint64_t seen, uint64_t number)
{
    return (seen ^ number) * 0x9e3779b97f4a7c15u + (seen >> 29);
}

/* All that is seen of it, as a number. */
static uint64_t look(struct node *node, const struct many *many)
{
    struct node_stats stats;
    node_stats(node, &stats);
    uint64_t seen = mix(mix(many->allowed, stats.admitted_requests), stats.refused_requests);
    seen = mix(mix(mix(seen, stats.admitted_tokens), stats.open_keys), node_wants_step(node));
    for (size_t i = 0; i < many->count * many->charge_count; i++) {
        const struct verdict *verdict = &many->verdicts[i];
        seen = mix(mix(mix(seen, verdict->allowed), verdict->reason), verdict->limit_tokens);
        seen = mix(mix(mix(seen, verdict->available_tokens), verdict->retry_after_ns), verdict->reset_after_ns);
    }
    return seen;
}

static void play(decider *decide, uint64_t *seen, unsigned *allowed, unsigned *refused)
{
    struct random random;
    struct many many;
    world_of(2);
    struct node *node = world.host[ANN].node;
    node_set_tenant_keys_max(node, TENANT_KEYS);
    random_seed(&random, 1);
    for (int round = 0; round < ROUNDS; round++) {
        draw(&random, &many);
        decide(node, &many);
        seen[round] = look(node, &many);
        unsigned taken = (unsigned)__builtin_popcountll(many.allowed);
        *allowed += taken;
        *refused += many.count - taken;
        if (random_below(&random, 4) == 0)
            world_run(1 + random_below(&random, 40));
        skip_text();
    }
    world_close();
}

int main(void)
{
    static uint64_t many[ROUNDS], each[ROUNDS];
    unsigned same = 0, allowed = 0, refused = 0;
    play(together, many, &allowed, &refused);
    OK(allowed > ROUNDS / 2 && refused > ROUNDS / 2, "%u are allowed, %u refused", allowed, refused);
    play(one_by_one, each, &allowed, &refused);
    while (same < ROUNDS && many[same] == each[same])
        same++;
    OK_U64(same, ROUNDS, "round for round the same comes of both");
    return tap_done();
}
