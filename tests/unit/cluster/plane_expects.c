/* Changes of rules that expect something, and changes that are only tried. */
#include "tests/lib/plane_world.h"

static struct rules_result set_if(const char *text, struct rules_expectation expects)
{
    return apply(ANN, (struct rule_changes){.text = bytes_of(text), .expects = expects});
}

static struct rules_expectation about(const char *id, enum rules_condition condition, struct rule_stamp stamp)
{
    return (
        struct rules_expectation){.condition = condition, .name = {bytes_of("s"), bytes_of(id)}, .stamp = stamp};
}

static struct rule_stamp stamp_of(const char *id)
{
    return history(ANN, "s", id)->version[0]->record.stamp;
}

static void test_expects(void)
{
    const struct rule_stamp none = {0};
    world_of(1);
    struct rules_result result = set_if("{id: a, service: s, rate: 5/m}", about("a", RULES_IF_PRESENT, none));
    OK(result.refused && result.unmet && !history(ANN, "s", "a"), "no rule is there: %s", result.error.text);
    result = set_if("{id: a, service: s, rate: 5/m}", about("a", RULES_IF_ABSENT, none));
    OK(result.changed_rules == 1 && result.created_rules == 1, "one is made where none was");
    result = set_if("{id: a, service: s, rate: 6/m}", about("a", RULES_IF_ABSENT, none));
    OK(result.refused && result.unmet && rate(ANN, "s", "a") == 5, "once: %s", result.error.text);
    const struct rule_stamp first = stamp_of("a");
    result = set_if("{id: a, service: s, rate: 6/m}", about("a", RULES_IF_VERSION, first));
    OK(result.changed_rules == 1 && result.created_rules == 0 && rate(ANN, "s", "a") == 6,
       "the version that was read");
    result = set_if("{id: a, service: s, rate: 7/m}", about("a", RULES_IF_VERSION, first));
    OK(result.unmet && rate(ANN, "s", "a") == 6, "which is not there any more: %s", result.error.text);
    const uint64_t digest = rulebook_digest(node_rulebook(world.host[ANN].node));
    (void)set(ANN, "{id: b, service: t, rate: 7/m}");
    result = set_if("{id: a, service: s, rate: 7/m}",
                    (struct rules_expectation){.condition = RULES_IF_BOOK, .digest = digest});
    OK(result.unmet && rate(ANN, "s", "a") == 6, "the whole book: %s", result.error.text);
    const struct rule_stamp last = stamp_of("a");
    (void)end_rule(ANN, "s", "a");
    result = set_if("{id: a, service: s, rate: 7/m}", about("a", RULES_IF_VERSION, last));
    OK(result.unmet, "a rule that has ended has no version");
    result = set_if("{id: a, service: s, rate: 7/m}", about("a", RULES_IF_ABSENT, none));
    OK(result.created_rules == 1, "and is not there");
    world_close();
}

/* Two changes that expect the same version, of which the second one waits until the first one is in force. */
static void test_waiting(void)
{
    enum { MANY = 2000 };
    static char text[MANY * 64];
    size_t size = 0;
    world_of(1);
    (void)set(ANN, "{id: a, service: s, rate: 5/m}");
    const struct rules_expectation expects = about("a", RULES_IF_VERSION, stamp_of("a"));
    size += (size_t)snprintf(text, sizeof text, "rules:\n- {id: a, service: s, rate: 6/m}\n");
    for (int i = 0; i < MANY; i++)
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "- {id: r%d, service: s%d, endpoint: /%d, rate: 6/m}\n", i, i % 50, i);
    struct rules_result first = set_if(text, expects), second = set_if("{id: a, service: s, rate: 7/m}", expects);
    OK(first.in_work && second.in_work, "a large change, and one that waits behind it");
    for (unsigned steps = 0; first.in_work || second.in_work; steps++) {
        assert(steps < 100000);
        step(ANN, (struct event){.kind = EVENT_WAKE}, ANN);
        if (first.in_work)
            (void)node_rules_result(world.host[ANN].node, first.ticket, &first);
        if (second.in_work)
            (void)node_rules_result(world.host[ANN].node, second.ticket, &second);
    }
    OK(first.changed_rules == MANY + 1 && second.unmet && rate(ANN, "s", "a") == 6,
       "only the first one finds what both expect: %s %s", first.error.text, second.error.text);
    world_close();
}

static void test_dry_run(void)
{
    world_of(1);
    (void)set(ANN, "{id: a, service: s, rate: 5/m}");
    const uint64_t digest = rulebook_digest(node_rulebook(world.host[ANN].node));
    struct rule_changes changes = {.text = bytes_of("rules: [{id: a, service: s, rate: 6/m}, {id: b, service: s, "
                                                    "rate: 1/m, burst: 9}]"),
                                   .dry_run = true};
    struct rules_result result = apply(ANN, changes);
    OK(!result.refused && result.changed_rules == 2 && result.created_rules == 1, "what would change is told");
    OK(world.effects.version_count == 0 && rulebook_digest(node_rulebook(world.host[ANN].node)) == digest,
       "and nothing does");
    OK(limit_met(ANN, "s", "u") == 5, "requests notice nothing");
    changes.text = bytes_of("{id: a, service: s, rate: many}");
    result = apply(ANN, changes);
    OK(result.refused && strstr(result.error.text, "rate"), "mistakes are told: %s", result.error.text);
    result = set(ANN, "{id: a, service: s, rate: 7/m}");
    OK(result.changed_rules == 1 && limit_met(ANN, "s", "u") == 7, "a change afterwards is in force");
    world_close();
}

/* Rules that a text does not name end with the change, of its services and no others. */
static void test_prune(void)
{
    world_of(1);
    (void)set(ANN, "rules: [{id: a, service: s, rate: 5/m}, {id: b, service: s, rate: 5/m}, {id: c, service: s, "
                   "rate: 5/m}, {id: a, service: t, rate: 5/m}]");
    (void)end_rule(ANN, "s", "c");
    struct rule_changes changes = {.text = bytes_of("rules: [{id: a, service: s, rate: 5/m}, {id: d, service: s, "
                                                    "rate: 6/m}]"),
                                   .prune = true,
                                   .dry_run = true};
    struct rules_result result = apply(ANN, changes);
    OK(result.changed_rules == 2 && result.removed_rules == 1 && result.unchanged_rules == 1 &&
           rate(ANN, "s", "b") == 5,
       "what would be is told");
    changes.dry_run = false;
    result = apply(ANN, changes);
    OK(result.changed_rules == 2 && result.created_rules == 1 && result.removed_rules == 1, "one is new, one ends");
    OK(rate(ANN, "s", "a") == 5 && rate(ANN, "s", "b") == 0 && rate(ANN, "s", "d") == 6 && rate(ANN, "t", "a") == 5,
       "and other services stay");
    OK_U64(history(ANN, "s", "b")->version[0]->record.stamp.lamport,
           history(ANN, "s", "d")->version[0]->record.stamp.lamport, "all in one change");
    changes.text = bytes_of("rules: [{id: a, service: s, rate: 5/m}, {id: d, service: s, rate: x}]");
    result = apply(ANN, changes);
    OK(result.refused && rate(ANN, "s", "d") == 6, "a mistake ends nothing");
    changes.text = bytes_of("rules: []");
    result = apply(ANN, changes);
    OK(result.removed_rules == 0 && rate(ANN, "s", "a") == 5, "nor does a text without services");
    world_close();
}

int main(void)
{
    test_expects();
    test_waiting();
    test_dry_run();
    test_prune();
    return tap_done();
}
