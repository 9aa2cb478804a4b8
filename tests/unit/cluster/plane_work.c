/* Changes of rules that take many steps: what comes meanwhile, and nodes that end. */
#include "tests/lib/cluster_impostor.h"
#include "tests/lib/plane_world.h"

enum { MANY = 120, STEP_KEYS = 32, STEPS_MAX = 10000 };

static char text[MANY * 160];

/* Rules of `services` services, all with that rate. */
static const char *many(unsigned count, unsigned services, unsigned tokens)
{
    size_t size = (size_t)snprintf(text, sizeof text, "rules:\n");
    for (unsigned r = 0; r < count; r++)
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "- {id: rule-%03u, service: s%u, endpoint: /%u, rate: %u/m}\n", r, r % services, r,
                                 tokens);
    return text;
}

static void world_of_slices(unsigned count)
{
    world_init(count);
    for (unsigned i = 0; i < count; i++)
        world.host[i].options.step_keys = STEP_KEYS;
    world_name_all();
    world_start_all();
    world_run(1000);
    skip_text();
}

static struct rules_result begin(unsigned i, const char *rules)
{
    return apply(i, (struct rule_changes){.text = bytes_of(rules)});
}

static void wake(unsigned i)
{
    step(i, (struct event){.kind = EVENT_WAKE}, i);
}

/* How many steps it took; what came of it stands in *result. */
static unsigned steps_until(unsigned i, uint64_t ticket, struct rules_result *result)
{
    unsigned steps = 0;
    while (!node_rules_result(world.host[i].node, ticket, result) && steps < STEPS_MAX) {
        wake(i);
        steps++;
    }
    return steps;
}

/* The tokens of rule-000 in force; 0: there is none. */
static uint64_t in_force(unsigned i)
{
    const struct ruled *ruled = ruleset_find(node_rules(world.host[i].node), bytes_of("s0"), bytes_of("rule-000"));
    return ruled ? rate(i, "s0", "rule-000") : 0;
}

static bool all_in_force(unsigned i, unsigned services, uint64_t tokens)
{
    for (unsigned r = 0; r < MANY; r++) {
        char service[16], id[16];
        (void)snprintf(service, sizeof service, "s%u", r % services);
        (void)snprintf(id, sizeof id, "rule-%03u", r);
        if (rate(i, service, id) != tokens ||
            !ruleset_find(node_rules(world.host[i].node), bytes_of(service), bytes_of(id)))
            return false;
    }
    return true;
}

static void test_slices(void)
{
    world_of_slices(1);
    struct rules_result result = begin(ANN, many(MANY, 12, 5));
    uint64_t ticket = result.ticket;
    OK(result.asked && result.in_work && !result.refused && ticket > 0, "a large change is in work");
    OK(world.effects.next_wake_ns == world.now_ns, "and goes on at once");
    bool half = false, before = true;
    unsigned steps = 0;
    for (; !node_rules_result(world.host[ANN].node, ticket, &result) && steps < STEPS_MAX; steps++) {
        half |= in_force(ANN) != 0 || rulebook_versions(node_rulebook(world.host[ANN].node)) != 0;
        before &= world.effects.version_count == 0;
        wake(ANN);
    }
    OK(steps > 20, "it takes %u steps", steps);
    OK(!half && before, "in none of them is any of it in force, in the book or on its way to the store");
    OK(!result.in_work && !result.refused && result.changed_rules == MANY, "then all of it is");
    OK_U64(world.effects.version_count, MANY, "the store is told of all at once");
    OK(all_in_force(ANN, 12, 5), "each rule");
    for (steps = 0; world.effects.next_wake_ns == world.now_ns && steps < STEPS_MAX; steps++)
        wake(ANN);
    OK(steps < 5, "and the node rests");
    result = begin(ANN, "{id: rule-000, service: s0, endpoint: /0, rate: 6/m}");
    steps = result.in_work ? steps_until(ANN, result.ticket, &result) : 0;
    OK(steps < 6 && result.changed_rules == 1 && in_force(ANN) == 6, "a small change takes few steps (%u)", steps);
    result = begin(ANN, many(MANY, 12, 6));
    (void)steps_until(ANN, result.ticket, &result);
    OK(result.changed_rules == MANY - 1 && result.unchanged_rules == 1, "one rule of the next is as it was");
    OK(node_rules_result(world.host[ANN].node, 1000, &result) && result.refused &&
           strstr(result.error.text, "known"),
       "of a change that never was nothing is known: %s", result.error.text);
    world_close();
}

/* How many steps a large change takes, the first of which, after the one that it begins in, ask for others. */
static unsigned steps_beside(unsigned others)
{
    world_of_slices(1);
    struct rules_result result = begin(ANN, many(MANY, 12, 5));
    uint64_t ticket = result.ticket;
    unsigned steps = 0;
    for (; steps < others; steps++)
        (void)end_rule(ANN, "s0", "rule-000");
    assert(!node_rules_result(world.host[ANN].node, ticket, &result));
    steps += steps_until(ANN, ticket, &result);
    world_close();
    return steps;
}

static uint64_t nonsense(void)
{
    return world_stats(ANN).rule_versions_invalid;
}

static void test_one_slice(void)
{
    OK_U64(steps_beside(20), steps_beside(0), "a step has one slice of a change, whatever else it is asked for");
    world_init(2);
    world_name_all();
    world.host[ANN].options.step_keys = STEP_KEYS;
    world_start(ANN);
    impostor_begin(MESSAGE_GOSSIP, 0, 0);
    impostor_say(NULL);
    impostor_rules(MANY);
    uint64_t slice = nonsense();
    wake(ANN);
    OK(slice > 0 && slice < MANY / 2 && nonsense() == 2 * slice, "and one of a page, also when it comes");
    impostor_rules(MANY);
    OK_U64(nonsense(), 3 * slice, "or comes again");
    for (unsigned n = 0; n < STEPS_MAX && world.effects.next_wake_ns == world.now_ns; n++)
        wake(ANN);
    OK_U64(nonsense(), MANY, "which is read once");
    skip_text();
    world_close();
}

static void test_refused(void)
{
    world_of_slices(1);
    (void)set(ANN, many(MANY, 12, 5));
    size_t versions = rulebook_versions(node_rulebook(world.host[ANN].node));
    many(MANY, 12, 6);
    size_t end = strlen(text);
    (void)snprintf(text + end, sizeof text - end, "- {id: x, rate: y}\n");
    struct rules_result result = begin(ANN, text);
    OK(result.in_work, "a change whose last rule is wrong");
    (void)steps_until(ANN, result.ticket, &result);
    OK(result.refused && result.error.text[0] != '\0', "is refused in the end: %s", result.error.text);
    OK(all_in_force(ANN, 12, 5) && rulebook_versions(node_rulebook(world.host[ANN].node)) == versions,
       "and nothing of it is there");
    /* Right one by one, and not together: found when services are compiled. */
    size_t size = (size_t)snprintf(text, sizeof text, "rules:\n");
    for (unsigned r = 0; r < 80; r++)
        size += (size_t)snprintf(text + size, sizeof text - size, "- {id: r%u, service: %s, rate: 1/m}\n", r,
                                 r < 10 ? "a" : "z");
    result = begin(ANN, text);
    (void)steps_until(ANN, result.ticket, &result);
    OK(result.refused && strstr(result.error.text, "more than"), "too many for one request: %s", result.error.text);
    result = set(ANN, "{id: b, service: b, rate: 1/m}");
    struct ruleset_stats stats;
    ruleset_stats(node_rules(world.host[ANN].node), &stats);
    OK(!result.refused && stats.rules == MANY + 1, "what was staged of it is forgotten");
    world_close();
}

static void test_line(void)
{
    world_of_slices(2);
    struct rules_result first = begin(ANN, many(MANY, 12, 5)), second = begin(ANN, many(MANY, 12, 6));
    struct rules_result third = begin(ANN, "{id: rule-000, service: s0, endpoint: /0, rate: 7/m}");
    struct rules_result fourth = end_rule(ANN, "s0", "rule-012");
    OK(first.in_work && second.in_work && third.in_work && fourth.in_work, "changes wait for those before them");
    (void)steps_until(ANN, first.ticket, &first);
    OK(first.changed_rules == MANY && all_in_force(ANN, 12, 5), "the first one comes into force");
    struct rules_result other;
    OK(!node_rules_result(world.host[ANN].node, second.ticket, &other), "while the next is in work");
    (void)steps_until(ANN, second.ticket, &second);
    OK(second.changed_rules == MANY && all_in_force(ANN, 12, 6), "then the second");
    (void)steps_until(ANN, fourth.ticket, &fourth);
    OK(node_rules_result(world.host[ANN].node, third.ticket, &third) && third.changed_rules == 1 &&
           rate(ANN, "s0", "rule-000") == 7,
       "and the third");
    OK(!fourth.refused && fourth.changed_rules == 1 && rate(ANN, "s0", "rule-012") == 0, "a rule ends");
    OK(first.stamp.lamport < second.stamp.lamport && second.stamp.lamport < third.stamp.lamport &&
           third.stamp.lamport < fourth.stamp.lamport,
       "each is newer than the one before");
    world_run(3 * INTERVAL_MS);
    OK(all_agree() && rate(BOB, "s0", "rule-000") == 7 && rate(BOB, "s0", "rule-012") == 0,
       "the other peer has the same");
    unsigned waiting = 0;
    struct rules_result result = {0};
    while (!result.refused && waiting < 100) {
        result = begin(ANN, many(MANY, 12, 8 + waiting));
        waiting++;
    }
    OK(result.refused && waiting > 8 && strstr(result.error.text, "in work"), "%u do not fit: %s", waiting,
       result.error.text);
    world_run(10 * INTERVAL_MS);
    OK(rate(ANN, "s0", "rule-000") == 8 + waiting - 2 && all_agree(), "the last one that did wins");
    world_close();
}

/* Both change the same rules; one of them hears of the other's change while its own is in work. */
static void test_crossing(void)
{
    world_of_slices(2);
    (void)set(ANN, many(MANY, 12, 5));
    world_run(5 * INTERVAL_MS);
    (void)set(BOB, "rules: [{id: rule-000, service: s0, endpoint: /0, rate: 50/m},"
                   "{id: rule-001, service: s1, endpoint: /1, rate: 50/m}]");
    while (world_stats(ANN).rule_scans == 0)
        world_run(1);
    struct rules_result result = begin(ANN, many(MANY, 12, 6));
    uint64_t ticket = result.ticket;
    for (unsigned n = 0; n < 20 && world.packet_count > 0; n++)
        world_step_packet(); /* no wakes: the change stays in work */
    OK(!node_rules_result(world.host[ANN].node, ticket, &result) && world_stats(ANN).rule_versions_fetched == 0,
       "a change is in work while another peer's comes, which waits");
    world_run(10 * INTERVAL_MS);
    bool half = (rate(ANN, "s0", "rule-000") == 50) != (rate(ANN, "s1", "rule-001") == 50);
    OK(node_rules_result(world.host[ANN].node, ticket, &result) && !result.refused && !half &&
           world_stats(ANN).rule_versions_fetched == 2,
       "both come into force whole");
    OK(all_agree() && history(ANN, "s0", "rule-000")->count == 3, "all have both in their history");
    OK_U64(rate(ANN, "s2", "rule-002"), 6, "and what only one changed is as that one said");
    OK_U64(rate(ANN, "s0", "rule-000"), rate(BOB, "s0", "rule-000"), "of the two the same one is in force");
    world_close();
}

/* What is fetched takes many steps, too. */
static void test_fetching(void)
{
    bool half = false;
    world_of_slices(2);
    (void)set(ANN, many(MANY, 12, 5));
    for (unsigned ms = 0; ms < 6 * INTERVAL_MS; ms++) {
        bool first = rate(BOB, "s0", "rule-000") == 5, last = rate(BOB, "s11", "rule-119") == 5;
        half |= first != last || (in_force(BOB) != 0) != first;
        world_run(1);
    }
    OK(!half && all_in_force(BOB, 12, 5), "a peer takes over the whole of it, in slices as well");
    struct node_stats stats = world_stats(BOB);
    OK(stats.rule_scans == 1 && stats.rule_versions_fetched == MANY, "once");
    (void)set(ANN, many(MANY, 12, 6));
    while (world_stats(BOB).rule_scans == 1 || world.packet_count > 0)
        world_step_packet(); /* no wakes: what came is in work */
    OK(rate(BOB, "s0", "rule-000") == 5, "what is in work is not in force");
    struct rules_result result = begin(BOB, "{id: rule-000, service: s0, endpoint: /0, rate: 9/m}");
    uint64_t ticket = result.ticket;
    if (result.in_work)
        (void)steps_until(BOB, ticket, &result);
    world_run(5 * INTERVAL_MS);
    OK(result.changed_rules == 1 && all_agree() && rate(ANN, "s0", "rule-000") == 9,
       "a change that comes then counts");
    OK(rate(ANN, "s1", "rule-001") == 6 && rate(BOB, "s1", "rule-001") == 6, "and so does what was fetched");
    world_close();
}

static void test_leaving(void)
{
    world_of_slices(2);
    struct rules_result result = begin(ANN, many(MANY, 12, 5));
    uint64_t versions = 0;
    OK(result.in_work, "a change is in work");
    step(ANN, (struct event){.kind = EVENT_STOP}, ANN);
    for (unsigned n = 0; n < STEPS_MAX && world.host[ANN].node && versions == 0; n++) {
        wake(ANN);
        versions = world.effects.version_count;
    }
    OK_U64(versions, MANY, "a node that is asked to leave meanwhile comes to its end with it, and tells its store");
    world_run(3000);
    OK(!world.host[ANN].node, "and leaves");
    world_close();

    world_of_slices(1);
    (void)begin(ANN, many(MANY, 12, 5));
    step(ANN, (struct event){.kind = EVENT_STOP}, ANN);
    versions = world.effects.version_count;
    for (unsigned n = 0; n < STEPS_MAX && world.host[ANN].node; n++) {
        wake(ANN);
        versions += world.effects.version_count;
    }
    OK(versions == MANY && !world.host[ANN].node, "so does one that is alone");
    world_close();

    world_of_slices(1);
    (void)begin(ANN, many(MANY, 12, 5));
    (void)begin(ANN, many(MANY, 12, 6));
    for (unsigned n = 0; n < 9; n++)
        wake(ANN);
    world_crash(ANN);
    OK(!world.host[ANN].node, "one that ends at once leaves nothing behind");
    world_close();
}

/*
 * Bob fetches many rules. Meanwhile he changes one of them so often that the fetched version is none of those that are
 * kept. Then he ends, after that many steps. True: the fetched rules were in force by then.
 */
static bool ends_while_it_adds(unsigned steps)
{
    world_of_slices(2);
    (void)set(ANN, many(MANY, 12, 5));
    while (world_stats(BOB).rule_scans == 0)
        world_run(1);
    for (unsigned n = 0; n <= RULE_VERSIONS_KEPT; n++) {
        (void)snprintf(text, sizeof text, "{id: rule-000, service: s0, endpoint: /0, rate: %u/m}", 50 + n);
        (void)begin(BOB, text);
    }
    for (unsigned n = 0; n < steps; n++)
        if (world.packet_count > 0)
            world_step_packet();
        else
            wake(BOB);
    uint64_t fetched = world_stats(BOB).rule_versions_fetched;
    assert(fetched == 0 || fetched == MANY - 1);
    world_crash(BOB);
    skip_text();
    world_close();
    return fetched > 0;
}

static void test_ending(void)
{
    unsigned steps = 0;
    while (steps < STEPS_MAX && !ends_while_it_adds(steps))
        steps++;
    OK(steps > 20 && steps < STEPS_MAX, "a node may end in any of the %u steps that fetching takes", steps);
}

static void test_canary(void)
{
    world_of_slices(1);
    (void)set(ANN, "{id: c, service: s, rate: 5/m}");
    struct rules_result result = try_out(ANN, "{id: c, service: s, rate: 6/m}", 200);
    OK(!result.refused, "a canary is watched");
    many(MANY, 12, 5);
    size_t end = strlen(text);
    (void)snprintf(text + end, sizeof text - end, "- {id: c, service: s, rate: 9/m}\n");
    result = begin(ANN, text);
    uint64_t ticket = result.ticket;
    for (unsigned n = 0; n < 10; n++) {
        world.now_ns += INTERVAL_MS * MS; /* its time passes while the change is in work */
        wake(ANN);
    }
    OK(!node_rules_result(world.host[ANN].node, ticket, &result) && rulebook_candidate(history(ANN, "s", "c")),
       "it does not end while a change is in work");
    (void)steps_until(ANN, ticket, &result);
    world_run(3 * INTERVAL_MS);
    OK(!rulebook_candidate(history(ANN, "s", "c")) && rate(ANN, "s", "c") == 9,
       "which may be about the same rule, and is the newer one");
    world_close();
}

int main(void)
{
    test_slices();
    test_one_slice();
    test_refused();
    test_line();
    test_crossing();
    test_fetching();
    test_leaving();
    test_ending();
    test_canary();
    return tap_done();
}
