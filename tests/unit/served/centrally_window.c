/*
 * Windows that begin with the first request, as a daemon counts them while the central store is down: beside a plain
 * model of INCR and EXPIRE, at the same times.
 */
#include "base/random.h"
#include "tests/lib/served.h"

#include <stdio.h>

enum { LIMIT = 5, WINDOW_MS = 60000, ROUNDS = 4000 };

static void begin(uint32_t peers)
{
    served_plan(1024, peers);
    served.options.has_central = true;
    served_begin();
    OK(set_rules(
           "rules:\n  - {id: codes, service: shop, by: phone, algorithm: fixed_window, limit: 5, window: 60s,\n"
           "     begins: first_request, sync: central, priority_floor: {low: 40%}}\n"),
       "a rule whose windows begin with the first request");
}

static const char *ask(const char *verb, uint64_t phone, uint64_t cost, bool low)
{
    char words[96];
    (void)snprintf(words, sizeof words, "%s phone=%" PRIu64 " SERVICE shop COST %" PRIu64 "%s", verb, phone, cost,
                   low ? " PRIORITY low" : "");
    return served_ask(words);
}

static void test_one(void)
{
    begin(0);
    served_wait_ms(12345);
    OK_STRING(ask("PEEK", 1, 1, false), "[1 5 5 0 0 'codes']", "who looks begins no window");
    served_wait_ms(700);
    OK_STRING(ask("CHECK", 1, 1, false), "[1 5 4 0 60000 'codes']", "the first request does");
    served_wait_ms(59000);
    OK_STRING(ask("CHECK", 1, 4, false), "[1 5 0 0 1000 'codes']", "a later one does not move its end");
    OK_STRING(ask("CHECK", 1, 1, false), "[0 5 0 1000 1000 'codes']", "which a refusal tells");
    served_wait_ms(1000);
    OK_STRING(ask("PEEK", 1, 1, false), "[1 5 5 0 0 'codes']", "then all is there");
    served_wait_ms(500);
    OK_STRING(ask("CHECK", 1, 6, false), "[0 5 5 -1 0 'codes']", "what is larger than the limit never comes");
    OK_STRING(ask("CHECK", 1, 2, false), "[1 5 3 0 60000 'codes']", "the next window begins with a request");
    OK(set_rules(
           "rules:\n  - {id: codes, service: shop, by: phone, algorithm: fixed_window, limit: 4, window: 60s,\n"
           "     begins: first_request, sync: central}\n"),
       "a smaller limit");
    served_wait_ms(10000);
    OK_STRING(ask("CHECK", 1, 1, false), "[1 4 1 0 50000 'codes']", "keeps what is used, and the end");
    OK(set_rules(
           "rules:\n  - {id: codes, service: shop, by: phone, algorithm: fixed_window, limit: 4, window: 5s,\n"
           "     begins: first_request, sync: central}\n"),
       "a shorter window");
    OK_STRING(ask("CHECK", 1, 1, false), "[1 4 0 0 5000 'codes']", "ends after its new length at the latest");
    served_close();
}

struct model {
    uint64_t used, begun_ms;
};

/* The answer to CHECK, or to PEEK. */
static const char *model_asks(struct model *model, uint64_t cost, bool low, bool takes, uint64_t now_ms)
{
    static char text[96];
    const uint64_t floor = low ? 2 : 0;
    if (now_ms - model->begun_ms >= WINDOW_MS)
        model->used = 0;
    const bool allowed = model->used + cost + floor <= LIMIT;
    if (takes && allowed && model->used == 0)
        model->begun_ms = now_ms;
    model->used += takes && allowed ? cost : 0;
    const uint64_t rest_ms = model->used > 0 ? model->begun_ms + WINDOW_MS - now_ms : 0;
    const uint64_t kept = model->used + floor;
    (void)snprintf(text, sizeof text, "[%d 5 %" PRIu64 " %" PRId64 " %" PRIu64 " 'codes']", allowed,
                   kept < LIMIT ? LIMIT - kept : 0,
                   allowed                ? 0
                   : cost + floor > LIMIT ? -1
                                          : (int64_t)rest_ms,
                   rest_ms);
    return text;
}

static void test_model(uint64_t seed)
{
    enum { PHONES = 3 };
    struct model model[PHONES] = {{0}};
    struct random random;
    uint64_t now_ms = WINDOW_MS;
    bool same = true;
    random_seed(&random, seed);
    begin(0);
    for (uint32_t i = 0; i < ROUNDS && same; i++) {
        const uint64_t phone = random_below(&random, PHONES), cost = random_below(&random, 7);
        const bool low = random_below(&random, 4) == 0, takes = random_below(&random, 4) > 0;
        const uint64_t end_ms = model[phone].begun_ms + WINDOW_MS;
        const uint64_t step_ms = random_below(&random, 4) == 0 && end_ms > now_ms + 1
                                     ? end_ms - now_ms - 1 + random_below(&random, 3)
                                     : random_below(&random, 3000);
        served_wait_ms(step_ms);
        now_ms += step_ms;
        char got[96];
        (void)snprintf(got, sizeof got, "%s", ask(takes ? "CHECK" : "PEEK", phone, cost, low));
        const char *expected = model_asks(&model[phone], cost, low, takes, now_ms);
        same = strcmp(got, expected) == 0;
        if (!same)
            printf("# round %u, cost %" PRIu64 "%s: got %s, expected %s\n", i, cost, low ? ", low" : "", got,
                   expected);
    }
    OK(same, "as INCR and EXPIRE do, seed %" PRIu64, seed);
    served_close();
}

/* Others are there, whom nobody has heard: each has its share, and its own windows. */
static void test_share(void)
{
    begin(2);
    uint32_t admitted = 0;
    for (uint32_t i = 0; i < LIMIT; i++)
        admitted += ask("CHECK", 1, 1, false)[1] == '1';
    OK_U64(admitted, 1, "of five tokens one of three daemons has one");
    served_wait_ms(WINDOW_MS - 1);
    OK(ask("CHECK", 1, 1, false)[1] == '0', "until its window ends");
    served_wait_ms(1);
    OK(ask("CHECK", 1, 1, false)[1] == '1', "and then again");
    served_close();
}

int main(void)
{
    test_one();
    for (uint64_t seed = 0; seed < 6; seed++)
        test_model(seed);
    test_share();
    return tap_done();
}
