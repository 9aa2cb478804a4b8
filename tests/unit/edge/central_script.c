/*
 * The script in a real redis-server, at times that the test gives it, beside the buckets of src/limit at the same
 * times: what one admits, refuses and says, the other does.
 */
#include "edge/central/central_script.h"

#include "base/random.h"
#include "limit/bucket.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/limits.h"
#include "tests/lib/script_store.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = TAP_SLOW ? 300 : 2000 };
#define SECOND_NS UINT64_C(1000000000)
#define BEGUN_US UINT64_C(1790000000000000)

static struct script_store store;

static struct central_answer call(enum central_way way, const struct central_charge *charges, uint32_t count,
                                  uint64_t now_us)
{
    return script_store_call(&store, way, charges, count, now_us);
}

static struct central_answer take(const struct central_charge *charge, uint64_t now_us)
{
    return call(CENTRAL_TAKE, charge, 1, now_us);
}

static struct central_charge charge_of(const struct limit *limit, uint64_t id, uint64_t cost)
{
    struct central_charge charge = {.id = {id, id}, .cost = cost, .capacity = limit->capacity};
    const bool fits = coarse_units(limit, &charge.coarse);
    assert(fits);
    return charge;
}

static uint64_t us_of(uint64_t ns)
{
    return ns == UINT64_MAX ? UINT64_MAX : (ns + 999) / 1000;
}

/* ---- buckets ---- */

/* Times are whole ticks of both. */
static bool buckets_agree(const struct limit *limit, uint64_t id, uint64_t seed)
{
    struct random random;
    struct budget budget;
    struct bucket bucket;
    uint64_t now_us = BEGUN_US;
    random_seed(&random, seed);
    budget_init(&budget, limit, SHARE_ONE, true);
    bucket_fill(&bucket, limit, now_us * 1000, 0);
    const uint64_t tick_us = charge_of(limit, id, 1).coarse.tick_us,
                   token_us = limit->period_ns / limit->rate / 1000;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const uint64_t most = random_below(&random, 4) == 0 ? limit->capacity + 1 : limit->capacity / 8 + 1;
        struct central_charge charge = charge_of(limit, id, random_below(&random, most + 1));
        charge.floor_tokens = random_below(&random, 3) == 0 ? random_below(&random, limit->capacity + 1) : 0;
        const uint64_t step_us =
            random_below(&random, 2) == 0 ? 0 : random_below(&random, 4 * token_us + 2 * tick_us);
        now_us += step_us * (1 + random_below(&random, 8)) / tick_us * tick_us;
        bucket_refill(&bucket, limit, &budget, now_us * 1000);
        const uint64_t retry_ns = bucket_retry_after_ns(&bucket, limit, &budget,
                                                        &(struct bucket_wait){.cost = charge.cost,
                                                                              .floor_tokens = charge.floor_tokens,
                                                                              .now_ns = now_us * 1000,
                                                                              .settle_ns = UINT64_MAX});
        const bool allowed = bucket_take(&bucket, limit, &budget, charge.cost, charge.floor_tokens, now_us * 1000);
        const struct central_answer answer = take(&charge, now_us);
        const struct central_figures *figures = &answer.figures[0];
        if (answer.allowed == allowed && figures->allowed == allowed &&
            figures->remaining_tokens == bucket_remaining(&bucket, limit, charge.floor_tokens) &&
            figures->retry_after_us == us_of(retry_ns) &&
            figures->reset_after_us == us_of(bucket_reset_after_ns(&bucket, limit, now_us * 1000, 0)))
            continue;
        printf("# round %u, cost %" PRIu64 ", floor %" PRIu64 ": the bucket %s, %" PRIu64 " left, retry %" PRIu64
               "; the script %s, %" PRIu64 ", %" PRIu64 ", reset %" PRIu64 "\n",
               i, charge.cost, charge.floor_tokens, allowed ? "allows" : "refuses",
               bucket_remaining(&bucket, limit, charge.floor_tokens), us_of(retry_ns),
               answer.allowed ? "allows" : "refuses", figures->remaining_tokens, figures->retry_after_us,
               figures->reset_after_us);
        return false;
    }
    return true;
}

static void test_buckets(void)
{
    const struct limit limits[] = {bucket_limit(100, 100, SECOND_NS, 0),
                                   bucket_limit(20, 100, 60 * SECOND_NS, 0),
                                   bucket_limit(1, 1, 60 * SECOND_NS, 0),
                                   bucket_limit(1000000, 999983, SECOND_NS, 0),
                                   bucket_limit(10000, 9973, 86400 * SECOND_NS, 0),
                                   bucket_limit(LIMIT_CAPACITY_MAX, LIMIT_CAPACITY_MAX, SECOND_NS, 0),
                                   bucket_limit(7, 3, 7 * SECOND_NS, 0)};
    for (uint64_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        OK(buckets_agree(&limits[i], 100 + i, i), "%" PRIu64 " tokens, %" PRIu64 " in %" PRIu64 " ns: as a bucket",
           limits[i].capacity, limits[i].rate, limits[i].period_ns);
    const struct limit huge = bucket_limit(9999999967, 999983, 86400 * SECOND_NS, 0);
    struct coarse coarse;
    OK(!coarse_units(&huge, &coarse), "what does not fit 53 bits is known to");
}

/* ---- windows ---- */

static void test_windows(void)
{
    struct central_charge charge = {.id = {7, 7}, .cost = 1, .capacity = 10, .window_us = 900 * 1000000};
    const uint64_t start_us = BEGUN_US - BEGUN_US % charge.window_us;
    uint32_t allowed = 0;
    for (uint32_t i = 0; i < 12; i++)
        allowed += take(&charge, start_us + 1000 + i).allowed;
    OK(allowed == 10, "a window admits its limit: %u", allowed);
    const struct central_answer refused = take(&charge, start_us + 5000);
    OK_U64(refused.figures[0].retry_after_us, charge.window_us - 5000, "and then nothing until it ends");
    OK_U64(refused.figures[0].reset_after_us, charge.window_us - 5000, "when all is there again");
    OK(!take(&charge, start_us + charge.window_us - 1).allowed, "to its last microsecond");
    const struct central_answer next = take(&charge, start_us + charge.window_us);
    OK(next.allowed && next.figures[0].remaining_tokens == 9, "the next window begins with its first");
    OK(take(&charge, start_us + charge.window_us - 1).figures[0].remaining_tokens == 8,
       "a clock that goes back counts on in the later one");
    charge.cost = 11;
    OK_U64(take(&charge, start_us + charge.window_us).figures[0].retry_after_us, UINT64_MAX,
           "what is larger than the limit never comes");
    charge =
        (struct central_charge){.id = {8, 8}, .cost = 5, .floor_tokens = 6, .capacity = 10, .window_us = 1000000};
    OK(!take(&charge, start_us).allowed, "a floor is left to others");
    charge.floor_tokens = 5;
    OK(take(&charge, start_us).allowed && !take(&charge, start_us).allowed, "and no more than that");
    charge.window_us = 2000000;
    charge.floor_tokens = 0;
    OK_U64(take(&charge, start_us).figures[0].remaining_tokens, 5, "a window of another length begins anew");
}

/* ---- several keys, and giving back ---- */

static void test_together(void)
{
    const struct limit limit = bucket_limit(10, 1, SECOND_NS, 0);
    struct central_charge both[2] = {charge_of(&limit, 20, 1),
                                     {.id = {21, 21}, .cost = 1, .capacity = 3, .window_us = 3600000000}};
    uint32_t allowed = 0;
    struct central_answer answer;
    for (uint32_t i = 0; i < 5; i++) {
        answer = call(CENTRAL_TAKE, both, 2, BEGUN_US);
        allowed += answer.allowed;
    }
    OK(allowed == 3, "the tighter of two decides: %u", allowed);
    OK(!answer.allowed && answer.figures[0].allowed && !answer.figures[1].allowed, "each says what it thinks");
    OK_U64(answer.figures[0].remaining_tokens, 7, "the other one is not charged for what is refused");
    answer = call(CENTRAL_PEEK, both, 1, BEGUN_US);
    OK(answer.allowed && answer.figures[0].remaining_tokens == 7, "who only looks takes nothing");
}

static void test_returns(void)
{
    const struct limit limit = bucket_limit(10, 1, SECOND_NS, 0);
    struct central_charge charge = charge_of(&limit, 30, 4);
    charge.stamp = take(&charge, BEGUN_US).figures[0].stamp;
    OK_U64(take(&charge, BEGUN_US + 1).figures[0].remaining_tokens, 2, "eight of ten are taken");
    OK_U64(call(CENTRAL_RETURN, &charge, 1, BEGUN_US + 2).figures[0].remaining_tokens, 6, "four are given back");
    charge.cost = 10;
    OK(!take(&charge, BEGUN_US + 3000000).allowed, "of which six are left, and nine with the refill");
    charge.cost = 1;
    charge.stamp = take(&charge, BEGUN_US + 3000000).figures[0].stamp;
    OK_U64(take(&charge, BEGUN_US + 60000000).figures[0].remaining_tokens, 9, "the bucket was full");
    charge.cost = 1;
    OK_U64(call(CENTRAL_RETURN, &charge, 1, BEGUN_US + 60000001).figures[0].remaining_tokens, 9,
           "what it had given before is not given back a second time");
    struct central_charge window = {.id = {31, 31}, .cost = 2, .capacity = 5, .window_us = 60000000};
    const uint64_t start_us = BEGUN_US - BEGUN_US % window.window_us;
    window.stamp = take(&window, start_us).figures[0].stamp;
    OK_U64(call(CENTRAL_RETURN, &window, 1, start_us + 1).figures[0].remaining_tokens, 5,
           "a window gets tokens back");
    (void)take(&window, start_us + 1);
    (void)take(&window, start_us + window.window_us);
    OK_U64(call(CENTRAL_RETURN, &window, 1, start_us + window.window_us).figures[0].remaining_tokens, 3,
           "but not those of the window before");
}

/* ---- in advance ---- */

/* A thread with tokens in hand, which it uses as late as it may. */
struct hand {
    uint64_t tokens, until_us, stamp;
};

/*
 * Three threads take in advance, in bursts from a bucket that is full, and use that at the last moment, or give it
 * back. A bucket of src/limit is charged with everything when it is used, and must admit all of it. Returns what it
 * refused.
 */
static uint64_t refused_of_leases(const struct limit *limit, uint64_t id, uint64_t *admitted)
{
    enum { THREADS = 3, TURNS = TAP_SLOW ? 2000 : 12000 };
    struct random random;
    struct budget budget;
    struct bucket judge;
    struct hand hand[THREADS] = {{0}};
    uint64_t now_us = BEGUN_US, refused = 0;
    random_seed(&random, id);
    budget_init(&budget, limit, SHARE_ONE, true);
    bucket_fill(&judge, limit, now_us * 1000, 0);
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        struct hand *own = &hand[random_below(&random, THREADS)];
        now_us += random_below(&random, 300) == 0 ? 2000000 : random_below(&random, 4000);
        for (uint32_t i = 0; i < THREADS; i++) { /* what would be late by now was used at the last moment */
            if (hand[i].tokens == 0 || hand[i].until_us > now_us)
                continue;
            const uint64_t used = random_below(&random, 3) == 0 ? hand[i].tokens / 2 : hand[i].tokens;
            refused += bucket_take(&judge, limit, &budget, used, 0, hand[i].until_us * 1000) ? 0 : used;
            *admitted += used;
            struct central_charge rest = charge_of(limit, id, hand[i].tokens - used);
            rest.stamp = hand[i].stamp;
            if (rest.cost > 0)
                (void)call(CENTRAL_RETURN, &rest, 1, hand[i].until_us);
            hand[i].tokens = 0;
        }
        struct central_charge piece = charge_of(limit, id, limit->capacity / 50);
        for (bool more = random_below(&random, 20) == 0; more;) { /* all that is left, at once */
            more = take(&piece, now_us).allowed;
            refused += more && !bucket_take(&judge, limit, &budget, piece.cost, 0, now_us * 1000) ? piece.cost : 0;
            *admitted += more ? piece.cost : 0;
        }
        if (own->tokens > 0)
            continue;
        struct central_charge charge = charge_of(limit, id, 1 + random_below(&random, limit->capacity / 50));
        charge.extra = random_below(&random, limit->capacity);
        const struct central_answer answer = take(&charge, now_us);
        if (!answer.allowed)
            continue;
        refused += bucket_take(&judge, limit, &budget, charge.cost, 0, now_us * 1000) ? 0 : charge.cost;
        *admitted += charge.cost;
        *own = (struct hand){answer.figures[0].extra, now_us + SCRIPT_SPAN_US, answer.figures[0].stamp};
    }
    return refused;
}

/*
 * Grants, with and without tokens in advance, come back unused after up to two seconds, while others empty the bucket.
 * The same bucket of src/limit judges: what others were admitted is the limit's at most.
 */
static uint64_t refused_of_late_returns(const struct limit *limit, uint64_t id, uint64_t *admitted)
{
    enum { GRANTS = 3, TURNS = TAP_SLOW ? 2000 : 12000 };
    struct random random;
    struct budget budget;
    struct bucket judge;
    struct late_grant {
        struct central_charge charge;
        uint64_t until_us;
    } grant[GRANTS] = {{.until_us = 0}};
    uint64_t now_us = BEGUN_US, refused = 0;
    random_seed(&random, id);
    budget_init(&budget, limit, SHARE_ONE, true);
    bucket_fill(&judge, limit, now_us * 1000, 0);
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        now_us += random_below(&random, 30) == 0 ? 3000000 : random_below(&random, 60000);
        struct late_grant *own = &grant[random_below(&random, GRANTS)];
        if (own->until_us == 0) {
            own->charge = charge_of(limit, id, 1 + random_below(&random, limit->capacity / 2));
            own->charge.extra = random_below(&random, 2) * random_below(&random, limit->capacity);
            const struct central_answer answer = take(&own->charge, now_us);
            own->charge.stamp = answer.figures[0].stamp;
            own->charge.cost += answer.figures[0].extra;
            own->until_us = answer.allowed
                                ? now_us + random_below(&random, random_below(&random, 2) == 0 ? 2000000 : 100000)
                                : 0;
        } else if (own->until_us <= now_us) {
            (void)call(CENTRAL_RETURN, &own->charge, 1, now_us);
            own->until_us = 0;
        }
        struct central_charge piece = charge_of(limit, id, limit->capacity / 50);
        for (bool more = random_below(&random, 4) == 0; more;) { /* all that is left, at once */
            more = take(&piece, now_us).allowed;
            refused += more && !bucket_take(&judge, limit, &budget, piece.cost, 0, now_us * 1000) ? piece.cost : 0;
            *admitted += more ? piece.cost : 0;
        }
    }
    return refused;
}

static void test_late_returns(void)
{
    const struct limit limit = bucket_limit(1000, 500, SECOND_NS, 0),
                       slow = bucket_limit(500, 999, 3 * SECOND_NS, 0);
    uint64_t admitted = 0;
    OK_U64(refused_of_late_returns(&limit, 70, &admitted), 0, "what comes back late is never more than the limit");
    OK(admitted > limit.capacity * 4, "of all that others had: %" PRIu64, admitted);
    OK_U64(refused_of_late_returns(&slow, 71, &admitted), 0, "of another rate as well");
    struct central_charge charge = charge_of(&limit, 72, 1);
    charge.extra = 400;
    const struct central_answer answer = take(&charge, BEGUN_US);
    OK_U64(answer.figures[0].extra, 400, "400 in advance");
    charge.cost = 400;
    charge.stamp = answer.figures[0].stamp;
    OK_U64(call(CENTRAL_RETURN, &charge, 1, BEGUN_US + SCRIPT_SPAN_US).figures[0].remaining_tokens, 999,
           "come back whole within their span");
}

static void test_leases(void)
{
    const struct limit limit = bucket_limit(1000, 1000, SECOND_NS, 0),
                       slow = bucket_limit(500, 999, 3 * SECOND_NS, 0);
    uint64_t admitted = 0;
    OK_U64(refused_of_leases(&limit, 60, &admitted), 0, "what is taken in advance is never more than the limit");
    OK(admitted > limit.capacity * 4, "of all that is used: %" PRIu64, admitted);
    OK_U64(refused_of_leases(&slow, 61, &admitted), 0, "of another rate as well");
    struct central_charge window = {.id = {62, 62},
                                    .cost = 1,
                                    .capacity = 101,
                                    .window_us = 3600000000,
                                    .extra = 30};
    OK_U64(take(&window, BEGUN_US).figures[0].extra, 30, "a window gives in advance as well");
    OK_U64(take(&window, BEGUN_US).figures[0].extra, 30, "again");
    OK_U64(take(&window, BEGUN_US).figures[0].extra, 19, "and half of what is left");
    OK_U64(take(&window, BEGUN_US).figures[0].remaining_tokens, 9, "at most");
    struct central_charge nothing = {.id = {63, 63}, .capacity = 100, .window_us = 3600000000, .extra = 30};
    OK_U64(take(&nothing, BEGUN_US).figures[0].extra, 30, "who asks for nothing may take in advance");
    OK_U64(call(CENTRAL_PEEK, &nothing, 1, BEGUN_US).figures[0].remaining_tokens, 70, "which is charged");
}

enum { SCRIPT_BYTES = 16384 };

static char lasting[SCRIPT_BYTES];

/* Has the store run `text` with one piece of it replaced, which is written to `changed`. */
static void load(char changed[SCRIPT_BYTES], const char *text, const char *piece, const char *instead)
{
    const char *at = strstr(text, piece);
    assert(at != NULL && strlen(text) + strlen(instead) < SCRIPT_BYTES);
    (void)snprintf(changed, SCRIPT_BYTES, "%.*s%s%s", (int)(at - text), text, instead, at + strlen(piece));
    const bool good = script_store_load(&store, changed);
    assert(good);
}

/* Keys end by the real clock of the store, and a test has times of its own, which a busy machine overtakes. */
static void load_lasting(void)
{
    load(lasting, central_script, "math.ceil(reset / 1000) + 1)", "math.ceil(reset / 1000) + 3600000)");
}

static void plant(const char *piece, const char *instead)
{
    static char planted[SCRIPT_BYTES];
    load(planted, lasting, piece, instead);
}

static void test_planted(void)
{
    static const struct {
        const char *piece, *instead, *what;
    } bugs[] = {
        {"c[1] * q - past * p", "c[1] * q", "a bucket that refills what comes back as well"},
        {"c[8] > 0 and math.floor(span / tick) or 0", "math.floor(span / tick)",
         "a span for what was in nobody's hand"},
    };
    const struct limit limit = bucket_limit(1000, 500, SECOND_NS, 0);
    for (size_t i = 0; i < sizeof bugs / sizeof bugs[0]; i++) {
        uint64_t admitted, refused = 0;
        plant(bugs[i].piece, bugs[i].instead);
        for (uint64_t seed = 0; seed < 8 && refused == 0; seed++)
            refused = refused_of_late_returns(&limit, 80 + 8 * i + seed, &admitted);
        OK(refused > 0, "the bucket finds %s", bugs[i].what);
    }
    load_lasting();
}

/* Used tokens stay used. */
static void test_change(void)
{
    const struct limit before = bucket_limit(100, 100, 60 * SECOND_NS, 0),
                       more = bucket_limit(200, 7, SECOND_NS, 0), less = bucket_limit(50, 100, 60 * SECOND_NS, 0);
    struct central_charge charge = charge_of(&before, 40, 80);
    (void)take(&charge, BEGUN_US);
    charge = charge_of(&more, 40, 0);
    OK_U64(take(&charge, BEGUN_US).figures[0].remaining_tokens, 120,
           "80 of 100 used, changed to 200: 120 are left");
    charge = charge_of(&less, 40, 0);
    OK_U64(take(&charge, BEGUN_US).figures[0].remaining_tokens, 0, "changed to 50: none is");
}

static bool is_gone(uint64_t id)
{
    redisReply *reply = redisCommand(store.redis.client, "EXISTS test:%016" PRIx64 "%016" PRIx64, id, id);
    const bool gone = reply->integer == 0;
    freeReplyObject(reply);
    return gone;
}

/* By the server's own clock. */
static void test_clock(void)
{
    const struct limit limit = bucket_limit(5, 1, 3600 * SECOND_NS, 0);
    struct central_charge charge = charge_of(&limit, 50, 2);
    OK(take(&charge, 0).allowed && take(&charge, 0).allowed && !take(&charge, 0).allowed, "five admit two twice");
    OK(!is_gone(50), "the key is there");
    const struct limit fast = bucket_limit(1000, 1000, SECOND_NS, 0);
    charge = charge_of(&fast, 51, 1);
    (void)take(&charge, 0);
    uint32_t looks = 0;
    while (!is_gone(51) && looks < 100000)
        looks++;
    OK(is_gone(51), "a key that is full again takes no memory");
}

int main(void)
{
    if (!script_store_start(&store)) {
        tap_skip("the script in a redis-server", "there is no redis-server here");
        return tap_done();
    }
    load_lasting();
    test_buckets();
    test_windows();
    test_together();
    test_returns();
    test_leases();
    test_late_returns();
    test_planted();
    test_change();
    const bool good = script_store_load(&store, central_script);
    assert(good);
    test_clock();
    script_store_stop(&store);
    return tap_done();
}
