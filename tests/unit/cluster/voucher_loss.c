/*
 * Requests of a twentieth to a fifth of a bucket come at random, twice as many as it refills for, and few of their
 * clients come back. What peers grant for those who were refused would decay, and the share would never pay again. So a
 * peer ends to ask for such requests, tells their clients when its share suffices, and still asks for those that wait,
 * and for those that it can never pay. Later, when the key has a burst, it asks again. Three even regions, 40 ms apart.
 */
#include "base/random.h"
#include "tests/lib/rights_world.h"

enum { CAPACITY = 100, RATE = 10, COST = 10, STEP_MS = 5, LEARNS_S = 60, COUNTS_S = 90, OVER_MS = 700000 };

static const struct limit_terms bucket = {.capacity = CAPACITY, .rate = RATE, .period_ns = 1000 * MS};
static struct random arrivals;

static uint64_t run_arrivals(const char *key, uint64_t cost, unsigned regions, unsigned seconds)
{
    const uint64_t steps_per_request = regions * 1000 / STEP_MS * cost / (2 * RATE);
    uint64_t admitted = 0;
    for (unsigned at_ms = 0; at_ms < seconds * 1000; at_ms += STEP_MS) {
        for (unsigned h = 0; h < regions; h++)
            if (random_below(&arrivals, steps_per_request) == 0)
                admitted += rights_take_at_once(h, key, &bucket, cost).allowed ? cost : 0;
        world_run(STEP_MS);
    }
    return admitted;
}

static void wastes_little(uint64_t cost, unsigned regions)
{
    char key[64];
    (void)snprintf(key, sizeof key, "%u regions, a cost of %" PRIu64, regions, cost);
    random_seed(&arrivals, 1);
    (void)run_arrivals(key, cost, regions, LEARNS_S);
    const uint64_t admitted = run_arrivals(key, cost, regions, COUNTS_S), refills = RATE * COUNTS_S;
    OK(admitted * 100 >= refills * 85 && admitted <= refills + CAPACITY,
       "%s: %" PRIu64 " of %" PRIu64 " tokens that refill are used", key, admitted, refills);
}

/* Until one is refused. */
static struct verdict refusal(const char *key)
{
    struct verdict verdict = {.allowed = true};
    for (unsigned i = 0; i < CAPACITY / COST && verdict.allowed; i++)
        verdict = rights_take_at_once(ANN, key, &bucket, COST);
    return verdict;
}

static void says_when_the_share_suffices(const char *key)
{
    const uint64_t asked = world_stats(ANN).rights_asked;
    const struct verdict verdict = refusal(key);
    OK(!verdict.allowed && verdict.reason == VERDICT_SHARE, "who is refused is told to come after %" PRIu64 " ms",
       verdict.retry_after_ns / MS);
    world_run((unsigned)(verdict.retry_after_ns / MS) + 1);
    OK(rights_take_at_once(ANN, key, &bucket, COST).allowed, "... and is admitted then");
    OK_U64(world_stats(ANN).rights_asked, asked, "... without an ask");
}

static void still_asks(const char *key)
{
    uint64_t asked = world_stats(ANN).rights_asked;
    (void)refusal(key);
    struct charge charge = charge_at(ANN, key, &bucket, COST);
    struct await await = {0};
    (void)rights_await(ANN, &charge, &await);
    world_run(TURN_MS);
    OK(await.held && world_stats(ANN).rights_asked > asked, "peers are asked for what a request waits for");
    world_run(6000);
    asked = world_stats(ANN).rights_asked;
    const struct verdict verdict = rights_take_at_once(ANN, key, &bucket, COST * 5);
    world_run(TURN_MS);
    OK(!verdict.allowed && verdict.reason == VERDICT_SHARE && world_stats(ANN).rights_asked > asked,
       "... and for what the share can never pay");
}

static void forgets(const char *key)
{
    world_run(OVER_MS);
    unsigned got = rights_take(ANN, key, &bucket, CAPACITY);
    world_run(TURN_MS);
    got += rights_take(ANN, key, &bucket, CAPACITY);
    OK(got >= 80, "a burst later gets %u of %u after a round trip", got, CAPACITY);
}

int main(void)
{
    rights_world_init(3);
    rights_world_start();
    for (unsigned regions = 1; regions <= 3; regions += 2)
        for (uint64_t cost = 5; cost <= 20; cost *= 2)
            wastes_little(cost, regions);
    const char *key = "1 regions, a cost of 10";
    (void)run_arrivals(key, COST, 1, LEARNS_S);
    says_when_the_share_suffices(key);
    still_asks(key);
    forgets(key);
    const struct node_stats ann = world_stats(ANN);
    OK(ann.rights_received_tokens >= ann.rights_used_tokens + ann.rights_returned_tokens &&
           ann.rights_decayed_tokens > 0,
       "INFO counts what has decayed");
    world_close();
    return tap_done();
}
