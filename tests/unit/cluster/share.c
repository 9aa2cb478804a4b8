/*
 * Shares of limits with a home: ann's region has the whole of them, and bob and cat ask there. Three nodes 40 ms apart,
 * of even weights; no overshoot.
 */
#include "tests/lib/rights_world.h"

static struct limit_terms at_home(struct limit_terms terms)
{
    terms.home = limit_home_of(bytes_of("ann's"));
    return terms;
}

static void one_token(const struct limit_terms *one)
{
    OK_U64(rights_take(BOB, "first", one, 1), 0, "a limit of 1 has nothing elsewhere at once");
    world_run(TURN_MS);
    OK_U64(rights_take(BOB, "first", one, 1), 1, "and its token a round trip later");
    OK_U64(rights_take(ANN, "first", one, 1), 0, "which is not at home any more");
    OK_U64(rights_take(ANN, "second", one, 1), 1, "at home it is there at once");
    world_run(TURN_MS);
    OK_U64(rights_take_all("second", one, 4), 0, "and nowhere else");
}

static void whole_cost(const struct limit_terms *window, const struct limit_terms *hourly,
                       const struct limit_terms *fast)
{
    struct verdict verdict = rights_take_at_once(CAT, "whole", window, 100);
    OK(!verdict.allowed && verdict.reason == VERDICT_SHARE, "a cost of the whole limit is refused for the share");
    OK(verdict.retry_after_ns >= 2 * WAY_MS * MS && verdict.retry_after_ns <= 2 * TURN_MS * MS, "for a round trip");
    world_run(TURN_MS);
    OK(rights_take_at_once(CAT, "whole", window, 100).allowed, "and is admitted then");
    OK_U64(rights_take_all("whole", window, 3), 0, "nothing is left for anybody");
    OK(rights_take_at_once(ANN, "all", window, 100).allowed, "at home it is admitted at once");
    (void)rights_take_at_once(BOB, "bucket", hourly, 100);
    world_run(TURN_MS);
    OK(rights_take_at_once(BOB, "bucket", hourly, 100).allowed, "a bucket as well");
    OK(rights_take_at_once(BOB, "beyond", fast, 100).retry_after_ns == UINT64_MAX,
       "never all of a bucket that refills a token in the time of a round trip");
}

static void burst(const struct limit_terms *window)
{
    OK_U64(rights_take(ANN, "burst", window, 100), 100, "at home a burst of all is admitted at once");
    world_run(TURN_MS);
    OK_U64(rights_take_all("burst", window, 2), 0, "and no more in all regions");
    unsigned got = rights_take(CAT, "far", window, 100);
    world_run(TURN_MS);
    got += rights_take(CAT, "far", window, 100);
    OK_U64(got, 100, "elsewhere all of it a round trip later, if clients come again");
}

static void logs(const struct limit_terms *log)
{
    OK_U64(rights_take(ANN, "log", log, 5), 5, "a log has all of it at home");
    struct verdict verdict = rights_take_at_once(BOB, "elsewhere", log, 1);
    OK(!verdict.allowed && verdict.retry_after_ns < 200 * MS, "and elsewhere a round trip later");
}

static void shares(const struct limit_terms *one)
{
    OK(rights_explain(ANN, "share", one).share == 1 && rights_explain(BOB, "share", one).share == 0 &&
           rights_explain(CAT, "share", one).share == 0,
       "one has all, and others nothing");
}

/* One daemon is at home, by its region and its name. */
static void one_daemon(void)
{
    const struct limit_terms lease = {.kind = LIMIT_LOG,
                                      .capacity = 1,
                                      .period_ns = 60000 * MS,
                                      .home = limit_home_of_daemon(bytes_of("ann's"), bytes_of("ann"))},
                             nobody = {.kind = LIMIT_CELL,
                                       .capacity = 1,
                                       .home = limit_home_of_daemon(bytes_of("bob's"), bytes_of("ann"))};
    OK(rights_explain(ANN, "daemon", &lease).share == 1 && rights_explain(BOB, "daemon", &lease).share == 0,
       "a daemon that is the home has all");
    OK_U64(rights_take(CAT, "daemon", &lease, 1), 0, "others have nothing at once");
    world_run(TURN_MS);
    OK_U64(rights_take(CAT, "daemon", &lease, 1), 1, "and all of it a round trip later");
    OK_U64(rights_take_all("daemon", &lease, 3), 0, "once");
    OK_U64(rights_take_all("nobody", &nobody, 3), 0, "a daemon of that name in another region is another one");
    const struct verdict verdict = rights_take_at_once(ANN, "nobody", &nobody, 1);
    OK(!verdict.allowed && verdict.reason == VERDICT_ISOLATION, "who is not there is out of reach");
}

/* Whoever is cut off from home has nothing; and nobody has more than the limit then. */
static void cut(const struct limit_terms *window)
{
    world_links(ANN, LINK_CUT);
    world_run(20000);
    (void)rights_take(BOB, "cut", window, 100);
    world_run(TURN_MS);
    const struct verdict verdict = rights_take_at_once(BOB, "cut", window, 1);
    OK(!verdict.allowed && verdict.reason == VERDICT_ISOLATION, "nothing is admitted while home is out of reach");
    OK_U64(rights_take(ANN, "cut", window, 200), 100, "but at home");
    world_links(ANN, LINK_FINE);
    world_run(5000);
    OK_U64(rights_take_all("cut", window, 3), 0, "which all know afterwards");
}

/* While a third one is silent, home goes on to grant. */
static void third_is_silent(const struct limit_terms *window)
{
    world_links(CAT, LINK_CUT);
    world_run(20000);
    (void)rights_take_at_once(BOB, "silent", window, 100);
    world_run(TURN_MS);
    OK(rights_take_at_once(BOB, "silent", window, 100).allowed, "what a third one does is of no matter");
    world_links(CAT, LINK_FINE);
    world_run(5000);
}

int main(void)
{
    const struct limit_terms one = at_home((struct limit_terms){.kind = LIMIT_CELL, .capacity = 1}),
                             window = at_home((struct limit_terms){.kind = LIMIT_CELL, .capacity = 100}),
                             hourly = at_home(
                                 (struct limit_terms){.capacity = 100, .rate = 100, .period_ns = 3600000 * MS}),
                             fast = at_home(
                                 (struct limit_terms){.capacity = 100, .rate = 1000, .period_ns = 1000 * MS}),
                             log = at_home(
                                 (struct limit_terms){.kind = LIMIT_LOG, .capacity = 5, .period_ns = 3600000 * MS});
    rights_world_init(3);
    rights_world_start();
    shares(&one);
    one_token(&one);
    whole_cost(&window, &hourly, &fast);
    burst(&window);
    logs(&log);
    one_daemon();
    third_is_silent(&window);
    cut(&window);
    world_close();
    return tap_done();
}
