/*
 * CHECK with DRAIN takes what is left: its answers, and a model of a window that gives out its tokens one by one.
 */
#include "base/random.h"
#include "tests/lib/served.h"

static void answers(void)
{
    OK(set_rules("rules:\n"
                 "- {id: bytes, service: drain, algorithm: fixed_window, limit: 100, window: 1h}\n"
                 "- {id: all, service: drain, by: [], algorithm: fixed_window, limit: 150, window: 1h}\n"
                 "- {id: try, service: drain, by: [], rate: 1/h, mode: shadow}\n"
                 "- {id: no, service: drain, by: ip, rate: 0}\n"),
       "four rules");
    OK(strncmp(served_ask("CHECK a SERVICE drain COST 60 DRAIN"), "[1 100 40 0 ", 12) == 0 && served_told(" 60]"),
       "what fits is taken whole: %s", served.told);
    OK(strncmp(served_ask("CHECK a SERVICE drain COST 60 DRAIN"), "[1 100 0 0 ", 11) == 0 && served_told(" 40]"),
       "else what is left: %s", served.told);
    OK(strncmp(served_ask("CHECK a SERVICE drain COST 60 DRAIN"), "[0 100 0 ", 9) == 0 && served_told(" 0]"),
       "or nothing: %s", served.told);
    OK(strncmp(served_ask("CHECK b SERVICE drain COST 60 DRAIN"), "[1 150 0 0 ", 11) == 0 &&
           served_told("'all' 50]"),
       "the same of all rules, as the narrowest lets it: %s", served.told);
    OK(strncmp(served_ask("CHECK b SERVICE drain COST 60 RULE bytes DRAIN"), "[1 100 0 0 ", 11) == 0 &&
           served_told(" 50]"),
       "no more was charged to the others: %s", served.told);
    OK_STRING(served_ask("CHECK c ip=1 SERVICE drain DRAIN"), "[0 0 0 -1 0 'no' 0]",
              "a rule that denies lets nothing");
    OK(strncmp(served_ask("CHECK c SERVICE drain COST 0 DRAIN"), "[1 ", 3) == 0 && served_told(" 0]"),
       "a cost of 0 only asks: %s", served.told);
    (void)served_ask("CHECK c SERVICE drain COST 7 RULE bytes DRAIN VERBOSE WAIT");
    OK(served_told("'bytes' 7 0 [['rule' 'bytes' "), "with the figures of the rules: %s", served.told);
    OK(strncmp(served_ask("PEEK c DRAIN"), "!ERR unknown option 'DRAIN'", 27) == 0, "PEEK takes nothing: %s",
       served.told);
}

/* Who drains waits for a token, whatever the cost: no cost is too much. */
static void waits(void)
{
    OK(set_rules("rules:\n"
                 "- {id: slow, service: waits, algorithm: token_bucket, rate: 60/m, burst: 10}\n"
                 "- {id: half, service: waits, by: ip, algorithm: token_bucket, rate: 60/m, burst: 10}\n"),
       "two buckets");
    OK_STRING(served_ask("CHECK a SERVICE waits COST 11 DRAIN"), "[1 10 0 0 10000 'slow' 10]", "all of a bucket");
    OK_STRING(served_ask("CHECK a SERVICE waits COST 11 DRAIN"), "[0 10 0 1000 10000 'slow' 0]",
              "a cost above the limit waits for one token");
    OK_STRING(served_ask("CHECK a SERVICE waits COST 9 DRAIN"), "[0 10 0 1000 10000 'slow' 0]",
              "and so does one below");
    OK_STRING(served_ask("CHECK a SERVICE waits COST 11"), "[0 10 0 -1 10000 'slow']", "unless all is wanted");
    OK_STRING(served_ask("CHECK ip=1 user=a SERVICE waits COST 11 DRAIN"), "[0 10 0 1000 10000 'slow' 0]",
              "and of several rules for the one that has none");
    served.now_ns += 1000000000;
    OK_STRING(served_ask("CHECK a SERVICE waits COST 11 DRAIN"), "[1 10 0 0 10000 'slow' 1]", "and gets it then");
    OK_STRING(served_ask("CHECK ip=1 SERVICE waits COST 9 DRAIN"), "[1 10 1 0 9000 'half' 9]",
              "nobody else was charged");
}

/* What is taken in all is the limit, and a request gets less than it asks for only where no more is left. */
static void model(void)
{
    enum { ROUNDS = 200, LIMIT = 5000 };
    struct random random;
    uint64_t left = LIMIT, wrong = 0;
    random_seed(&random, 5);
    OK(set_rules("{id: w, service: model, algorithm: fixed_window, limit: 5000, window: 1h}"), "a window");
    for (int i = 0; i < ROUNDS; i++) {
        char text[80];
        const uint64_t cost = random_below(&random, 120) + 1, expected = cost < left ? cost : left;
        const bool drains = random_below(&random, 2) == 0;
        (void)snprintf(text, sizeof text, "CHECK u SERVICE model COST %u%s", (unsigned)cost,
                       drains ? " DRAIN" : "");
        (void)served_ask(text);
        const bool allowed = strncmp(served.told, "[1 ", 3) == 0;
        (void)snprintf(text, sizeof text, " %u]", (unsigned)expected);
        if (drains)
            wrong += !served_told(text) || allowed != (expected > 0);
        else
            wrong += allowed != (cost <= left);
        left -= drains ? expected : cost <= left ? cost : 0;
    }
    OK_U64(wrong, 0, "%d requests take what a model says", ROUNDS);
    OK_U64(left, 0, "until nothing is left");
}

int main(void)
{
    served_open();
    answers();
    waits();
    model();
    served_close();
    return tap_done();
}
