/* What may be told is gathered in several steps, and told at once; between two of them everything else may happen. */
#include "tests/lib/cluster_steps.h"

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

static void step_until_said(void)
{
    for (unsigned steps = 0; said.count == 0 && steps < 100; steps++)
        step_once();
    assert(said.count > 0);
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

/* No more is settled than what bob has, whatever was spent since: as much is unsettled as is kept or untold. */
static bool unsettled_is_right(const char *name, unsigned count)
{
    uint64_t unsettled = sums_of(name, count).unsettled;
    if (unsettled != kept_or_untold())
        printf("# %" PRIu64 " unsettled, %" PRIu64 " kept or untold\n", unsettled, kept_or_untold());
    return unsettled == kept_or_untold();
}

/* Now, and after each step that follows at once. */
static bool stays_right(const char *name, unsigned count)
{
    bool right = unsettled_is_right(name, count);
    for (unsigned steps = 0; goes_on() && steps < 1000; steps++) {
        step_once();
        right &= unsettled_is_right(name, count);
    }
    return right;
}

static void spent_again(void)
{
    begin(STEP_KEYS);
    spend_range("key", 0, STEP_KEYS + PART);
    gather_some();
    spend_range("key", 0, PART / 2);
    step_until_said();
    OK_U64(said.batch[0].spend_count, STEP_KEYS, "the batch is full before what was spent again is in it");
    acknowledge(1);
    OK(stays_right("key", STEP_KEYS + PART) && world_stats(ANN).settled_tokens == STEP_KEYS,
       "it settles, and nothing else does");
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
    step_until_said();
    uint64_t closed = world_stats(ANN).batches_closed;
    OK(closed > 2 && world_stats(ANN).open_keys == AGAIN + MORE, "a batch is gathered, and told in %" PRIu64,
       closed);
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
    OK(said.count == 1 && said.batch[0].spend_count == KEYS + CONVERTED,
       "some keys stand under two limits in a batch");
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

/* ---- what else happens meanwhile ---- */

enum { TOLD = 200, AGAIN = 2 * PART };

/* A batch is told that bob has, and what was spent again from some of its keys is gathered in part. */
static void gather_again(void)
{
    begin(STEP_KEYS);
    spend_range("key", 0, TOLD);
    tell_now();
    spend_range("key", 0, AGAIN);
    gather_some();
}

static void settling_waits(void)
{
    gather_again();
    uint64_t closed = world_stats(ANN).batches_closed;
    acknowledge(1);
    OK(world_stats(ANN).settled_tokens == 0 || world_stats(ANN).batches_closed > closed,
       "nothing settles while something is gathered");
    bool right = stays_right("key", TOLD);
    OK_U64(world_stats(ANN).settled_tokens, TOLD, "then all that bob has does");
    OK(right, "and what was gathered meanwhile stays unsettled");
    world_close();
}

static void stops(void)
{
    gather_again();
    OK_U64(world_stats(ANN).open_keys, AGAIN, "what is gathered counts as untold");
    step(ANN, (struct event){.kind = EVENT_STOP}, ANN);
    step_until_done();
    const struct said *last = &said.batch[said.count - 1];
    OK(last->first == 2 && last->spend_count == AGAIN && world_stats(ANN).open_keys == 0,
       "who is to leave tells it, and the rest, in a batch");
    OK(unsettled_is_right("key", TOLD), "which is unsettled until bob has it");
    acknowledge(2);
    step_until_done();
    OK_U64(sums_of("key", TOLD).used, TOLD + AGAIN, "nothing of it is lost");
    world_close();
}

static void asked(void)
{
    gather_again();
    uint64_t closed = world_stats(ANN).batches_closed;
    ask_as(1);
    OK(world_stats(ANN).batches_closed > closed, "before any message leaves, what is gathered is in a batch");
    step_until_done();
    OK(unsettled_is_right("key", TOLD) && world_stats(ANN).open_keys == 0, "the rest follows");
    world_close();
}

static void begins_anew(void)
{
    gather_again();
    impostor_begin(MESSAGE_GOSSIP, 0, 1);
    impostor.members[1].state = PEER_LEFT;
    impostor_say(NULL);
    EXPECT("who was declared gone joins again", "ann: ann was declared gone by its peers and joins again\n");
    OK(world_stats(ANN).open_keys == 0 && unsettled_is_right("key", TOLD),
       "what was gathered is of the incarnation that is over");
    world_close();
}

/* What was gathered is the last that knows of a limit, since its key got another. */
static void limits_are_swept(void)
{
    enum { LIMITS = 32 };
    struct limit_terms terms = {.capacity = 160, .rate = 1, .period_ns = 3600001 * MS};
    const struct limit_terms gone = terms;
    limits_max = LIMITS;
    begin(STEP_KEYS);
    struct charge charge = charge_at(ANN, "alice", &terms, 1);
    world_must(node_takes(world.host[ANN].node, &charge, world.now_ns));
    spend_range("key", 0, 4 * PART - 1);
    gather_some();
    for (unsigned i = 0; i < LIMITS * 3 / 4; i++) {
        terms.period_ns += MS;
        charge = charge_at(ANN, i == 0 ? "alice" : "bert", &terms, 1);
        world_must(node_takes(world.host[ANN].node, &charge, world.now_ns));
    }
    step_once();
    OK(node_find_limit(world.host[ANN].node, &gone) >= 0, "a limit of what is gathered is in use");
    step_until_done();
    tell_now();
    acknowledge(world_stats(ANN).batches_closed);
    step_until_done();
    OK_U64(sums_of("key", 4 * PART - 1).used, 4 * PART - 1, "all of it is told and settles");
    world_close();
    limits_max = 0;
}

/* There is no room for all keys in the table: some of those that were gathered are evicted, and spent from again. */
static void evicted(void)
{
    enum { TABLE = 256, OTHERS = 1000 };
    unsigned gone = 0, kept = 0;
    struct explanation explanation;
    char key[32];
    steps_init(STEP_KEYS);
    world.host[ANN].options.table_keys = TABLE;
    world.host[ANN].options.untold_max = 4096;
    steps_begin();
    spend_range("key", 0, 2 * PART);
    gather_some();
    spend_range("other", 0, OTHERS);
    for (unsigned i = 0; i < PART; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        node_explain(world.host[ANN].node, key_of(key, 0), 0, world.now_ns, &explanation);
        if (!explanation.tracked)
            gone += spend_range("key", i, i + 1);
    }
    step_until_said();
    acknowledge(said.batch[0].last);
    step_until_done();
    for (unsigned i = 0; i < PART; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        kept += unsettled_of(key) > 0;
    }
    OK(gone > 0 && kept == gone, "what was spent since from %u keys that had been evicted is unsettled still",
       gone);
    world_close();
}

int main(void)
{
    one_batch();
    batch_after_batch();
    spent_again();
    spent_again_in_parts();
    converted();
    settling_waits();
    stops();
    asked();
    begins_anew();
    limits_are_swept();
    evicted();
    return tap_done();
}
