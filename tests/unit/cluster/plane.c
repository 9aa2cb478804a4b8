/* Rules at one, two and three peers, by hand: changes, fetching, partitions, stores. */
#include "tests/lib/plane_world.h"

/* ---- one node ---- */

static void test_alone(void)
{
    world_of(1);
    struct rules_result result = set(ANN, "{id: a, service: s, rate: 5/m}");
    OK(result.asked && !result.refused && result.changed_rules == 1, "a rule is set");
    OK_U64(world.effects.version_count, 1, "the store is told");
    OK(limit_met(ANN, "s", "u") == 5, "and it is in force");
    result = set(ANN, "{id: a, service: s, rate: 5/m}");
    OK(result.changed_rules == 0 && result.unchanged_rules == 1 && world.effects.version_count == 0,
       "the same again is no change");
    result = set(ANN, "rules: [{id: a, service: s, rate: 7/m}, {id: b, service: t, rate: 9/x}]");
    OK(result.refused && strstr(result.error.text, "t/b") && strstr(result.error.text, "rate"),
       "what is wrong is named: %s", result.error.text);
    OK(limit_met(ANN, "s", "u") == 5 && !history(ANN, "t", "b"), "and nothing of that change is in force");
    result = set(ANN, "rules: [{id: a, service: s, rate: 7/m}, {id: b, service: t, rate: 9/m}]");
    OK(result.changed_rules == 2 && limit_met(ANN, "s", "u") == 7 && limit_met(ANN, "t", "u") == 9,
       "a change over two services");
    OK(history(ANN, "s", "a")->count == 2 && history(ANN, "s", "a")->version[1]->rule->amount.rate == 5,
       "the history has both versions");
    OK_U64(history(ANN, "s", "a")->version[0]->record.wall_ms, 1700000000000, "and when they were made");
    result = end_rule(ANN, "s", "a");
    OK(result.changed_rules == 1 && limit_met(ANN, "s", "u") == 0, "a rule ends");
    result = end_rule(ANN, "s", "a");
    OK(result.refused && strstr(result.error.text, "no rule s/a"), "once: %s", result.error.text);
    OK(limit_met(ANN, "t", "u") == 9, "another service does not notice");
    uint64_t first_epoch = history(ANN, "s", "a")->version[1]->record.epoch;
    (void)set(ANN, "{id: a, service: s, rate: 5/m}");
    OK(history(ANN, "s", "a")->version[0]->record.epoch != first_epoch, "a rule that comes back begins afresh");
    world_close();
}

static void test_epochs(void)
{
    world_of(1);
    (void)set(ANN, "{id: a, service: s, rate: 5/m}");
    uint64_t first = history(ANN, "s", "a")->version[0]->record.epoch;
    (void)set(ANN, "{id: a, service: s, rate: 6/m}");
    OK_U64(history(ANN, "s", "a")->version[0]->record.epoch, first, "a changed limit keeps what was used");
    (void)set(ANN, "{id: a, service: s, rate: 7/m, inherit: reset}");
    uint64_t second = history(ANN, "s", "a")->version[0]->record.epoch;
    OK(second != first, "unless the rule says otherwise");
    (void)try_out(ANN, "{id: a, service: s, rate: 8/m, inherit: reset}", 0);
    uint64_t third = history(ANN, "s", "a")->version[0]->record.epoch;
    OK(third != second, "also in a canary");
    (void)set(ANN, "{id: a, service: s, rate: 8/m, inherit: reset}");
    OK_U64(history(ANN, "s", "a")->version[0]->record.epoch, third,
           "which keeps its counters when it becomes general");
    world_close();
}

/* ---- many ---- */

static void test_spread(void)
{
    world_of(3);
    (void)set(ANN, "{id: a, service: s, rate: 5/m}");
    world_run(INTERVAL_MS);
    OK_U64(nodes_with_rate("s", "a", 5), 3, "a rule is in force everywhere within an interval");
    (void)set(BOB, "{id: a, service: s, rate: 6/m}");
    world_run(INTERVAL_MS);
    OK_U64(nodes_with_rate("s", "a", 6), 3, "also when another peer changes it");
    (void)end_rule(CAT, "s", "a");
    world_run(INTERVAL_MS);
    OK_U64(nodes_with_rate("s", "a", 0), 3, "and when a third ends it");
    OK(all_agree() && history(ANN, "s", "a")->count == 3, "all have the whole history");
    world_links(CAT, LINK_STUTTERS);
    (void)set(CAT, "{id: a, service: s, rate: 8/m}");
    world_run(4 * INTERVAL_MS);
    OK_U64(nodes_with_rate("s", "a", 8), 3, "messages that come twice and late do no harm");
    world_close();
}

static void test_relay(void)
{
    world_of(3);
    world_link_both(ANN, CAT, LINK_CUT);
    (void)set(ANN, "{id: a, service: s, rate: 5/m}");
    world_run(3 * INTERVAL_MS);
    OK_U64(nodes_with_rate("s", "a", 5), 3, "rules come by way of others, too");
    world_close();
}

static void test_partition(void)
{
    world_of(3);
    (void)set(ANN, "rules: [{id: a, service: s, rate: 5/m}, {id: b, service: t, rate: 5/m}]");
    world_run(INTERVAL_MS);
    world_links(CAT, LINK_CUT);
    (void)set(ANN, "{id: a, service: s, rate: 6/m}");
    (void)set(CAT, "{id: a, service: s, rate: 7/m}");
    (void)set(CAT, "{id: b, service: t, rate: 7/m}");
    (void)set(BOB, "{id: c, service: u, rate: 6/m}");
    world_run(5 * INTERVAL_MS);
    OK(rate(BOB, "s", "a") == 6 && rate(CAT, "s", "a") == 7, "two sides, two rules");
    world_links(CAT, LINK_FINE);
    world_run(10 * INTERVAL_MS);
    OK(all_agree(), "both sides come to know both");
    uint64_t winner = rate(ANN, "s", "a");
    OK(winner == 6 || winner == 7, "one of the versions is in force");
    OK_U64(nodes_with_rate("s", "a", winner), 3, "the same everywhere");
    OK_U64(nodes_with_rate("t", "b", 7), 3, "what only one side changed is as that side says");
    OK_U64(nodes_with_rate("u", "c", 6), 3, "both ways");
    bool both = true;
    for (unsigned i = 0; i < 3; i++) {
        const struct rulebook_rule *rule = history(i, "s", "a");
        both &= rule->count == 3 && rule->version[0]->rule->amount.rate + rule->version[1]->rule->amount.rate == 13;
    }
    OK(both, "the loser is in everybody's history");
    world_close();
}

/* ---- starting again ---- */

static void test_restart(void)
{
    world_of(3);
    (void)set(ANN, "{id: a, service: s, rate: 5/m}");
    world_run(INTERVAL_MS);
    world_crash(BOB);
    world_run(5 * INTERVAL_MS);
    (void)set(CAT, "{id: a, service: s, rate: 6/m}");
    world_run(INTERVAL_MS);
    world_start(BOB);
    bool admits_without = false;
    struct node_status status;
    do {
        world_run(1);
        node_status(world.host[BOB].node, &status);
        admits_without |= status.state == PEER_ACTIVE && limit_met(BOB, "s", "u") != 6;
    } while (status.state != PEER_ACTIVE);
    OK(!admits_without, "a node that has forgotten all rules admits nothing before it knows them");
    OK(all_agree(), "and knows their histories");
    world_close();
}

static void test_store(void)
{
    struct rule_version *kept[8];
    struct rule_record records[9];
    size_t count = 0;
    world_of(1);
    for (unsigned i = 5; i < 8; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "{id: a, service: s, rate: %u/m}", i);
        (void)set(ANN, text);
        for (size_t v = 0; v < world.effects.version_count; v++)
            kept[count++] = rule_version_retain(world.effects.version[v]);
    }
    world_crash(ANN);
    for (size_t v = 0; v < count; v++)
        records[v] = kept[count - 1 - v]->record; /* in any order */
    records[count] = records[0];
    records[count].text = bytes_of("what a torn file may hold");
    struct world_host *host = &world.host[ANN];
    struct error error;
    host->options.incarnation = host->incarnation++;
    host->node = node_create(&host->options, &error);
    step(ANN, (struct event){.kind = EVENT_RESTORE, .versions = records, .version_count = count + 1}, ANN);
    OK(world.effects.version_count == 0, "what the store kept does not go back to it");
    OK(world.effects.notice_count == 1, "nonsense is told: %s", world.effects.notice[0].text);
    step(ANN, (struct event){.kind = EVENT_START}, ANN);
    OK(limit_met(ANN, "s", "u") == 7 && history(ANN, "s", "a")->count == 3, "rules survive their node");
    (void)set(ANN, "{id: a, service: s, rate: 8/m}");
    OK_U64(history(ANN, "s", "a")->version[0]->record.stamp.lamport, 4, "and time goes on");
    for (size_t v = 0; v < count; v++)
        rule_version_release(&kept[v]);
    world_close();
}

/* ---- whole changes ---- */

enum { MANY = 500 };

static void many_rules(char *text, size_t room, unsigned limit)
{
    size_t size = (size_t)snprintf(text, room, "rules:\n");
    for (unsigned r = 0; r < MANY; r++)
        size += (size_t)snprintf(text + size, room - size,
                                 "- {id: rule-%03u, service: service-%u, endpoint: /endpoint/number-%03u/of-many, "
                                 "rate: %u/m, allow: [user=somebody-with-a-long-name, user=another-one]}\n",
                                 r, r % 10, r, limit);
}

/* How many of the many are in force with that limit. */
static unsigned in_force(unsigned i, unsigned limit)
{
    unsigned count = 0;
    for (unsigned r = 0; r < MANY; r++) {
        char service[32], endpoint[64];
        struct match match;
        (void)snprintf(service, sizeof service, "service-%u", r % 10);
        (void)snprintf(endpoint, sizeof endpoint, "/endpoint/number-%03u/of-many", r);
        struct request request = {.service = bytes_of(service),
                                  .endpoint = bytes_of(endpoint),
                                  .cost = 1,
                                  .id_count = 1};
        request.id[0] = (struct request_id){bytes_of("user"), bytes_of("u")};
        if (ruleset_match(node_rules(world.host[i].node), &request, world.now_ns, world.now_ns, &match) &&
            match.count == 1 && match.rule[0].limit_tokens == limit)
            count++;
    }
    return count;
}

/* A list of many rules does not fit one message. */
static void begin_with_pages(unsigned count)
{
    world_init(count);
    for (unsigned i = 0; i < count; i++)
        world.host[i].options.message_max_bytes = 65536;
    world_name_all();
    world_start_all();
    world_run(1000);
}

static void test_whole_changes(void)
{
    static char text[MANY * 256];
    bool half = false;
    begin_with_pages(2);
    skip_text();
    for (unsigned limit = 5; limit < 7; limit++) {
        many_rules(text, sizeof text, limit);
        struct rules_result result = set(ANN, text);
        OK(!result.refused && result.changed_rules == MANY, "%d rules of ten services change at once %s", MANY,
           result.refused ? result.error.text : "");
        for (unsigned ms = 0; ms < 6 * INTERVAL_MS && in_force(BOB, limit) != MANY; ms++) {
            unsigned count = in_force(BOB, limit);
            half |= count != 0 && count != MANY;
            world_run(1);
        }
        OK_U64(in_force(BOB, limit), MANY, "the other peer has them");
    }
    OK(!half, "though they came in several messages, at no time were some of them in force and others not");
    struct node_stats stats = world_stats(BOB);
    OK(stats.rule_scans == 2 && stats.rule_versions_fetched == 2 * MANY, "each was fetched once");
    (void)set(ANN, "{id: rule-007, service: service-7, rate: 9/m}");
    uint64_t before = world_stats(BOB).bytes_received;
    world_run(INTERVAL_MS);
    OK(all_agree() && world_stats(BOB).bytes_received - before < 65536 + 20000,
       "a small change of many rules costs one message");
    world_close();
}

/* The donor changes while it is asked. */
static void test_moving_donor(void)
{
    static char text[MANY * 256];
    begin_with_pages(2);
    skip_text();
    many_rules(text, sizeof text, 5);
    (void)set(ANN, text);
    world_run(30); /* the first page is there, others are not */
    OK_U64(rulebook_versions(node_rulebook(world.host[BOB].node)), 0, "half of a change is none");
    (void)set(ANN, "rules: [{id: x, service: s, rate: 5/m}, {id: y, service: t, rate: 5/m}]");
    for (unsigned ms = 0; ms < 1000 && !all_agree(); ms++) {
        world_run(1);
        if ((rate(BOB, "s", "x") == 5) != (rate(BOB, "t", "y") == 5))
            break;
    }
    OK(all_agree(), "a donor whose rules change meanwhile is asked again, and nothing is half");
    world_close();
}

static void test_dead_donor(void)
{
    static char text[MANY * 256];
    begin_with_pages(3);
    many_rules(text, sizeof text, 5);
    (void)set(ANN, text);
    world_run(30);
    world_crash(ANN);
    world_run(3000);
    skip_text();
    OK(rulebook_versions(node_rulebook(world.host[BOB].node)) % MANY == 0, "a donor that dies leaves nothing half");
    (void)set(CAT, "{id: x, service: s, rate: 5/m}");
    world_run(3 * INTERVAL_MS);
    OK(rate(BOB, "s", "x") == 5, "and others can be asked");
    world_close();
}

/* ---- what may go wrong ---- */

#define FRAME(text)                                                                                                \
    {                                                                                                              \
        text, sizeof text - 1                                                                                      \
    }

static void test_nonsense(void)
{
    world_of(2);
    (void)set(ANN, "{id: a, service: s, rate: 5/m}");
    world_run(INTERVAL_MS);
    uint64_t before = world_stats(BOB).messages_invalid;
    static const struct bytes frames[] = {
        FRAME("\x97"),
        FRAME("\x97\x04"),
        FRAME("\x97\x04\x04\x03\xa3"
              "ann\x01\x90\x94\x01\x01\x01\x91\xc0"),
        FRAME("\x97\x04\x04\x05\xa3"
              "ann\x01\x90\x90"),
        FRAME("\x96\x04\x04\x03\xa3"
              "ann\x01\x90"),
    };
    for (size_t f = 0; f < sizeof frames / sizeof frames[0]; f++) {
        char message[64];
        memcpy(message, frames[f].data, frames[f].size);
        struct key_id seal = hash_128(&world.host[BOB].options.hash_key, message, frames[f].size);
        memcpy(message + frames[f].size, &seal, sizeof seal);
        step(BOB, (struct event){.kind = EVENT_MESSAGE, .bytes = {message, frames[f].size + sizeof seal}}, ANN);
    }
    OK_U64(world_stats(BOB).messages_invalid - before, 5, "nonsense is counted and dropped");
    world_close();
}

static void test_muted(void)
{
    world_of(2);
    world_mute(BOB, ANN, true, false);
    (void)set(ANN, "{id: a, service: s, rate: 5/m}");
    world_run(5 * INTERVAL_MS);
    OK_U64(rate(BOB, "s", "a"), 0, "who does not listen hears no rules");
    world_mute(BOB, ANN, false, false);
    world_run(2 * INTERVAL_MS);
    OK_U64(rate(BOB, "s", "a"), 5, "until it does");
    world_mute(ANN, BOB, false, true);
    (void)set(ANN, "{id: a, service: s, rate: 6/m}");
    world_run(5 * INTERVAL_MS);
    OK_U64(rate(BOB, "s", "a"), 5, "nor who is not spoken to");
    world_close();
}

/* Each side of a partition stays below a limit that both together exceed. */
static void test_too_many_together(void)
{
    world_init(2);
    for (unsigned i = 0; i < 2; i++)
        world.host[i].options.rules.service_rules_max = 3;
    world_name_all();
    world_start_all();
    world_run(1000);
    world_links(BOB, LINK_CUT);
    struct rules_result result =
        set(ANN, "rules: [{id: a1, service: s, by: d1, rate: 7/m}, {id: a2, service: s, by: d2, rate: 6/m}]");
    OK(!result.refused, "one side makes two rules %s", result.refused ? result.error.text : "");
    (void)set(BOB, "rules: [{id: u, service: s, rate: 4/m}]");
    result = set(BOB, "rules: [{id: b2, service: s, by: d3, rate: 3/m}]");
    OK(!result.refused, "the other two more %s", result.refused ? result.error.text : "");
    world_links(BOB, LINK_FINE);
    world_run(20 * INTERVAL_MS);
    OK(all_agree(), "all have all four");
    struct ruleset_stats stats[2];
    for (unsigned i = 0; i < 2; i++)
        ruleset_stats(node_rules(world.host[i].node), &stats[i]);
    OK(stats[0].rules == 3 && stats[1].rules == 3, "of which as many are in force as may be");
    OK(!ruleset_find(node_rules(world.host[0].node), bytes_of("s"), bytes_of("b2")) &&
           !ruleset_find(node_rules(world.host[1].node), bytes_of("s"), bytes_of("b2")),
       "the same ones, the older ones");
    OK(strstr(world.text, "not in force") != NULL, "which is told");
    (void)end_rule(ANN, "s", "a1");
    world_run(2 * INTERVAL_MS);
    OK(ruleset_find(node_rules(world.host[1].node), bytes_of("s"), bytes_of("b2")) != NULL,
       "when one ends, the last one is");
    world_close();
}

int main(void)
{
    test_alone();
    test_epochs();
    test_spread();
    test_relay();
    test_partition();
    test_restart();
    test_store();
    test_whole_changes();
    test_moving_donor();
    test_dead_donor();
    test_nonsense();
    test_muted();
    test_too_many_together();
    return tap_done();
}
