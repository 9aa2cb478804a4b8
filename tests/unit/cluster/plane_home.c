/* A rule that is set without a home, and that shares cannot admit, gets one from the node that takes it. */
#include "cluster/state/node_state.h"
#include "tests/lib/plane_world.h"
#include "tests/lib/rule_parse.h"
#include "tests/lib/tap.h"

#include <stdio.h>
#include <string.h>

#define WINDOW "service: s, algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0"
#define LEASE "service: s, algorithm: concurrency, limit: 2, window: 1m, overshoot: 0"

static char notice[NODE_NOTICE_BYTES], gone[NODE_NOTICE_BYTES]; /* of ann: who was given a home, which home is gone */

static void watch(unsigned i, const struct effects *effects)
{
    for (size_t n = 0; i == ANN && n < effects->notice_count; n++)
        if (strstr(effects->notice[n].text, "home is by_key") || strstr(effects->notice[n].text, "home is a list"))
            memcpy(notice, effects->notice[n].text, sizeof notice);
        else if (strstr(effects->notice[n].text, "gone for good"))
            memcpy(gone, effects->notice[n].text, sizeof gone);
}

static void put_in_one_region(void)
{
    for (unsigned i = 0; i < 3; i++) {
        struct node_options *options = &world.host[i].options;
        options->region_count = 1;
        options->regions[0].weight = SHARE_ONE;
        memcpy(options->region, options->regions[0].region, sizeof options->region);
        for (unsigned p = 0; p < options->peer_count; p++)
            memcpy(options->peers[p].region, options->regions[0].region, sizeof options->peers[p].region);
    }
}

/* Ann's region has half of each limit, bob's and cat's a quarter; or all are in one. */
static void a_world(bool one_region)
{
    world_init(3);
    world.watch = watch;
    notice[0] = gone[0] = '\0';
    world_name_all();
    name_regions();
    for (unsigned i = 0; i < 3; i++) {
        struct node_options *options = &world.host[i].options;
        options->grants = true;
        options->unlisted_max = 0;
    }
    if (one_region)
        put_in_one_region();
    world_start_all();
    world_run(1000);
}

static const char *home_at(unsigned i, const char *id)
{
    const struct rulebook_rule *rule = history(i, "s", id);
    return rule && rule->version[0]->rule ? rule->version[0]->rule->home.data : "no rule";
}

static bool is_refused(const char *text)
{
    const struct rules_result result = set(ANN, text);
    if (!result.refused)
        printf("# taken: %s\n", result.warning.text);
    return result.refused && strstr(result.error.text, "of 3 daemons, since each uses its share");
}

/* A window of 1 gets that home, everywhere and once, and the answer and the log say so. */
static void is_given(const char *home, const char *says)
{
    struct rules_result result = set(ANN, "{id: w, " WINDOW "}");
    OK(!result.refused && result.changed_rules == 1 && result.warnings == 1, "a window of 1 is taken, with a word");
    OK(strstr(result.warning.text, says), "... that says why");
    OK(strncmp(notice, result.warning.text, 200) == 0, "... in the log as well");
    world_run(5 * INTERVAL_MS);
    for (unsigned i = 0; i < 3; i++)
        OK_STRING(home_at(i, "w"), home, "%s has it with its home", host_names[i]);
    result = set(BOB, "{id: w, " WINDOW "}");
    OK(!result.refused && result.unchanged_rules == 1 && result.changed_rules == 0 && result.warnings == 0,
       "the same again at another node changes nothing");
}

static void given(void)
{
    a_world(false);
    is_given("by_key", "rule s/w: home is by_key, since none of 3 daemons would ever admit a request");
    struct rules_result result = set(BOB, "{id: w, " WINDOW ", home: by_key}");
    OK(result.unchanged_rules == 1, "nor does the home that it has");
    OK(is_refused("{id: w, " WINDOW ", home: none}"), "with home: none it is refused");
    OK_STRING(home_at(ANN, "w"), "by_key", "... and is as it was");
    result = set(ANN, "{id: w, " WINDOW ", note: x}");
    OK(result.refused, "a mistake is a mistake");
    result = set(ANN, "{id: w, service: s, algorithm: fixed_window, limit: 9, window: 1m, overshoot: 0}");
    OK(result.changed_rules == 1 && home_at(ANN, "w")[0] == '\0', "another limit has no home");
    result = set(ANN, "{id: w, " WINDOW "}");
    OK(result.changed_rules == 1 && strcmp(home_at(ANN, "w"), "by_key") == 0, "and the former one has");
    OK(is_refused("rules: [{id: ok, " WINDOW "}, {id: no, " WINDOW ", home: none}]"),
       "one that is refused takes all with it");
    OK_STRING(home_at(ANN, "ok"), "no rule", "... also those that would get a home");
    world_close();
}

/* Weights that move, and regions that are gone, do not take the home away from a rule that is set again as it was. */
static void kept(void)
{
    a_world(false);
    OK(set(ANN, "{id: l, " LEASE "}").changed_rules == 1 && strcmp(home_at(ANN, "l"), "by_key") == 0,
       "a lease of 2 gets a home");
    struct node *node = world.host[ANN].node;
    const uint64_t before = node->weights.in_force[0];
    node->weights.in_force[0] = SHARE_ONE / 4 * 3;
    struct rules_result result = set(ANN, "{id: l, " LEASE "}");
    node->weights.in_force[0] = before;
    OK(result.unchanged_rules == 1, "it keeps it where one region alone could do without");
    static const char some[] = "{id: s, service: s, algorithm: concurrency, limit: 4, window: 1m, overshoot: 0}";
    OK(set(ANN, some).changed_rules == 1 && home_at(ANN, "s")[0] == '\0', "where shares do, a rule has none,");
    node->weights.in_force[0] = SHARE_ONE / 4;
    result = set(ANN, some);
    OK(result.unchanged_rules == 1, "and stays so where shares of the moment are too small");
    OK(set(ANN, "{id: t, service: s, algorithm: concurrency, limit: 4, window: 1m, overshoot: 0}").warnings == 1 &&
           strcmp(home_at(ANN, "t"), "by_key") == 0,
       "though a new one gets a home then");
    node->weights.in_force[0] = before;
    world_run(5 * INTERVAL_MS);
    world_stop(BOB);
    world_stop(CAT);
    world_run(1000);
    world_forget(ANN, BOB);
    world_forget(ANN, CAT);
    world_run(10000);
    OK(node->sharing.alone, "ann is alone");
    result = set(ANN, "{id: l, " LEASE "}");
    OK(result.unchanged_rules == 1 && strcmp(home_at(ANN, "l"), "by_key") == 0,
       "and where a node is alone that has all of the limit");
    result = set(ANN, "{id: l, " LEASE ", home: none}");
    OK(result.changed_rules == 1 && home_at(ANN, "l")[0] == '\0', "home: none takes it away there");
    result = set(ANN, "{id: n, " LEASE "}");
    OK(result.changed_rules == 1 && result.warnings == 0 && home_at(ANN, "n")[0] == '\0',
       "a new rule of a node alone gets none");
    world_close();
}

/* A rule of a node that was alone admits nothing once others are there, until it is set again. */
static void late(void)
{
    world_init(3);
    world_name_peer(BOB, ANN);
    world_name_peer(CAT, ANN);
    name_regions();
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.grants = true;
    world_start(ANN);
    world_run(3000);
    struct rules_result result = set(ANN, "{id: w, " WINDOW "}");
    OK(result.changed_rules == 1 && result.warnings == 0 && home_at(ANN, "w")[0] == '\0',
       "alone, a node needs none");
    result = set(ANN, "{id: n, " WINDOW ", home: none}");
    OK(result.changed_rules == 1, "nor does one that wants none");
    world_start(BOB);
    world_start(CAT);
    world_run(10000);
    OK_STRING(home_at(CAT, "w"), "", "others have it as it was set");
    result = set(CAT, "{id: n, " WINDOW ", home: none}");
    OK(result.unchanged_rules == 1, "home: none leaves it so");
    result = set(CAT, "{id: w, " WINDOW "}");
    OK(result.changed_rules == 1 && result.warnings == 1 && strcmp(home_at(CAT, "w"), "by_key") == 0,
       "set again, it gets its home");
    result = set(CAT, "{id: w, " WINDOW "}");
    OK(result.unchanged_rules == 1, "once");
    world_close();
}

/* The same in one region, whose daemons cannot share the limit. */
static void late_in_a_region(void)
{
    world_init(3);
    world_name_peer(BOB, ANN);
    world_name_peer(CAT, ANN);
    name_regions();
    put_in_one_region();
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.grants = true;
    world_start(ANN);
    world_run(3000);
    OK(set(ANN, "{id: w, " WINDOW "}").changed_rules == 1 && home_at(ANN, "w")[0] == '\0', "alone, a node needs none");
    world_start(BOB);
    world_start(CAT);
    world_run(10000);
    OK_STRING(home_at(CAT, "w"), "", "others have it as it was set");
    const struct rules_result result = set(CAT, "{id: w, " WINDOW "}");
    OK(result.changed_rules == 1 && result.warnings == 1, "set again, it gets its homes");
    OK_STRING(home_at(CAT, "w"), "us-east/ann,us-east/cat", "which are those that cat's config names");
    world_close();
}

static void not_given(void)
{
    a_world(false);
    struct node *node = world.host[ANN].node;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (strcmp(node->member[i].name, "bob") == 0)
            node->member[i].heeds_uncharged = false;
    OK(is_refused("{id: w, " WINDOW "}"), "refused while a daemon does not know homes");
    world_run(5 * INTERVAL_MS);
    OK(set(ANN, "{id: w, " WINDOW "}").changed_rules == 1, "... and taken when all do");
    node->options.grants = false;
    OK(is_refused("{id: g, " WINDOW "}"), "refused where nobody can ask");
    node->options.grants = true;
    node->options.takeover_after_ns = 30000 * MS;
    OK(is_refused("{id: t, " WINDOW "}"), "refused beside takeover_after");
    node->options.takeover_after_ns = 0;
    char name[NODE_NAME_BYTES];
    const uint64_t weight = node->options.regions[2].weight;
    memcpy(name, node->options.regions[2].region, sizeof name);
    (void)snprintf(node->options.regions[2].region, sizeof name, "mars");
    OK(is_refused("{id: m, " WINDOW "}"), "refused where a region of the config has no daemon");
    node->options.regions[2].weight = 0;
    OK(set(ANN, "{id: m, " WINDOW "}").changed_rules == 1, "... unless it is no key's home");
    memcpy(node->options.regions[2].region, name, sizeof name);
    node->options.regions[2].weight = weight;
    world_close();
}

/* Where several daemons of a region would have to share the limit, each is the home of a part of the keys. */
static void listed(void)
{
    a_world(true);
    struct node *node = world.host[ANN].node;
    for (uint32_t i = 0; i < node->member_end; i++)
        node->member[i].lists_grants = false;
    OK(is_refused("{id: w, " WINDOW "}"), "refused while a daemon does not know lists of homes");
    world_run(5 * INTERVAL_MS);
    is_given("us-east/ann,us-east/bob,us-east/cat",
             "rule s/w: home is a list of daemons, since none of 3 daemons would ever admit a request");
    OK(is_refused("{id: w, " WINDOW ", home: none}"), "with home: none it is refused");
    struct rules_result result = set(BOB, "{id: l, " LEASE ", home: [us-east/cat, us-east/bob]}");
    OK(result.changed_rules == 1 && result.warnings == 0, "a list of some of them is taken as it is");
    result = set(BOB, "{id: l, " LEASE ", home: [us-east/cat, us-east/dan]}");
    OK(result.refused && strstr(result.error.text, "home is 'us-east/dan', which no daemon is"), "all must be there");
    world_stop(CAT);
    world_run(3000);
    result = set(ANN, "{id: w, " WINDOW "}");
    OK(result.unchanged_rules == 1, "who is away stays a home");
    result = set(ANN, "{id: k, " WINDOW ", home: [us-east/ann, us-east/cat]}");
    OK(result.changed_rules == 1 &&
           strstr(result.warning.text, "rule s/k: home has 'us-east/cat', where no daemon runs now: "
                                       "keys whose home it is are refused until one does"),
       "or becomes one, with a word");
    OK_STRING(gone, "", "as long as it may come back");
    world_forget(ANN, CAT);
    world_run(10000);
    OK_STRING(gone,
              "rule s/k and 2 more: the home us-east/cat is gone for good, and its requests are refused: expected "
              "another home, or the rule set again",
              "rules are named that have a home which is forgotten");
    result = set(ANN, "{id: w, " WINDOW "}");
    OK(result.changed_rules == 1 && result.warnings == 1, "who is gone for good is none");
    OK_STRING(home_at(ANN, "w"), "us-east/ann,us-east/bob", "... when the rule is set again");
    world_close();
}

/* A daemon that no config names may be gone tomorrow. */
static void listed_by_config(void)
{
    a_world(true);
    struct node *node = world.host[ANN].node;
    for (uint32_t i = 0; i < node->member_end; i++)
        node->member[i].configured = node->member[i].configured && strcmp(node->member[i].name, "cat") != 0;
    OK(set(ANN, "{id: w, " WINDOW "}").changed_rules == 1, "a window of 1");
    OK_STRING(home_at(ANN, "w"), "us-east/ann,us-east/bob", "has no home that the config does not name");
    for (uint32_t i = 0; i < node->member_end; i++)
        node->member[i].configured = false;
    OK(is_refused("{id: x, " WINDOW "}"), "one daemon alone is no home of keys");
    world_close();
}

/* Writes a rule with `bytes` more bytes of names; the size of its canonical text. */
static size_t write_long(char *text, size_t room, int bytes)
{
    struct error error;
    size_t size = (size_t)snprintf(text, room, "{id: l, " LEASE ", deny: [");
    for (int i = 0; bytes > 0; i++, bytes -= bytes < 200 ? bytes : 200)
        size += (size_t)snprintf(text + size, room - size, "'%03d%0*d', ", i, bytes < 200 ? bytes : 200, 0);
    (void)snprintf(text + size, room - size, "]}");
    struct rule *rule = rule_parse(bytes_of(text), "r", &error);
    size = rule ? rule_print(rule, NULL, 0) : RULE_TEXT_MAX_BYTES + 1;
    rule_destroy(&rule);
    return size;
}

/* A text that is as long as a text may be has no room for a home. */
static void long_text(void)
{
    static char text[64 * 1024];
    int bytes = 1;
    a_world(false);
    (void)write_long(text, sizeof text, bytes);
    OK(!set(ANN, text).refused, "a short text has room for a home");
    for (int step = 1 << 15; step > 0; step /= 2)
        bytes += write_long(text, sizeof text, bytes + step) <= RULE_TEXT_MAX_BYTES ? step : 0;
    OK(write_long(text, sizeof text, bytes) > RULE_TEXT_MAX_BYTES - sizeof "home: by_key",
       "another is as long as may be");
    OK(is_refused(text), "and is refused");
    OK(write_long(text, sizeof text, bytes - 30) < RULE_TEXT_MAX_BYTES && !set(ANN, text).refused,
       "a bit less does");
    world_close();
}

static void sheets(void)
{
#define DAY "service: s, by: org, algorithm: quota, "
    a_world(false);
    static const char with_large[] = "rules: [{id: b, " DAY "limit: 1, window: day, overshoot: 0}, {id: b.x, " DAY
                                     "overrides_of: b, overrides: [{for: acme, amount: 50/day}]}]",
                      with_small[] = "rules: [{id: b, " DAY "limit: 1, window: day, overshoot: 0}, {id: b.x, " DAY
                                     "overrides_of: b, overrides: [{for: acme, amount: 1/day}]}]",
                      base[] = "{id: b, " DAY "limit: 1, window: day, overshoot: 0}",
                      large[] = "{id: b.x, " DAY "overrides_of: b, overrides: [{for: acme, amount: 50/day}]}";
    struct rules_result result = set(ANN, with_large);
    OK(result.refused && strstr(result.error.text, "rule s/b: under limit (1)"),
       "refused with overrides that do without, which would have to ask at home");
    result = set(ANN, with_small);
    OK(!result.refused && result.changed_rules == 2 && strcmp(home_at(ANN, "b"), "by_key") == 0,
       "taken with such that do not");
    result = set(ANN, large);
    OK(!result.refused, "a home that is there is the sheet's");
    result = set(ANN, with_large);
    OK(!result.refused && result.unchanged_rules == 2, "and both are as before");
    OK(set(ANN, "{id: b, " DAY "limit: 50, window: day, overshoot: 0}").changed_rules == 1, "no home any more");
    OK(is_refused(base), "refused where such a sheet is there already");
    world_close();
}

static void on_trial(void)
{
    a_world(false);
    OK(set(ANN, "{id: l, service: s, algorithm: concurrency, limit: 9, window: 1m}").changed_rules == 1, "a rule");
    const struct rules_result result = try_out(ANN, "{id: l, " LEASE "}", 60000);
    OK(!result.refused && strcmp(home_at(ANN, "l"), "by_key") == 0, "a trial of a small one gets its home");
    OK(set(ANN, "{id: l, " LEASE "}").changed_rules == 1 && strcmp(home_at(ANN, "l"), "by_key") == 0,
       "and so does what it was for");
    world_close();
}

int main(void)
{
    given();
    kept();
    late();
    late_in_a_region();
    not_given();
    listed();
    listed_by_config();
    long_text();
    sheets();
    on_trial();
    return tap_done();
}
