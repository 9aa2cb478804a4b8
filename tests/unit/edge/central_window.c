/*
 * Windows that begin with the first request, in a real redis-server: beside a plain model of INCR and EXPIRE, at the
 * same times, and with what threads take in advance. Scripts with planted bugs show that the models would find them.
 */
#include "edge/central/central_script.h"

#include "base/number.h"
#include "base/random.h"
#include "tests/lib/script_store.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = TAP_SLOW ? 400 : 3000 };
#define SECOND_US UINT64_C(1000000)
#define BEGUN_US UINT64_C(1790000000123457)

static struct script_store store;

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static struct central_charge charge_of(uint64_t id, uint64_t cost, uint64_t capacity, uint64_t window_us)
{
    return (struct central_charge){.id = {id, id},
                                   .cost = cost,
                                   .capacity = capacity,
                                   .window_us = window_us,
                                   .from_first = true};
}

static struct central_answer call(enum central_way way, const struct central_charge *charge, uint64_t now_us)
{
    return script_store_call(&store, way, charge, 1, now_us);
}

static struct central_figures take(const struct central_charge *charge, uint64_t now_us)
{
    return call(CENTRAL_TAKE, charge, now_us).figures[0];
}

/* ---- what one sees ---- */

static void test_one(void)
{
    struct central_charge charge = charge_of(1, 1, 3, 60 * SECOND_US);
    const uint64_t begun_us = BEGUN_US;
    struct central_figures figures = call(CENTRAL_PEEK, &charge, begun_us - 5 * SECOND_US).figures[0];
    OK(figures.allowed && figures.remaining_tokens == 3 && figures.reset_after_us == 0,
       "who looks begins no window");
    figures = take(&charge, begun_us);
    OK_U64(figures.reset_after_us, 60 * SECOND_US, "the first request begins one, whatever the clock says");
    OK_U64(figures.remaining_tokens, 2, "of which it takes one");
    figures = take(&charge, begun_us + 59 * SECOND_US);
    OK_U64(figures.reset_after_us, SECOND_US, "a later one does not move its end");
    (void)take(&charge, begun_us + 59 * SECOND_US);
    figures = take(&charge, begun_us + 60 * SECOND_US - 1);
    OK(!figures.allowed && figures.retry_after_us == 1, "refused up to the last microsecond, which it says");
    figures = call(CENTRAL_PEEK, &charge, begun_us + 60 * SECOND_US).figures[0];
    OK(figures.allowed && figures.reset_after_us == 0, "then the whole limit is there, and no window runs");
    OK_U64(take(&charge, begun_us + 70 * SECOND_US).reset_after_us, 60 * SECOND_US, "until the next request");
    figures = take(&charge, begun_us + 10 * SECOND_US);
    OK(figures.remaining_tokens == 1 && figures.reset_after_us == 120 * SECOND_US,
       "a clock that goes back does not begin a window anew");
    charge.cost = 4;
    figures = take(&charge, begun_us + 300 * SECOND_US);
    OK(!figures.allowed && figures.retry_after_us == UINT64_MAX, "what is larger than the limit never comes");
    charge.cost = 0;
    OK(take(&charge, begun_us + 300 * SECOND_US).allowed, "who asks for nothing is allowed");
    charge.cost = 1;
    OK_U64(take(&charge, begun_us + 310 * SECOND_US).reset_after_us, 60 * SECOND_US, "and begins no window");
    charge.cost = 1;
    charge.floor_tokens = 2;
    OK(!take(&charge, begun_us + 311 * SECOND_US).allowed, "a floor is left to others");
}

static void test_returns(void)
{
    struct central_charge charge = charge_of(10, 2, 5, 60 * SECOND_US);
    charge.stamp = take(&charge, BEGUN_US).stamp;
    struct central_charge other = charge_of(10, 1, 5, 60 * SECOND_US);
    (void)take(&other, BEGUN_US + SECOND_US);
    struct central_figures figures = call(CENTRAL_RETURN, &charge, BEGUN_US + 2 * SECOND_US).figures[0];
    OK(figures.remaining_tokens == 4 && figures.reset_after_us == 58 * SECOND_US,
       "what is given back is there again, and the window goes on");
    other.stamp = take(&other, BEGUN_US + 61 * SECOND_US).stamp;
    OK_U64(call(CENTRAL_RETURN, &charge, BEGUN_US + 61 * SECOND_US).figures[0].remaining_tokens, 4,
           "a spend of a former window gives the next one nothing back");
    (void)call(CENTRAL_RETURN, &other, BEGUN_US + 62 * SECOND_US);
    OK_U64(take(&other, BEGUN_US + 63 * SECOND_US).reset_after_us, 60 * SECOND_US,
           "a window of which all was given back has not begun");
}

/* What is used stays used, whichever way the rule is changed. */
static void test_changes(void)
{
    struct central_charge first = charge_of(20, 4, 10, 60 * SECOND_US), clock = first;
    const uint64_t minute_us = BEGUN_US - BEGUN_US % (60 * SECOND_US);
    clock.from_first = false;
    (void)take(&first, minute_us + 50 * SECOND_US);
    struct central_figures figures = take(&clock, minute_us + 61 * SECOND_US);
    OK(figures.remaining_tokens == 2 && figures.reset_after_us == 59 * SECOND_US,
       "to windows of the clock: the end is that of the clock");
    figures = take(&first, minute_us + 62 * SECOND_US);
    OK(!figures.allowed && figures.retry_after_us == 58 * SECOND_US, "and back");
    OK(take(&first, minute_us + 120 * SECOND_US).allowed, "the window of the clock ends as ever");
    first.window_us = 10 * SECOND_US;
    OK_U64(take(&first, minute_us + 121 * SECOND_US).remaining_tokens, 6, "a window of another length begins anew");
    first.capacity = 5;
    OK(!take(&first, minute_us + 122 * SECOND_US).allowed, "a smaller limit counts what is used");
}

/* Time that the store has left for the key, in ms. */
static long long left_ms(const struct central_charge *charge)
{
    redisReply *reply =
        redisCommand(store.redis.client, "PTTL test:%016" PRIx64 "%016" PRIx64, charge->id.high, charge->id.low);
    const long long left = reply->integer;
    freeReplyObject(reply);
    return left;
}

/* On a busy machine a window may be over before the second request: another key has another try. */
static void test_expiry(void)
{
    struct central_charge charge = charge_of(30, 1, 1, 300000);
    unsigned tries = 0;
    bool refused = false;
    long long left = 0;
    for (; tries < 20 && (!refused || left <= 0); tries++) {
        charge.id.low++;
        refused = take(&charge, 0).allowed && !take(&charge, 0).allowed;
        left = left_ms(&charge);
    }
    OK(refused, "by the clock of the store (%u tries)", tries);
    OK(left > 0 && left <= 301, "the key of a window ends with it: %lld ms", left);
    uint32_t asked = 0;
    while (asked < 1000000 && !take(&charge, 0).allowed)
        asked++;
    OK(asked < 1000000, "a window ends there by itself, and the next request begins one");
}

/* ---- a script whose keys last ---- */

enum { SCRIPT_BYTES = 16384 };

static char lasting[SCRIPT_BYTES];

/* Has the store run `text` with one piece of it replaced, which is written to `changed`. */
static void load(char changed[SCRIPT_BYTES], const char *text, const char *piece, const char *instead)
{
    const char *at = strstr(text, piece);
    assert(at != NULL);
    const int size =
        snprintf(changed, SCRIPT_BYTES, "%.*s%s%s", (int)(at - text), text, instead, at + strlen(piece));
    assert(size > 0 && size < SCRIPT_BYTES);
    const bool loaded = script_store_load(&store, changed);
    assert(loaded);
}

/* Keys end by the real clock of the store, and models have a time of their own, which a busy machine overtakes. */
static void load_lasting(void)
{
    load(lasting, central_script, "math.ceil(reset / 1000) + 1)", "math.ceil(reset / 1000) + 600000)");
}

/* ---- a model ---- */

/* INCRBY, and EXPIRE where the answer is the cost, as in many programs; DECRBY for what is given back. */
struct model {
    uint64_t used, begun_us;
};

static struct central_figures model_asks(struct model *model, const struct central_charge *charge, bool takes,
                                         uint64_t now_us)
{
    if (now_us - model->begun_us >= charge->window_us)
        model->used = 0;
    const uint64_t before = model->used;
    struct central_figures figures = {.allowed = before + charge->cost + charge->floor_tokens <= charge->capacity};
    if (takes && figures.allowed)
        model->used += charge->cost;
    if (before == 0 && model->used > 0)
        model->begun_us = now_us;
    const uint64_t rest_us = model->used > 0 ? model->begun_us + charge->window_us - now_us : 0;
    const uint64_t kept = model->used + charge->floor_tokens;
    figures.remaining_tokens = kept < charge->capacity ? charge->capacity - kept : 0;
    figures.reset_after_us = rest_us;
    figures.retry_after_us = figures.allowed                                          ? 0
                             : charge->cost + charge->floor_tokens > charge->capacity ? UINT64_MAX
                                                                                      : rest_us;
    return figures;
}

static bool is_same(const struct central_figures *a, const struct central_figures *b)
{
    return a->allowed == b->allowed && a->remaining_tokens == b->remaining_tokens &&
           a->retry_after_us == b->retry_after_us && a->reset_after_us == b->reset_after_us;
}

/* A charge that was taken and may be given back, and when its window began. */
struct spent {
    struct central_charge charge;
    uint64_t begun_us;
};

static void give_back(struct model *model, struct spent *spent, uint64_t now_us)
{
    if (now_us - model->begun_us < spent->charge.window_us && model->begun_us == spent->begun_us)
        model->used -= spent->charge.cost < model->used ? spent->charge.cost : model->used;
    (void)call(CENTRAL_RETURN, &spent->charge, now_us);
    spent->charge.cost = 0;
}

/* False: the script and the model differ. */
static bool agrees(uint64_t seed)
{
    struct random random;
    struct model model = {0};
    struct spent spent = {.begun_us = 0};
    random_seed(&random, seed);
    const uint64_t capacity = 1 + random_below(&random, 20),
                   window_us = 100000 + random_below(&random, 90 * SECOND_US);
    uint64_t now_us = BEGUN_US + random_below(&random, SECOND_US);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct central_charge charge = charge_of(1000 + seed, random_below(&random, 4), capacity, window_us);
        const bool takes = random_below(&random, 4) > 0;
        charge.floor_tokens = random_below(&random, 4) == 0 ? random_below(&random, capacity) : 0;
        charge.cost = random_below(&random, 20) == 0 ? capacity + 1 : charge.cost;
        if (random_below(&random, 8) == 0 && model.used > 0) /* just before, at, or just after the end */
            now_us = larger(now_us, model.begun_us + window_us - 1 + random_below(&random, 3));
        else
            now_us +=
                random_below(&random, 3) == 0 ? random_below(&random, window_us) : random_below(&random, 1000);
        if (spent.charge.cost > 0 && random_below(&random, 6) == 0)
            give_back(&model, &spent, now_us);
        const struct central_figures expected = model_asks(&model, &charge, takes, now_us);
        const struct central_figures got = call(takes ? CENTRAL_TAKE : CENTRAL_PEEK, &charge, now_us).figures[0];
        if (!is_same(&got, &expected)) {
            printf("# seed %" PRIu64 ", round %u, cost %" PRIu64 " of %" PRIu64 ": the script %d, left %" PRIu64
                   ", retry %" PRIu64 ", reset %" PRIu64 "; the model %d, %" PRIu64 ", %" PRIu64 ", %" PRIu64 "\n",
                   seed, i, charge.cost, capacity, got.allowed, got.remaining_tokens, got.retry_after_us,
                   got.reset_after_us, expected.allowed, expected.remaining_tokens, expected.retry_after_us,
                   expected.reset_after_us);
            return false;
        }
        if (takes && got.allowed && charge.cost > 0 && (spent.charge.cost == 0 || random_below(&random, 8) == 0)) {
            spent = (struct spent){charge, model.begun_us};
            spent.charge.stamp = got.stamp;
        }
    }
    return true;
}

/* ---- in advance ---- */

enum { HANDS = 3 };

/* A thread with tokens in hand, which it uses as late as it may. */
struct hand {
    uint64_t tokens, until_us, stamp;
};

/*
 * Three threads take in advance, and use what they have at the last moment that central_lease.c allows, or give it
 * back. Returns the most that was used within one window: from its begin, as the store's stamp says, to its end.
 */
static uint64_t most_used(uint64_t seed, uint64_t capacity)
{
    struct random random;
    struct hand hand[HANDS] = {{0}};
    uint64_t now_us = BEGUN_US, most = 0, used = 0, window = 0;
    random_seed(&random, seed);
    const uint64_t window_us = 200000 + random_below(&random, SECOND_US);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct hand *own = &hand[random_below(&random, HANDS)];
        now_us += random_below(&random, 5000);
        for (uint32_t k = 0; k < HANDS; k++) {
            if (hand[k].tokens == 0 || hand[k].until_us > now_us)
                continue;
            const uint64_t uses = random_below(&random, hand[k].tokens + 1);
            used += hand[k].stamp == window ? uses : 0;
            most = hand[k].until_us > hand[k].stamp + window_us ? UINT64_MAX : larger(most, used);
            struct central_charge rest = charge_of(2000 + seed, hand[k].tokens - uses, capacity, window_us);
            rest.stamp = hand[k].stamp;
            if (rest.cost > 0)
                (void)call(CENTRAL_RETURN, &rest, now_us);
            hand[k].tokens = 0;
        }
        struct central_charge charge = charge_of(2000 + seed, 1 + random_below(&random, 3), capacity, window_us);
        charge.extra = own->tokens > 0 ? 0 : random_below(&random, capacity);
        const struct central_figures figures = take(&charge, now_us);
        if (!figures.allowed)
            continue;
        used = figures.stamp == window ? used + charge.cost : charge.cost;
        window = figures.stamp;
        most = larger(most, used);
        if (figures.extra > 0)
            *own = (struct hand){figures.extra, now_us + number_least(SCRIPT_SPAN_US, figures.reset_after_us),
                                 figures.stamp};
    }
    return most;
}

/* ---- planted bugs ---- */

/* The lasting script with one piece of its text replaced. */
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
        {"now < s + length", "now <= s + length", "a window that ends a microsecond late"},
        {"if first or k == 'w' then start = s end", "", "an end that moves with each request"},
        {"first and now or now - now % length", "now - now % length", "a window that begins by the clock"},
        {"state[i].old <= c[7] and (", "true or (", "a former window that gives back to the next"},
        {"return used > 0 and rest or 0", "return rest", "a reset where nothing is used"},
    };
    for (size_t i = 0; i < sizeof bugs / sizeof bugs[0]; i++) {
        bool found = false;
        plant(bugs[i].piece, bugs[i].instead);
        for (uint64_t seed = 0; seed < 8 && !found; seed++)
            found = !agrees(100 * (i + 1) + seed);
        OK(found, "the model finds %s", bugs[i].what);
    }
    plant("if s.cost + extra > 0 and", "if s.cost > 0 and extra == 0 and");
    OK(most_used(50, 40) > 40, "what is taken in advance and not charged is found");
}

int main(void)
{
    if (!script_store_start(&store)) {
        tap_skip("windows in a redis-server", "there is no redis-server here");
        return tap_done();
    }
    test_one();
    test_returns();
    test_changes();
    test_expiry();
    load_lasting();
    for (uint64_t seed = 0; seed < 8; seed++)
        OK(agrees(seed), "as INCR and EXPIRE do, seed %" PRIu64, seed);
    for (uint64_t seed = 0; seed < 4; seed++)
        OK_U64(most_used(seed, 40), 40,
               "hands that are full never use more than the limit of a window, seed %" PRIu64, seed);
    test_planted();
    script_store_stop(&store);
    return tap_done();
}
