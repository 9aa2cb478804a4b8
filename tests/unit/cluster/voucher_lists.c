/*
 * A reload changes a limit while a peer holds a voucher of it, and is taken back. Under the faster limit, views of
 * others refill sooner than the voucher decays, so its tokens must not be used any more when the limit of before
 * returns.
 */
#include "tests/lib/rights_world.h"

enum { SHORT_MS = 200, REFILLS_MS = 500 };

static const struct limit_terms slow = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = 3600000 * MS},
                                fast = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 1000, .period_ns = 1000 * MS},
                                other = {.kind = LIMIT_BUCKET, .capacity = 7, .rate = 7, .period_ns = 3600000 * MS};

/* Two limits; the terms of the first one are `terms`. */
static void fill(struct test_limits *list, const struct limit_terms *terms, const struct limit_terms *second)
{
    *list = (struct test_limits){0};
    (void)limits_add(list, "default", terms->capacity, terms->rate, terms->period_ns, 0);
    (void)limits_add(list, "second", second->capacity, second->rate, second->period_ns, 0);
}

static void reload(const struct test_limits *list)
{
    step(BOB, (struct event){.kind = EVENT_LIMITS, .limits = &list->named}, 0);
    OK(!node_limits_result(world.host[BOB].node)->refused, "bob takes another list");
    world_run(SHORT_MS);
}

static void begin(const struct test_limits *list)
{
    rights_world_init(3);
    for (unsigned i = 0; i < 3; i++) {
        struct node_options *options = &world.host[i].options;
        options->limits = &list->named;
        options->config_digest = 1000 + named_limits_digest(options->limits, &options->hash_key);
    }
    rights_world_start();
    (void)rights_take(ANN, "key", &slow, 100);
    world_run(TURN_MS);
    OK(rights_explain(ANN, "key", &slow).voucher_tokens > 50, "ann has a voucher of more than half of the key");
}

/* Ann's clients ask for nothing meanwhile. `second`: the other limit's terms in the list that is taken back. */
static void taken_back(const struct limit_terms *second)
{
    static struct test_limits before, between;
    fill(&before, &slow, &other);
    fill(&between, &fast, second);
    begin(&before);
    reload(&between);
    (void)rights_take(BOB, "key", &fast, 1);
    (void)rights_take(CAT, "key", &fast, 1);
    world_run(REFILLS_MS);
    reload(&before);
    const unsigned taken = rights_take_all("key", &slow, 3);
    OK(taken <= 100, "after the list is taken back all admit no more than the limit: %u", taken);
    world_close();
}

static void unchanged(void)
{
    static struct test_limits before, after;
    fill(&before, &slow, &other);
    fill(&after, &slow, &fast);
    begin(&before);
    reload(&after);
    OK(rights_explain(ANN, "key", &slow).voucher_tokens > 50, "ann keeps it where another limit changes");
    world_close();
}

int main(void)
{
    taken_back(&other);
    taken_back(&slow);
    unchanged();
    return tap_done();
}
