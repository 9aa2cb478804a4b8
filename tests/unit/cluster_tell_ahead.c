/* What may be told is gathered in several steps, and told at once; between two of them everything else may happen. */
#include "tests/cluster_steps.h"

enum {
    STEP_KEYS = 256, /* as many fit a batch */
    PART = STEP_KEYS / 4,
    GATHERING_STEPS = STEP_KEYS / PART,
};

static void world_must(bool allowed)
{
    assert(allowed);
}

static uint32_t limits_max; /* of the next world; 0: the default */
static uint64_t message_max_bytes;

static void begin(uint32_t step_keys)
{
    steps_init(step_keys);
    if (limits_max > 0)
        world.host[ANN].options.limits_max = limits_max;
    if (message_max_bytes > 0)
        world.host[ANN].options.message_max_bytes = message_max_bytes;
    steps_begin();
}

/* An interval later, the first part of what is untold is gathered. */
static void gather_some(void)
{
    world.now_ns += 100 * MS;
    step_once();
}

/* ---- one batch, one message ---- */

static void one_batch(void)
{
    unsigned steps = 0;
    begin(STEP_KEYS);
    uint64_t messages = said.messages;
    spend_range("key", 0, STEP_KEYS);
    gather_some();
    for (; said.messages == messages && steps < 100; steps++) {
        OK(goes_on() && world_stats(ANN).open_keys + world_stats(ANN).log_keys == STEP_KEYS,
           "a step later, what is gathered is untold still, or all in a batch");
        step_once();
    }
    OK(steps == GATHERING_STEPS && world_stats(ANN).step_keys_max <= 3 * STEP_KEYS,
       "many keys are gathered in several steps, and told in one more");
    step_until_done();
    OK(said.messages == messages + 1 && said.count == 1 && said.batch[0].spend_count == STEP_KEYS,
       "in one batch, in one message");
    OK_U64(world_stats(ANN).open_keys, 0, "none is untold then");
    world_close();
}

/* ---- batch after batch ---- */

static void batch_after_batch(void)
{
    enum { BATCHES = 4 };
    bool full = true, each_in_its_own = true;
    unsigned steps = 0;
    begin(STEP_KEYS);
    spend_range("key", 0, BATCHES * STEP_KEYS);
    gather_some();
    for (uint64_t before = said.messages; (goes_on() || world_stats(ANN).open_keys > 0) && steps < 100; steps++) {
        world.now_ns = goes_on() ? world.now_ns : world.host[ANN].wake_ns;
        step_once();
        each_in_its_own &= world_stats(ANN).batches_closed <= said.messages - before + 1;
    }
    for (unsigned i = 0; i < said.count; i++) {
        full &= said.batch[i].spend_count == STEP_KEYS;
        each_in_its_own &= i == 0 || said.batch[i].message > said.batch[i - 1].message;
    }
    OK(said.count == BATCHES && full, "of more keys than a batch has, all batches are full: %u", said.count);
    OK(each_in_its_own, "and each is told before the next is made");
    world_close();
}

/* ---- a key that is spent again meanwhile ---- */

/* What settles next is not more than what bob has, whatever was spent since: as much is unsettled as is kept or untold. */
static bool unsettled_is_right(const char *name, unsigned count)
{
    uint64_t unsettled = sums_of(name, count).unsettled;
    if (unsettled != kept_or_untold())
        printf("# %" PRIu64 " unsettled, %" PRIu64 " kept or untold\n", unsettled, kept_or_untold());
    return unsettled == kept_or_untold();
}

static void spent_again(void)
{
    bool right = true;
    begin(STEP_KEYS);
    spend_range("key", 0, STEP_KEYS + PART);
    gather_some();
    spend_range("key", 0, PART / 2);
    while (said.count == 0)
        step_once();
    OK_U64(said.batch[0].spend_count, STEP_KEYS, "the batch is full before what was spent again is in it");
    acknowledge(1);
    for (right &= unsettled_is_right("key", STEP_KEYS + PART); goes_on();) {
        step_once();
        right &= unsettled_is_right("key", STEP_KEYS + PART);
    }
    OK(right && world_stats(ANN).settled_tokens == STEP_KEYS, "it settles, and nothing else does");
    tell_now();
    acknowledge(2);
    step_until_done();
    OK_U64(sums_of("key", STEP_KEYS + PART).unsettled, 0, "what was spent again settles in its turn");
    OK_U64(sums_of("key", STEP_KEYS + PART).used, STEP_KEYS + PART + PART / 2, "all of it is charged once");
    world_close();
}

/* As many limits as keys: what is gathered for one batch does not fit one, and is told in several. */
static void spent_again_in_parts(void)
{
    enum { KEYS = 840, AGAIN = 500, MORE = 100 };
    static struct charge charges[KEYS];
    uint64_t unsettled = 0;
    char key[32];
    message_max_bytes = 65536;
    begin(2048);
    for (unsigned i = 0; i < KEYS; i++) {
        const struct limit_terms terms = {.capacity = 160, .rate = 1, .period_ns = (3600001 + i) * MS};
        (void)snprintf(key, sizeof key, "key %u", i);
        charges[i] = charge_at(ANN, key, &terms, 1);
        world_must(node_takes(world.host[ANN].node, &charges[i], world.now_ns));
    }
    spend_range("more", 0, MORE);
    gather_some();
    for (unsigned i = 0; i < AGAIN; i++)
        world_must(node_takes(world.host[ANN].node, &charges[i], world.now_ns));
    while (said.count == 0)
        step_once();
    uint64_t closed = world_stats(ANN).batches_closed;
    OK(closed > 2 && world_stats(ANN).open_keys == AGAIN + MORE, "a batch is gathered, and told in %" PRIu64, closed);
    acknowledge(closed);
    step_until_done();
    for (unsigned i = 0; i < KEYS; i++) {
        struct bucket bucket = node_bucket(world.host[ANN].node, charges[i].id, charges[i].limit, world.now_ns);
        const struct limit *limit = node_limit(world.host[ANN].node, charges[i].limit);
        unsettled += (uint64_t)((bucket.unsettled + limit->units_per_token / 2) / limit->units_per_token);
    }
    OK_U64(unsettled + sums_of("more", MORE).unsettled, kept_or_untold(),
           "what was spent since is not taken for a part of the later ones");
    world_close();
    message_max_bytes = 0;
}

/* The key has got another limit meanwhile, so that a batch has it under both: they settle in different steps. */
static void converted(void)
{
    enum { KEYS = 128, CONVERTED = PART };
    const struct limit_terms terms = {.capacity = 160, .rate = 1, .period_ns = 3600001 * MS};
    bool right = true;
    begin(STEP_KEYS);
    spend_range("key", 0, KEYS);
    gather_some();
    for (unsigned i = 0; i < CONVERTED; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "key %u", i);
        struct charge charge = charge_at(ANN, key, &terms, 1);
        world_must(node_takes(world.host[ANN].node, &charge, world.now_ns));
    }
    step_until_done();
    OK(said.count == 1 && said.batch[0].spend_count == KEYS + CONVERTED, "some keys stand under two limits in a batch");
    acknowledge(1);
    for (unsigned steps = 0;; steps++) {
        uint64_t unsettled = sums_of("key", KEYS).unsettled;
        for (unsigned i = 0; i < CONVERTED; i++) {
            char key[32];
            (void)snprintf(key, sizeof key, "key %u", i);
            struct charge charge = charge_at(ANN, key, &terms, 1);
            struct bucket bucket = node_bucket(world.host[ANN].node, charge.id, charge.limit, world.now_ns);
            unsettled += whole_tokens(bucket.unsettled);
        }
        right &= unsettled == kept_or_untold();
        if (unsettled != kept_or_untold())
            printf("# %" PRIu64 " unsettled, %" PRIu64 " kept or untold\n", unsettled, kept_or_untold());
        if (!goes_on())
            break;
        step_once();
    }
    OK(right && world_stats(ANN).log_keys == 0, "what is settled of a key under one is not taken for all of it");
    world_close();
}

int main(void)
{
    one_batch();
    batch_after_batch();
    spent_again();
    spent_again_in_parts();
    converted();
    return tap_done();
}
