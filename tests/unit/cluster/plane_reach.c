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

int main(void)
{
    refused();
    short_of();
    when_shares_change();
    return tap_done();
}
