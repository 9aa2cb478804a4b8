/* Canaries and health, at three peers. */
#include "tests/lib/plane_world.h"

/* ---- canaries ---- */

/* Requests at that node, of which those under the candidate are denied that often, others never. */
static void decide(unsigned i, unsigned requests, unsigned denied_percent, bool stable_too)
{
    struct node *node = world.host[i].node;
    for (unsigned r = 0; r < requests; r++) {
        char user[16];
        struct match match;
        struct verdict verdict = {.allowed = true};
        (void)snprintf(user, sizeof user, "user-%u", r);
        struct request request = {.service = bytes_of("s"), .cost = 1, .id_count = 1};
        request.id[0] = (struct request_id){bytes_of("user"), bytes_of(user)};
        bool matched = ruleset_match(node_rules(node), &request, world.now_ns, world.now_ns, &match);
        assert(matched && match.count == 1);
        if ((match.rule[0].candidate || stable_too) && r % 100 < denied_percent)
            verdict = (struct verdict){.reason = VERDICT_CAPACITY};
        (void)ruleset_note(&match, &verdict);
    }
}

static void begin_canary(uint64_t watch_ms)
{
    world_of(3);
    (void)set(ANN, "{id: a, service: s, rate: 5/m}");
    world_run(INTERVAL_MS);
    struct rules_result result = try_out(ANN, "{id: a, service: s, rate: 3/m}", watch_ms);
    OK(!result.refused && result.changed_rules == 1, "a canary %s", result.refused ? result.error.text : "");
    world_run(INTERVAL_MS);
    unsigned tried = 0;
    for (unsigned u = 0; u < 100; u++) {
        char user[16];
        (void)snprintf(user, sizeof user, "user-%u", u);
        uint64_t met = limit_met(BOB, "s", user);
        tried += met == 3;
        if (met != limit_met(CAT, "s", user) || (met != 3 && met != 5))
            tried = 1000;
    }
    OK(tried > 20 && tried < 80, "holds for about that share of the keys, for the same ones everywhere: %u", tried);
    skip_text();
}

static void test_canary_rolls_back(unsigned seen_at, const char *who)
{
    begin_canary(60000);
    decide(seen_at, 90, 50, false);
    world_run(10 * INTERVAL_MS);
    OK_U64(history(ANN, "s", "a")->count, 2, "few decisions prove nothing");
    decide(seen_at, 600, 50, false);
    world_run(10 * INTERVAL_MS);
    OK_U64(nodes_with_rate("s", "a", 5), 3, "a canary that denies too much %s is rolled back everywhere", who);
    const struct rulebook_rule *rule = history(CAT, "s", "a");
    OK(rule->count == 3 && strstr(rule->version[0]->record.note.data, "rolled back"),
       "and the history says why: %s", rule->version[0]->record.note.data);
    OK(all_agree(), "all agree");
    OK(strstr(world.text, "rolled back") != NULL, "operators are told");
    world_close();
}

static void test_canary_becomes_general(bool author_dies)
{
    begin_canary(2000);
    decide(ANN, 1000, 50, true); /* many denials, but not more than before */
    decide(BOB, 1000, 3, false); /* more, but within the threshold */
    if (author_dies)
        world_crash(ANN);
    world_run(1000);
    OK_U64(history(BOB, "s", "a")->count, 2, "it is watched");
    world_run(4000);
    unsigned expected = author_dies ? 2 : 3;
    OK_U64(nodes_with_rate("s", "a", 3), expected, "then it becomes general everywhere%s",
           author_dies ? ", though its author is gone" : "");
    OK_STRING(history(BOB, "s", "a")->version[0]->record.note.data, "became general", "and the history says so");
    world_close();
}

static void test_canary_refused(void)
{
    world_of(1);
    (void)set(ANN, "{id: a, service: s, rate: 5/m}");
    struct rules_result result = try_out(ANN, "{id: a, service: s, by: ip, rate: 5/m}", 1000);
    OK(result.refused && strstr(result.error.text, "dimensions"), "%s", result.error.text);
    result = try_out(ANN, "{id: a, service: s, rate: 5/m}", 1000);
    OK(!result.refused && result.changed_rules == 0, "what is in force needs no canary");
    (void)try_out(ANN, "{id: a, service: s, rate: 6/m}", 60000);
    result = set(ANN, "{id: a, service: s, rate: 5/m}");
    OK(result.changed_rules == 1 && nodes_with_rate("s", "a", 5) == 1, "an operator may end a canary");
    (void)try_out(ANN, "{id: n, service: n, rate: 6/m}", 1000);
    unsigned limited = 0;
    for (unsigned u = 0; u < 100; u++) {
        char user[16];
        (void)snprintf(user, sizeof user, "user-%u", u);
        limited += limit_met(ANN, "n", user) == 6;
    }
    OK(limited > 20 && limited < 80, "a new rule may begin as a canary");
    world_run(2000);
    OK_U64(nodes_with_rate("n", "n", 6), 1, "and become general");
    world_close();
}

/* ---- health ---- */

static uint32_t scale_seen;

static void note_scale(void *context, const struct ruled_service *service)
{
    (void)context;
    if (bytes_equal(service->name, bytes_of("s")))
        scale_seen = service->scale;
}

static uint32_t scale(unsigned i)
{
    scale_seen = 99;
    ruleset_visit_services(node_rules(world.host[i].node), note_scale, NULL);
    return scale_seen;
}

static void report(unsigned i, uint32_t millionths)
{
    struct health_report health = {.service = bytes_of("s"), .health_millionths = millionths};
    step(i, (struct event){.kind = EVENT_HEALTH, .health = &health}, i);
}

static void test_health(void)
{
    world_of(3);
    (void)set(ANN, "{id: a, service: s, rate: 1000/m, adaptive: {floor: 20%, latency: 50ms}}");
    world_run(INTERVAL_MS);
    report(BOB, 500000);
    OK_U64(scale(BOB), 10, "a service that is half well gets half");
    world_run(INTERVAL_MS);
    OK(scale(ANN) == 10 && scale(CAT) == 10, "in every region");
    (void)set(CAT, "{id: a, service: s, rate: 2000/m, adaptive: {floor: 20%, latency: 50ms}}");
    world_run(INTERVAL_MS);
    OK(scale(ANN) == 10 && scale(BOB) == 10 && scale(CAT) == 10, "and also of a rule that changed meanwhile");
    report(BOB, 1000000);
    world_run(2 * INTERVAL_MS);
    OK(scale(ANN) == 20 && scale(BOB) == 20 && scale(CAT) == 20, "and all when it is well");
    report(CAT, 200000);
    world_run(INTERVAL_MS);
    world_crash(CAT);
    world_run(20000);
    OK_U64(scale(ANN), 4, "what a peer said last holds for a while");
    world_run(40000);
    OK_U64(scale(ANN), 20, "and not for ever when it has gone");
    uint64_t samples[] = {10000000, 90000000};
    struct health_report health = {.service = bytes_of("s"), .latency_ns = samples, .latency_count = 2};
    step(ANN, (struct event){.kind = EVENT_HEALTH, .health = &health}, ANN);
    world_run(INTERVAL_MS);
    OK(scale(BOB) == 14 || scale(BOB) == 13, "a late answer makes it less: %u", scale(BOB));
    world_close();
}

/* Names that somebody makes up take no place, say nothing in the log, and are refused. */
static void test_health_of_unknown_services(void)
{
    unsigned refused = 0;
    size_t notices = 0;
    world_of(2);
    (void)set(ANN, "{id: a, service: s, rate: 1000/m, adaptive: {floor: 20%}}");
    world_run(INTERVAL_MS);
    for (unsigned i = 0; i < 2000; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "made-up-%u", i);
        struct health_report health = {.service = bytes_of(name), .health_millionths = 300000};
        step(ANN, (struct event){.kind = EVENT_HEALTH, .health = &health}, ANN);
        refused += world.effects.rules.refused;
        notices += world.effects.notice_count;
    }
    OK_U64(refused, 2000, "the health of services without rules is refused");
    OK_STRING(world.effects.rules.error.text,
              "unknown service 'made-up-1999': no rule is about it, and RULE LIST names those that have some",
              "... in one sentence");
    OK_U64(notices, 0, "... without a line in the log");
    report(ANN, 500000);
    OK(!world.effects.rules.refused && scale(ANN) == 10, "a real report counts all the same");
    world_run(INTERVAL_MS);
    OK_U64(scale(BOB), 10, "... everywhere");
    world_close();
}

int main(void)
{
    test_canary_rolls_back(ANN, "where it was made");
    test_canary_rolls_back(CAT, "elsewhere");
    test_canary_becomes_general(false);
    test_canary_becomes_general(true);
    test_canary_refused();
    test_health();
    test_health_of_unknown_services();
    return tap_done();
}
