/* Rules under which nobody would ever be admitted are refused; those under which only some nodes admit are told. */
#include "tests/lib/plane_world.h"
#include "tests/lib/tap.h"

#include <string.h>

#define SINCE ", since each uses its share of the limit: expected "

static unsigned warned;
static char last_warning[NODE_NOTICE_BYTES];

static void watch(unsigned i, const struct effects *effects)
{
    for (size_t n = 0; i == ANN && n < effects->notice_count; n++) {
        if (!strstr(effects->notice[n].text, "admit"))
            continue;
        warned++;
        memcpy(last_warning, effects->notice[n].text, sizeof last_warning);
    }
}

static void a_world(unsigned count)
{
    world_init(count);
    world.watch = watch;
    warned = 0;
    world_name_all();
    world_start_all();
    world_run(1000);
}

/* Shares of three are 1/2, 1/4, 1/4. */
static void refused(void)
{
    a_world(3);
    struct rules_result result =
        set(ANN, "rules: [{id: fine, service: s, rate: 9/m}, {id: few, service: s, rate: 1/h}]");
    OK(result.refused && !result.in_work, "a rule that would never admit anything is refused");
    OK_STRING(result.error.text,
              "rule s/few: under rate (1/h) a request of cost 1 is ever admitted at none of 3 daemons" SINCE
              "overshoot: 4, or a capacity or burst of 4",
              "... with what to write instead");
    OK(!history(ANN, "s", "fine"), "... and nothing of that change has happened");
    result = set(ANN, "{id: few, service: s, rate: 1/h, overshoot: 4}");
    OK(!result.refused && result.warnings == 0 && warned == 0, "what was advised is taken, without a word");
    for (unsigned i = 0; i < 3; i++) {
        world_run(5 * INTERVAL_MS);
        OK_U64(limit_met(i, "s", "alice"), 1, "... and known at %s", host_names[i]);
    }
    result = set(BOB, "{id: few, service: s, rate: 1/h, mode: off}");
    OK(!result.refused && result.warnings == 0, "what is off is not asked");
    world_close();
}

static void short_of(void)
{
    a_world(3);
    struct rules_result result = set(ANN, "{id: few, service: s, rate: 2/h, overshoot: 1}");
    OK(!result.refused && result.changed_rules == 1, "a rule that admits at some nodes is taken,");
    OK(result.warnings == 1, "with a warning");
    OK_STRING(result.warning.text,
              "rule s/few: under rate (2/h) a request of cost 1 is ever admitted at 1 of 3 daemons only" SINCE
              "overshoot: 3, or a capacity or burst of 4",
              "... that says what would do");
    OK(warned == 1 && strncmp(last_warning, result.warning.text, 120) == 0, "... in the log as well");
    result = set(ANN, "{id: few, service: s, rate: 2/h, overshoot: 1}");
    OK(!result.refused && result.warnings == 0 && result.unchanged_rules == 1,
       "what is as it was is not asked again");
    world_close();
}

/* What was enough for one node alone is too little for one of two. */
static void when_shares_change(void)
{
    world_init(2);
    world.watch = watch;
    warned = 0;
    world_name_peer(BOB, ANN);
    world_start(ANN);
    world_run(3000);
    struct rules_result result =
        set(ANN, "rules: [{id: few, service: s, rate: 1/h, overshoot: 0},\n"
                 "{id: more, service: s, rate: 1/h, overshoot: 0, by: ip}, {id: fine, service: s, "
                 "by: org, rate: 9/h}]");
    OK(!result.refused && result.warnings == 0 && warned == 0, "alone, a node admits whatever is there");
    world_start(BOB);
    world_run(5000);
    OK_U64(warned, 1, "when another joins, that is told once");
    OK_STRING(last_warning,
              "with a share of 50.00% this node admits no request under rule s/few and 1 more: expected a larger "
              "overshoot",
              "... with the rules");
    world_close();
}

/* The share that the host has of the limit that a request of "s" meets. */
static double share_met(unsigned i)
{
    struct explanation explanation;
    struct match match;
    struct request request = {.service = bytes_of("s"), .cost = 1, .id_count = 1};
    request.id[0] = (struct request_id){bytes_of("user"), bytes_of("alice")};
    if (!ruleset_match(node_rules(world.host[i].node), &request, world.now_ns, world.now_ns, &match))
        return -1;
    node_explain(world.host[i].node, match.charge[0].id, match.charge[0].limit, world.now_ns, &explanation);
    return explanation.share;
}

/* A rule divides its limit by its own weights at all nodes, and by others once it has others. */
static void weights(void)
{
    world_init(3);
    world_name_all();
    name_regions();
    world_start_all();
    world_run(1000);
    struct rules_result result = set(ANN, "{id: w, service: s, rate: 100/m, weights: {us-east: 0.75, mars: 0.25}}");
    OK_STRING(
        result.refused ? result.error.text : "",
        "rule s/w: weights has region 'mars', which the config does not have: expected a region of the config",
        "weights of a region that does not exist are refused");
    result = set(ANN, "{id: w, service: s, rate: 100/m, weights: {us-east: 0.75, eu-west: 0.25}}");
    OK(!result.refused && strstr(result.warning.text, "at 2 of 3 daemons only, in regions with a weight"),
       "a rule with weights is set, with a word where nobody can ask");
    world_run(5 * INTERVAL_MS);
    OK(share_met(ANN) == 0.75 && share_met(BOB) == 0.25 && share_met(CAT) == 0, "each has what they say");
    result = set(BOB, "{id: w, service: s, rate: 100/m, weights: {ap-south: 0.5, eu-west: 0.5}}");
    OK(!result.refused, "other weights are another version");
    OK(share_met(BOB) == 0.5 && share_met(ANN) == 0.75, "which counts where it is known");
    world_run(5 * INTERVAL_MS);
    OK(share_met(ANN) == 0 && share_met(BOB) == 0.5 && share_met(CAT) == 0.5, "and then everywhere");
    (void)set(BOB, "{id: w, service: s, rate: 100/m}");
    world_run(5 * INTERVAL_MS);
    OK(share_met(ANN) == 0.5 && share_met(BOB) == 0.25, "without weights those of the cluster count");
    world_close();
}

static bool is_warned(const char *text, const char *sentence)
{
    const struct rules_result result = set(ANN, text);
    if (result.refused)
        printf("# %s\n", result.error.text);
    else if (!strstr(result.warning.text, sentence))
        printf("# %s\n", result.warning.text);
    return !result.refused && strstr(result.warning.text, sentence);
}

/* A region keeps its daemons when they have left, or are silent: whoever names the region is told. */
static void places_without_daemons(void)
{
    world_init(3);
    world_name_all();
    name_regions();
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.grants = true;
    world_start_all();
    world_run(1000);
    OK(!set(ANN, "{id: a, service: s, limit: 9, algorithm: quota, window: day, home: ap-south}").warning.text[0],
       "a home where a daemon runs is no news");
    world_stop(CAT);
    world_run(1000);
    OK(is_warned("{id: a, service: s, limit: 8, algorithm: quota, window: day, home: ap-south}",
                 "rule s/a: home is 'ap-south', where no daemon runs now: requests are refused until one does"),
       "a home that has left is");
    OK(is_warned("{id: b, service: s, limit: 8, algorithm: quota, window: day, home: ap-south/cat}",
                 "rule s/b: home is 'ap-south/cat', where no daemon runs now"),
       "and so is a daemon");
    OK(is_warned("{id: c, service: s, limit: 8, algorithm: quota, window: day, home: by_key}",
                 "home is by_key, and no daemon runs now in region 'ap-south': keys whose home it is are refused"),
       "and a region that would be the home of keys");
    OK(is_warned("{id: d, service: s, rate: 100/m, weights: {us-east: 0.25, eu-west: 0.25, ap-south: 0.5}}",
                 "weights gives 0.5 of the limit to region 'ap-south', where no daemon runs now: nobody has it"),
       "and one that has a part");
    OK(!set(ANN, "{id: e, service: s, limit: 9, algorithm: quota, window: day, home: eu-west}").warning.text[0],
       "other homes are not");
    world_links(BOB, LINK_CUT);
    world_run(10000);
    OK(is_warned("{id: e, service: s, limit: 8, algorithm: quota, window: day, home: eu-west}",
                 "rule s/e: home is 'eu-west', where no daemon runs now"),
       "until they are silent");
    world_close();
}

static void weights_beside_takeover(void)
{
    world_init(3);
    world_name_all();
    name_regions();
    for (unsigned i = 0; i < 3; i++) {
        world.host[i].options.unlisted_max = 0;
        world.host[i].options.takeover_after_ns = 30000 * MS;
    }
    world_start_all();
    world_run(5000);
    const struct rules_result result =
        set(ANN, "{id: w, service: s, rate: 100/m, weights: {us-east: 0.75, eu-west: 0.25}}");
    OK_STRING(
        result.refused ? result.error.text : "",
        "rule s/w: weights makes no sense while takeover_after is set, which gives the share of who is gone to "
        "others: expected one of them",
        "weights are refused where shares are taken over");
    world_close();
}

int main(void)
{
    refused();
    short_of();
    when_shares_change();
    weights();
    places_without_daemons();
    weights_beside_takeover();
    return tap_done();
}
