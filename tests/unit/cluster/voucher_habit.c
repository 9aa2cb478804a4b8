/*
 * Nodes learn whether clients come back: where they do, a burst gets what others have a round trip later; where they do
 * not, nobody asks for them, and others keep what they have. Requests that go on are asked for as well. A limit that
 * refills fast is asked for as well, since little decays after a burst; who comes back after long does not count there.
 */
#include "tests/lib/rights_world.h"

#include <stdio.h>

enum { TOGETHER_MS = 25 }; /* bursts that begin within so long have come together */

static const struct limit_terms slow = {.kind = LIMIT_BUCKET,
                                        .capacity = 100,
                                        .rate = 100,
                                        .period_ns = 3600000 * MS};

static uint64_t asked(void)
{
    return world_stats(ANN).rights_asked_tokens;
}

/* A burst at ann of which the refused come back so many times; what she has got in all. */
static unsigned burst(const char *what, unsigned number, unsigned times)
{
    char key[32];
    (void)snprintf(key, sizeof key, "%s-%u", what, number);
    unsigned sum = rights_take(ANN, key, &slow, 100);
    for (unsigned i = 0; i < times; i++) {
        world_run(TURN_MS);
        sum += rights_take(ANN, key, &slow, 100 - sum);
    }
    world_run(5000);
    return sum;
}

/* Three even regions that know no client, each so far from the others. */
static void start(uint64_t way_ms)
{
    rights_world_init(3);
    for (unsigned i = 0; i < 3; i++) {
        world.host[i].options.grants_eager = false;
        for (unsigned j = 0; j < 3; j++)
            world.link[i][j].delay_ns = way_ms * MS;
    }
    rights_world_start();
}

/* Clients of whom nothing is known are taken to come back. */
static void the_first_burst_of_all(void)
{
    start(WAY_MS);
    unsigned sum = rights_take(ANN, "first", &slow, 100);
    world_run(TOGETHER_MS + TURN_MS);
    sum += rights_take(ANN, "first", &slow, 100 - sum);
    OK(sum >= 92, "the first burst of all: %u of 100 after a quarter of an interval and a round trip", sum);
    world_close();
}

/* Before others are asked, their own clients have what they come for in the same moments. */
static void first_bursts_beside_each_other(void)
{
    start(1);
    unsigned sum = rights_take(ANN, "beside", &slow, 100);
    world_run(10);
    sum += rights_take(BOB, "beside", &slow, 100);
    world_run(10);
    sum += rights_take(CAT, "beside", &slow, 100);
    OK(sum >= 90, "the first bursts of three daemons beside each other, within 20 ms: %u of 100", sum);
    world_close();
}

/* Who waits is there when the answer is: nothing is to be known of these clients. */
static void the_first_requests_wait(void)
{
    start(WAY_MS);
    (void)rights_take(ANN, "waits", &slow, 31);
    struct charge charge = charge_at(ANN, "waits", &slow, 1);
    struct await await = {.waiting_tokens = 0};
    (void)rights_await(ANN, &charge, &await);
    world_push(ANN);
    OK(await.held, "a first request waits");
    world_run(2 * WAY_MS + 2 * GATHERED_MS);
    OK(node_takes(world.host[ANN].node, &charge, world.now_ns), "it is asked for at once");
    world_close();
}

/* What waits for the first clients of a limit that fills within a second decays. */
static void the_first_burst_of_a_fast_limit(void)
{
    const struct limit_terms fast = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = 1000 * MS};
    start(WAY_MS);
    (void)rights_take(ANN, "first", &fast, 100);
    world_run(1000);
    OK_U64(asked(), 0, "the first burst of a limit that fills in a second asks for nothing");
    world_close();
}

static void nobody_comes_back(void)
{
    (void)burst("once", 0, 0);
    const uint64_t first = asked();
    OK(first > 0, "the first burst of all asks");
    for (unsigned i = 1; i < 4; i++)
        (void)burst("once", i, 0);
    OK_U64(asked(), first, "nobody has come back: nothing more is asked for");
}

static void all_come_back(void)
{
    const unsigned first = burst("again", 0, 3);
    OK(asked() > 0, "they have come back: something is asked for, and %u of 100 are admitted", first);
    (void)burst("again", 1, 3);
    const unsigned later = burst("again", 2, 1);
    OK(later >= 88, "a limit whose clients come back: %u of 100 after a round trip", later);
}

/* Clients of a new limit are taken to be like those of others. */
static void a_limit_is_new(void)
{
    const struct limit_terms fresh = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 97, .period_ns = 3600000 * MS};
    unsigned sum = rights_take(ANN, "new", &fresh, 100);
    world_run(TURN_MS);
    sum += rights_take(ANN, "new", &fresh, 100 - sum);
    OK(sum >= 75, "the first burst of a limit, where others' clients come back: %u of 100 after a round trip", sum);
    world_run(5000);
}

static void they_stay_away(void)
{
    for (unsigned i = 0; i < 4; i++)
        (void)burst("away", i, 0);
    const uint64_t before = asked();
    (void)burst("away", 5, 0);
    OK(asked() < before + 10, "they stay away: %" PRIu64 " tokens are asked for", asked() - before);
    const unsigned first = burst("back", 0, 3);
    const unsigned second = burst("back", 1, 3);
    OK(second > first || second >= 88, "and come back: %u of 100, then %u", first, second);
}

/* A hundred at once, and one more every other millisecond until so many have passed; what is admitted in all. */
static unsigned burst_that_goes_on(const char *key, const struct limit_terms *terms, unsigned until_ms)
{
    unsigned sum = rights_take(ANN, key, terms, 100);
    for (unsigned ms = 0; ms < until_ms; ms += 2) {
        world_run(2);
        sum += rights_take(ANN, key, terms, 1);
    }
    world_run(5000);
    return sum;
}

/* Nobody knows the habits of a limit that is new. That requests go on is enough. */
static void they_go_on(void)
{
    const struct limit_terms fresh = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 98, .period_ns = 3600000 * MS},
                             minutes = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 98, .period_ns = 60000 * MS};
    const uint64_t before = asked();
    (void)burst_that_goes_on("short", &fresh, 10);
    OK_U64(asked(), before, "requests that come within 10 ms are one burst: nothing is asked for");
    const unsigned sum = burst_that_goes_on("on", &minutes, 200), rest = burst_that_goes_on("rest", &minutes, 600);
    OK(sum >= 65 && sum <= 100, "a burst that goes on: %u of 100 after two round trips", sum);
    OK(rest >= 93 && rest <= 101, "and %u of it and of what has refilled after six, since the rest is asked for",
       rest);
}

/* Of 100 a second nine and a half refill until an answer, after a burst that has spent 31: nothing decays. */
static void they_come_back_to_a_fast_limit(void)
{
    const struct limit_terms fast = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = 1000 * MS};
    unsigned sum = 0, again = 0;
    for (unsigned i = 0; i < 4; i++) {
        sum = rights_take(ANN, "fast", &fast, 100);
        world_run(TURN_MS);
        again = rights_take(ANN, "fast", &fast, 100 - sum);
        world_run(5000);
    }
    OK(sum + again >= 88, "100 a second, clients come back: %u at once, %u after a round trip", sum, again);
}

/* What waits for them decays, and is missing elsewhere. */
static void they_come_back_late(void)
{
    const struct limit_terms half = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 50, .period_ns = 1000 * MS};
    const uint64_t before = asked();
    for (unsigned i = 0; i < 8; i++) {
        (void)rights_take(ANN, "late", &half, 100);
        world_run(1000);
    }
    OK_U64(asked(), before, "50 a second, a burst each second: nothing is asked for");
}

static void one_request_needs_it(void)
{
    const struct limit_terms other = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 99, .period_ns = 3600000 * MS};
    OK(!rights_take_at_once(BOB, "ninety", &other, 90).allowed, "a cost beyond any share");
    world_run(TURN_MS);
    OK(rights_take_at_once(BOB, "ninety", &other, 90).allowed, "is asked for at once, whoever comes back");
}

int main(void)
{
    the_first_burst_of_all();
    first_bursts_beside_each_other();
    the_first_requests_wait();
    the_first_burst_of_a_fast_limit();
    start(WAY_MS);
    nobody_comes_back();
    they_come_back_late();
    they_go_on();
    all_come_back();
    a_limit_is_new();
    they_stay_away();
    they_come_back_to_a_fast_limit();
    one_request_needs_it();
    world_close();
    return tap_done();
}
