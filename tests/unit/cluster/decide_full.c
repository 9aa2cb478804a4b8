#include "base/random.h"
#include "tests/lib/cluster_harness.h"
#include "tests/lib/key_shown.h"

/* Shares are 1/2 (ann) and 1/2 (bob); a sixteenth of each is held back of a full bucket; links take 10 ms. */

static const struct limit_terms slow = {.capacity = 160, .rate = 1, .period_ns = 3600000 * MS};
static const struct limit_terms cell = {.kind = LIMIT_CELL, .capacity = 160};
static const struct limit_terms leases = {.kind = LIMIT_LOG, .capacity = 160, .period_ns = 60000 * MS};

static bool ask(unsigned i, const struct charge *charges, size_t count)
{
    struct verdict verdicts[CHARGES_MAX];
    return node_check(world.host[i].node, charges, count, true, world.now_ns, verdicts);
}

static void all_or_nothing(void)
{
    world_of(2);
    struct verdict verdicts[3];
    struct charge charges[3] = {charge_at(ANN, "alice", &slow, 10), charge_at(ANN, "10.0.0.1", &cell, 10),
                                charge_at(ANN, "job", &leases, 10)};
    OK(ask(ANN, charges, 3), "three keys, each of another kind");
    OK(key_left(ANN, "alice", &slow) == 150 && key_left(ANN, "10.0.0.1", &cell) == 150 &&
           key_left(ANN, "job", &leases) == 150,
       "all are charged");
    charges[2].cost = 75; /* of the 75 that half of the limit, less a sixteenth, allows */
    OK(!node_check(world.host[ANN].node, charges, 3, true, world.now_ns, verdicts), "one is denied");
    OK(verdicts[0].allowed && verdicts[1].allowed && !verdicts[2].allowed, "and says so");
    OK(verdicts[2].reason == VERDICT_SHARE && verdicts[2].available_tokens == 65, "with its figures");
    OK_U64(verdicts[2].remaining_tokens, 150, "and with what is left of the whole limit");
    OK(key_left(ANN, "alice", &slow) == 150 && key_left(ANN, "10.0.0.1", &cell) == 150 &&
           key_left(ANN, "job", &leases) == 150,
       "none is charged");
    charges[2].shadow = true;
    OK(ask(ANN, charges, 3), "a shadow does not deny");
    OK(key_left(ANN, "alice", &slow) == 140 && key_left(ANN, "10.0.0.1", &cell) == 140 &&
           key_left(ANN, "job", &leases) == 150,
       "nor is it charged");
    OK(node_check(world.host[ANN].node, charges, 2, false, world.now_ns, verdicts) &&
           key_left(ANN, "alice", &slow) == 140,
       "who only asks takes nothing");
    world_run(500);
    OK(key_left(BOB, "alice", &slow) == 140 && key_left(BOB, "10.0.0.1", &cell) == 140 &&
           key_left(BOB, "job", &leases) == 150,
       "others hear of each, though they never heard of its limit");
    world_close();
}

/* What is left of the whole limit does not depend on the share; what this peer could hand out does. */
static void figures(void)
{
    world_of(2);
    struct verdict verdicts[3];
    struct charge charges[3] = {charge_at(ANN, "alice", &slow, 10), charge_at(ANN, "10.0.0.1", &cell, 10),
                                charge_at(ANN, "today", &cell, 10)};
    charges[2].sliding = true;
    charges[2].window_ns = 4000 * MS;
    charges[2].window_end_ns = world.now_ns + 4000 * MS;
    charges[2].previous = key_of("yesterday", 0);
    static const char *const kinds[] = {"a bucket", "a window", "a sliding window"};
    for (size_t i = 0; i < 3; i++) {
        bool allowed = node_check(world.host[ANN].node, &charges[i], 1, true, world.now_ns, verdicts);
        OK(allowed && verdicts[0].limit_tokens == 160, "%s of 160", kinds[i]);
        OK_U64(verdicts[0].remaining_tokens, 150, "... has 150 left");
        OK(verdicts[0].available_tokens < 150 / 2, "... of which ann has less than half");
    }
    OK(node_check(world.host[ANN].node, charges, 3, false, world.now_ns, verdicts), "all three at once");
    for (size_t i = 0; i < 3; i++)
        OK(verdicts[i].remaining_tokens == 150 && verdicts[i].available_tokens < 150 / 2, "... %s has as much",
           kinds[i]);
    for (size_t i = 0; i < 3; i++)
        charges[i].floor_tokens = 80;
    OK(node_check(world.host[ANN].node, charges, 3, false, world.now_ns, verdicts), "all with a floor of 80");
    for (size_t i = 0; i < 3; i++)
        OK_U64(verdicts[i].remaining_tokens, 70, "... %s has 70 above it", kinds[i]);
    world_close();
}

static void a_floor(void)
{
    world_of(2);
    struct charge charge = charge_at(ANN, "alice", &slow, 25);
    charge.floor_tokens = 80;
    OK(ask(ANN, &charge, 1), "with a floor of half of it, 5/16 of the other half can be taken at once");
    OK(!ask(ANN, &charge, 1), "and no more");
    charge.floor_tokens = 0;
    OK(ask(ANN, &charge, 1), "but by those for whom the rest is kept");
    world_close();
}

static void isolation(void)
{
    world_of(2);
    struct charge charges[3] = {charge_at(ANN, "alice", &slow, 50), charge_at(ANN, "bert", &slow, 50),
                                charge_at(ANN, "carl", &slow, 50)};
    charges[1].on_isolation = ISOLATION_OPEN;
    charges[2].on_isolation = ISOLATION_CLOSED;
    OK(ask(ANN, &charges[0], 1) && ask(ANN, &charges[1], 1) && ask(ANN, &charges[2], 1),
       "while everybody is heard, all are the same");
    world_run(500);
    world_links(BOB, LINK_CUT);
    world_run(2000);
    skip_text();
    OK(!ask(ANN, &charges[0], 1), "a budget: three eighths of the 110 that are left");
    OK(ask(ANN, &charges[1], 1) && ask(ANN, &charges[1], 1), "open: all that is left as seen here");
    OK(ask(ANN, &charges[1], 1) && key_left(ANN, "bert", &slow) == 10,
       "open: never denied, but not charged either");
    charges[2].cost = 0;
    OK(!ask(ANN, &charges[2], 1), "closed: always denied");
    world_close();
}

static void tenants(void)
{
    world_of(2);
    char key[32];
    unsigned allowed = 0;
    node_set_tenant_keys_max(world.host[ANN].node, 10);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(key, sizeof key, "key %d", i);
        struct charge charge = charge_at(ANN, key, &slow, 1);
        charge.tenant = 7;
        allowed += ask(ANN, &charge, 1);
    }
    OK(allowed == 10, "a tenant has so many keys and no more");
    struct charge several[3] = {charge_at(ANN, "x", &slow, 1), charge_at(ANN, "y", &slow, 1),
                                charge_at(ANN, "z", &slow, 1)};
    for (int i = 0; i < 3; i++)
        several[i].tenant = 9;
    node_set_tenant_keys_max(world.host[ANN].node, 2);
    OK(!ask(ANN, several, 3) && key_left(ANN, "x", &slow) == 160, "nor where the last of three is one too many");
    OK(ask(ANN, several, 2) && key_left(ANN, "x", &slow) == 159 && key_left(ANN, "y", &slow) == 159, "two are not");
    node_set_tenant_keys_max(world.host[ANN].node, 10);
    struct charge charge = charge_at(ANN, "key 0", &slow, 1);
    charge.tenant = 7;
    OK(ask(ANN, &charge, 1), "those that it has go on");
    charge = charge_at(ANN, "key 20", &slow, 1);
    charge.tenant = 8;
    OK(ask(ANN, &charge, 1), "so does another tenant");
    world_close();
}

/* A rule of a service, so that keys of the config are not all that there may be. */
static void set_a_rule(unsigned i)
{
    const struct rule_changes changes = {.text = bytes_of("{id: r, service: shop, rate: 1/s}"), .file = "t"};
    step(i, (struct event){.kind = EVENT_RULES, .rules = &changes}, i);
}

static void keys_of_the_config(void)
{
    enum { MOST = 400, OTHERS = 300, FLOOD = 20000 };
    static const char *const names[] = {"fast", "slow"};
    struct key_id ids[FLOOD];
    char key[32];
    for (int slow_path = 0; slow_path < 2; slow_path++) {
        world_of(1);
        unsigned allowed = 0, kept = 0;
        struct charge charge;
        set_a_rule(ANN);
        node_set_tenant_keys_max(world.host[ANN].node, MOST);
        for (unsigned i = 0; i < OTHERS; i++) {
            (void)snprintf(key, sizeof key, "other %u", i);
            charge = charge_at(ANN, key, &slow, 100);
            charge.tenant = 7;
            allowed += ask(ANN, &charge, 1);
        }
        OK_U64(allowed, OTHERS, "a service has its keys");
        allowed = 0;
        for (unsigned i = 0; i < FLOOD; i++) {
            (void)snprintf(key, sizeof key, "flood %u", i);
            charge = charge_at(ANN, key, &slow, 100);
            ids[i] = charge.id;
            allowed += slow_path ? ask(ANN, &charge, 1) : node_takes(world.host[ANN].node, &charge, world.now_ns);
        }
        OK_U64(allowed, MOST, "%s path: of a flood under a limit of the config so many are let in",
               names[slow_path]);
        for (unsigned i = 0; i < OTHERS; i++) {
            (void)snprintf(key, sizeof key, "other %u", i);
            kept += key_left(ANN, key, &slow) == 60;
        }
        struct table_stats stats;
        node_table_stats(world.host[ANN].node, &stats);
        OK(kept == OTHERS && stats.evicted_harmful_keys == 0, "... and all of the service's keys are there: %u",
           kept);
        charge.id = ids[0];
        OK(!ask(ANN, &charge, 1) && key_left(ANN, "flood 0", &slow) == 60, "... as are those that were let in");
        world_close();
    }
}

static void another_limit(void)
{
    static const struct limit_terms wider = {.capacity = 320, .rate = 1, .period_ns = 3600000 * MS};
    world_of(2);
    struct charge charge = charge_at(ANN, "alice", &slow, 40);
    (void)ask(ANN, &charge, 1);
    world_until_published(ANN);
    charge = charge_at(ANN, "alice", &wider, 10); /* the same key: the rule has changed */
    OK(ask(ANN, &charge, 1), "a key goes on under another limit");
    OK(key_left(ANN, "alice", &wider) == 270 && key_unsettled(ANN, "alice", &wider) >= 49, "with what was used");
    world_run(500);
    OK(key_left(ANN, "alice", &wider) == 270 && key_unsettled(ANN, "alice", &wider) == 0,
       "spends under the old one settle under the new one");
    OK(key_left(BOB, "alice", &slow) == 110, "a peer that knows the old rule has the same used");
    world_close();
}

static void a_split(void)
{
    static const struct limit_terms split = {.flags = LIMIT_SPLIT,
                                             .capacity = 160,
                                             .rate = 160,
                                             .period_ns = 1000 * MS,
                                             .overshoot = 160};
    world_of(2);
    struct charge charge = charge_at(ANN, "alice", &split, 80);
    OK(ask(ANN, &charge, 1), "a split: half of the limit is ann's, whole");
    charge.cost = 1;
    OK(!ask(ANN, &charge, 1), "and no more, whatever overshoot is declared");
    uint64_t closed = world_stats(ANN).batches_closed;
    world_run(500);
    OK(world_stats(ANN).batches_closed == closed, "nobody is told");
    charge.cost = 40;
    OK(ask(ANN, &charge, 1), "half of the rate is hers, too");
    charge.cost = 1;
    OK(!ask(ANN, &charge, 1), "and no more");
    world_close();
}

/* ---- what is plain, and what is not ---- */

enum { DRAWN_MAX = 5 };

/* Of few groups of the table, so that keys are in each other's way; some are full again soon. */
static size_t draw_charges(struct random *random, const struct charge *like, struct charge *charges)
{
    size_t count = 1 + random_below(random, DRAWN_MAX);
    for (size_t i = 0; i < count; i++) {
        uint64_t key = random_below(random, 40), kind = random_below(random, 3);
        charges[i] = like[kind];
        charges[i].id = (struct key_id){key % 6 << 61 | kind << 50, (key + 1) * 0x9e3779b97f4a7c15u};
        charges[i].cost = random_below(random, 20) == 0 ? 161 : random_below(random, 8);
        charges[i].floor_tokens = random_below(random, 10) == 0 ? 80 : 0;
        charges[i].tenant = (uint16_t)random_below(random, 2);
        charges[i].id.low ^= charges[i].tenant;
    }
    return count;
}

static bool same_verdicts(const struct verdict *a, const struct verdict *b, size_t count)
{
    bool same = true;
    for (size_t i = 0; i < count; i++)
        same = same && a[i].allowed == b[i].allowed && a[i].reason == b[i].reason &&
               a[i].limit_tokens == b[i].limit_tokens && a[i].remaining_tokens == b[i].remaining_tokens &&
               a[i].available_tokens == b[i].available_tokens && a[i].retry_after_ns == b[i].retry_after_ns &&
               a[i].reset_after_ns == b[i].reset_after_ns;
    return same;
}

/*
 * Two that never hear of each other are asked the same. Bob's requests have a charge more, of a log, which costs
 * nothing: so none of them goes the short way.
 */
static void both_ways(bool alone)
{
    const struct limit_terms soon = {.capacity = 160, .rate = 160, .period_ns = 200 * MS};
    struct random random;
    struct charge like[3], charges[DRAWN_MAX + 1];
    struct verdict anns[DRAWN_MAX + 1], bobs[DRAWN_MAX + 1];
    unsigned allowed = 0, refused = 0;
    bool same = true;
    world_init(2);
    if (!alone)
        world_name_all();
    world_links(BOB, LINK_CUT);
    world_start_all();
    world_run(5000);
    random_seed(&random, 3 + alone);
    for (unsigned i = 0; i < 2; i++) {
        node_set_tenant_keys_max(world.host[i].node, 1000); /* more than there will be */
        like[0] = charge_at(i, "", &soon, 0);
        like[1] = charge_at(i, "", &cell, 0);
        like[2] = charge_at(i, "", &slow, 0);
        charges[0] = charge_at(i, "", &leases, 0);
    }
    const struct charge log = charges[0];
    for (int round = 0; round < 40000 && same; round++) {
        size_t count = draw_charges(&random, like, charges);
        bool ann = node_check(world.host[ANN].node, charges, count, true, world.now_ns, anns);
        charges[count] = log;
        bool bob = node_check(world.host[BOB].node, charges, count + 1, true, world.now_ns, bobs);
        same = ann == bob && same_verdicts(anns, bobs, count);
        allowed += ann;
        refused += !ann;
        if (random_below(&random, 10) == 0)
            world_run(1 + random_below(&random, 40));
    }
    OK(same, "%s: whichever way requests go, they are answered the same", alone ? "alone" : "cut off");
    OK(allowed > 2000 && refused > 2000, "%u are allowed, %u refused", allowed, refused);
    struct table_stats stats;
    node_table_stats(world.host[ANN].node, &stats);
    OK(stats.evicted_harmful_keys == 0 && stats.expired_keys > 100, "... while %u keys were forgotten",
       (unsigned)stats.expired_keys);
    world_close();
}

int main(void)
{
    all_or_nothing();
    figures();
    a_floor();
    isolation();
    tenants();
    keys_of_the_config();
    another_limit();
    a_split();
    both_ways(true);
    both_ways(false);
    return tap_done();
}
