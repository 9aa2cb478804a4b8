/* Batches of others are applied a part at a time; between two parts, and within a step, everything else may happen. */
#include "tests/lib/cluster_steps.h"

enum {
    STEP_KEYS = 256,
    PART = STEP_KEYS / 16 + 1, /* of others' spends a step applies */
    KEYS = 200,
    FEW = 60, /* so few that a step may take two messages of them */
    STEPS = (KEYS - 1) / PART + 1,
    NUMBERS_MAX = 1024,
};

/* What ann said last: up to which of bob's batches all is applied, in a message; and in a reply, with so many keys. */
static struct {
    uint64_t published, replied;
    uint32_t page_keys;
    bool has_page;
} digest;

static struct part_said {
    uint64_t prefix;
    uint32_t bits;
    bool split;
} part_said; /* the part of the table that a reply is about */

static uint64_t digest_of_bob(const struct message *message)
{
    for (uint32_t r = 0; r < message->row_count; r++)
        for (uint32_t o = 0; o < message->origin_count && message->rows[r].member == message->sender; o++)
            if (bytes_equal(message->members[message->origins[o].member].name, bytes_of("bob")))
                return message->rows[r].applied[o];
    return 0;
}

static void read_page(const struct message *message)
{
    struct number_reader reader;
    struct number_record record;
    digest.has_page = message_page(message, &reader) && !message->page_split;
    for (digest.page_keys = 0; digest.has_page && number_next(&reader, &record); digest.page_keys++)
        ;
}

static void read_digests(unsigned host, const struct effects *effects)
{
    static struct message message;
    for (size_t e = 0; e < effects->effect_count && host == ANN; e++) {
        struct bytes bytes = effect_bytes(effects, &effects->effect[e]);
        enum effect_kind kind = effects->effect[e].kind;
        if ((kind != EFFECT_PUBLISH && kind != EFFECT_REPLY) || bytes.size == 0)
            continue;
        bool sound = message_unseal(&bytes, &world.host[ANN].options.hash_key) && message_open(&message, bytes);
        assert(sound);
        *(kind == EFFECT_REPLY ? &digest.replied : &digest.published) = digest_of_bob(&message);
        if (kind == EFFECT_REPLY)
            read_page(&message);
        message_close(&message);
    }
}

static void apply_init(void)
{
    memset(&digest, 0, sizeof digest);
    memset(&part_said, 0, sizeof part_said);
    steps_init(STEP_KEYS);
    world.watch = read_digests;
}

static void apply_begin(void)
{
    apply_init();
    steps_begin();
}

/* ---- what bob says ---- */

/* A token, or more, of each of the keys "<name> first".."<name> end-1". */
static struct batch *batch_of(uint64_t first, uint64_t last, const char *name, unsigned end, uint64_t tokens)
{
    char key[32];
    struct batch *batch = batch_create(0, end);
    assert(batch);
    batch->first = first;
    batch->last = last;
    for (unsigned i = 0; i < end; i++) {
        (void)snprintf(key, sizeof key, "%s %u", name, i);
        batch->spend[i] = (struct spend){.id = key_of(key, 0), .tokens = tokens};
    }
    batch_sort(batch);
    return batch;
}

/* A message with both; with a page, or a request for one, if it is a reply or a request. One step. */
static void say(struct batch *batch, struct batch *other, const struct spend *numbers, uint32_t count)
{
    static const uint64_t depends[ORIGINS_MAX];
    struct effects effects;
    struct message_writer writer;
    enum event_kind kind = EVENT_MESSAGE;
    const struct limit_set limits = limits_view(&world.limits);
    effects_init(&effects);
    message_begin(&writer, &effects, &impostor);
    message_begin_batches(&writer, other ? 2 : batch ? 1 : 0);
    if (batch)
        message_put_batch(&writer, 0, 0, batch, depends, impostor.origin_count, NULL, &limits);
    if (other)
        message_put_batch(&writer, 0, 0, other, depends, impostor.origin_count, NULL, &limits);
    batch_destroy(&batch);
    batch_destroy(&other);
    if (impostor.kind == MESSAGE_REQUEST) {
        kind = EVENT_REQUEST;
        message_end_with_request(&writer, 0, 0);
    } else if (impostor.kind == MESSAGE_REPLY) {
        kind = EVENT_RESPONSE;
        const struct page_content page = {.prefix = part_said.prefix,
                                          .bits = part_said.bits,
                                          .split = part_said.split,
                                          .numbers = numbers,
                                          .number_count = count};
        message_end_with_page(&writer, &page, &limits, 0);
    } else {
        message_end(&writer);
    }
    impostor_deliver(&effects, &writer, kind);
}

static void say_batch(uint64_t number, const char *name, unsigned keys)
{
    impostor_begin(MESSAGE_GOSSIP, number, 0);
    say(batch_of(number, number, name, keys, 1), NULL, NULL, 0);
}

/* Ann asks bob for a part, since he says that what she lacks does not come as batches any more. */
static void asks(void)
{
    world.now_ns += 1000 * MS;
    impostor_begin(MESSAGE_GOSSIP, 0, 0);
    impostor.floor = 3;
    impostor_say(NULL);
}

/* Of bob's first batch a part is applied. */
static void begin_applying(void)
{
    apply_begin();
    say_batch(1, "key", KEYS);
    assert(sums_of("key", KEYS).used == PART && goes_on());
}

/* Steps until nothing follows at once; how many applied something, and the most that one did. */
static unsigned apply_by_steps(uint64_t *most)
{
    unsigned steps = 0;
    *most = 0;
    for (unsigned i = 0; goes_on() && i < 1000; i++) {
        uint64_t before = world_stats(ANN).applied_tokens;
        step_once();
        uint64_t applied = world_stats(ANN).applied_tokens - before;
        *most = applied > *most ? applied : *most;
        steps += applied > 0;
    }
    return steps;
}

/* ---- parts ---- */

static void parts(void)
{
    bool early = false;
    apply_begin();
    say_batch(1, "key", KEYS);
    OK_U64(sums_of("key", KEYS).used, PART, "a message's large batch is applied a part at a time");
    unsigned steps = 1;
    for (; world_stats(ANN).batches_applied == 0 && steps < 100; steps++) {
        OK_U64(world_stats(ANN).applied_tokens, (uint64_t)steps * PART, "%u of its parts are applied", steps);
        world.now_ns += 100 * MS;
        step_once();
        early |= world_stats(ANN).batches_applied == 0 && digest.published != 0;
        OK(digest.published == (world_stats(ANN).batches_applied > 0),
           "it is said to be applied when all of it is");
    }
    OK(!early && steps == STEPS && sums_of("key", KEYS).used == KEYS, "in %u steps", steps);
    uint64_t before = world_stats(ANN).batches_duplicate;
    say_batch(1, "key", KEYS);
    OK(world_stats(ANN).batches_duplicate == before + 1 && sums_of("key", KEYS).used == KEYS, "once");
    world_close();
}

/* Bob's first batches, in messages that come faster than small parts are applied: the most that is left after one. */
static uint64_t most_left(unsigned count, unsigned keys)
{
    uint64_t most = 0;
    apply_begin();
    for (uint64_t n = 1; n <= count; n++) {
        say_batch(n, "key", keys);
        uint64_t left = n * keys - world_stats(ANN).applied_tokens;
        most = left > most ? left : most;
        if (n == 2)
            OK(world_stats(ANN).batches_applied > 0 && (left == 0 || keys > FEW),
               "a message of %u keys between two parts finds the rest of what is begun applied", keys);
    }
    world_close();
    return most;
}

static void faster(void)
{
    enum { MESSAGES = 30, SOME = 100 };
    OK_U64(most_left(1, FEW), FEW - PART, "of few keys a part is left as well");
    OK_U64(most_left(MESSAGES, FEW), FEW - PART, "and no more where messages come at once");
    OK_U64(most_left(MESSAGES, SOME), SOME - PART, "nor is where steps have less time than they may apply");
    OK(most_left(MESSAGES, KEYS) <= MESSAGES * KEYS / 2 + KEYS,
       "where taking them in is most of what a step may do, every other is applied");
}

/* ---- messages between two parts ---- */

static void same_again(void)
{
    uint64_t most;
    begin_applying();
    say_batch(1, "key", KEYS);
    OK(sums_of("key", KEYS).used == KEYS && world_stats(ANN).batches_applied == 1,
       "the same batch comes between two parts: the rest of it is applied");
    OK_U64(world_stats(ANN).batches_duplicate, 1, "and it is one that is here");
    apply_by_steps(&most);
    OK_U64(sums_of("key", KEYS).used, KEYS, "so that it counts once");
    world_close();

    apply_begin();
    asks(); /* so that the log is kept */
    say_batch(1, "key", KEYS);
    impostor_begin(MESSAGE_GOSSIP, 2, 0);
    say(batch_of(1, 2, "key", KEYS, 2), NULL, NULL, 0);
    apply_by_steps(&most);
    OK(sums_of("key", KEYS).used == 2 * KEYS && world_stats(ANN).applied_tokens == 2 * KEYS,
       "of a merged one that it is in, the rest is charged");
    world_close();

    apply_begin();
    impostor_begin(MESSAGE_GOSSIP, 2, 0);
    say(batch_of(1, 1, "key", KEYS, 1), batch_of(1, 2, "key", KEYS, 2), NULL, 0);
    OK(world_stats(ANN).applied_tokens == PART, "both in one message: the first is begun");
    apply_by_steps(&most);
    OK_U64(sums_of("key", KEYS).used, 2 * KEYS, "and the merged one follows when that is applied");
    world_close();
}

/* What is nearer to its turn, and what has more of it, comes in the same message; what waits has too many keys. */
static void makes_room(bool in_parts)
{
    uint64_t most;
    apply_init();
    world.host[ANN].options.log_keys_max = KEYS / 2;
    steps_begin();
    say_batch(1, "first", 1);
    assert(world_stats(ANN).batches_applied == 1);
    impostor_begin(MESSAGE_GOSSIP, 3, 0);
    struct batch *merged = batch_of(1, 3, "key", 1, 1);
    merged->merge = in_parts;
    merged->parts = in_parts ? 2 : 0;
    say(batch_of(2, 2, "key", KEYS, 1), merged, NULL, 0);
    OK(world_stats(ANN).batches_applied == 1 && world_stats(ANN).applied_tokens == 1 + PART,
       "what is begun does not give way to what is nearer to its turn");
    apply_by_steps(&most);
    OK(sums_of("key", KEYS).used >= KEYS && most <= PART, "it is applied to its end");
    world_close();
}

/* As many wait as may; what is next comes, and needs no place. */
static void needs_no_place(void)
{
    enum { WAITING = 512 };
    uint64_t most;
    apply_begin();
    for (unsigned i = 0; i < WAITING; i++)
        say_batch(2 + i, "more", 1);
    OK(world_stats(ANN).batches_applied == 0 && world_stats(ANN).limit_drops == 0, "as many batches wait as may");
    say_batch(1, "key", KEYS);
    OK_U64(world_stats(ANN).applied_tokens, PART, "what they wait for is begun");
    say_batch(WAITING + 2, "more", 1);
    apply_by_steps(&most);
    OK(world_stats(ANN).batches_applied >= WAITING + 1, "and then they follow");
    world_close();
}

/* ---- parts of tables ---- */

static bool page_is_as_said(void)
{
    if (!digest.has_page || digest.page_keys != digest.replied * KEYS)
        printf("# a page of %u keys, of bob's first %" PRIu64 "\n", digest.page_keys, digest.replied);
    return digest.has_page && digest.page_keys == digest.replied * KEYS;
}

static void is_answered(void)
{
    apply_begin();
    world.now_ns = world.host[ANN].wake_ns; /* the next is an interval away */
    step_once();
    say_batch(1, "key", KEYS);
    impostor_begin(MESSAGE_GOSSIP, 1, 0);
    say(NULL, NULL, NULL, 0);
    uint64_t most, from_ns = world.now_ns;
    apply_by_steps(&most);
    world.now_ns = world.host[ANN].wake_ns;
    step_once();
    OK(digest.published == 1 && world.now_ns - from_ns < 10 * MS,
       "what is applied to its end since a message comes is acknowledged soon");
    world_close();
}

static void serves(void)
{
    begin_applying();
    impostor_begin(MESSAGE_REQUEST, 1, 0);
    say(NULL, NULL, NULL, 0);
    OK(page_is_as_said() && digest.replied == 1, "who asks for a part of the table gets all of what is begun");
    world_close();

    apply_begin();
    impostor_begin(MESSAGE_REQUEST, 1, 0);
    say(batch_of(1, 1, "key", KEYS, 1), NULL, NULL, 0);
    OK(page_is_as_said(), "and so he does where it is begun in the same step");
    world_close();
}

/* Bob has spent 50 tokens of every key in what ann lacks, but for a batch that others tell of: the number of keys. */
static uint32_t page_of_fifty(struct spend *numbers)
{
    const struct limit *limit = &world.limits.limit[0];
    struct batch *batch = batch_of(1, 1, "key", KEYS, 1);
    for (uint32_t i = 0; i < KEYS; i++) {
        struct bucket bucket = {.settled = limit->capacity_units - 50 * limit->units_per_token};
        numbers[i] = (struct spend){.id = batch->spend[i].id, .tokens = bucket_number(&bucket, limit)};
    }
    batch_destroy(&batch);
    return KEYS;
}

static void takes(bool same_step)
{
    struct spend numbers[KEYS];
    uint64_t most;
    apply_begin();
    asks();
    if (!same_step)
        say_batch(1, "key", KEYS);
    impostor_begin(MESSAGE_REPLY, 0, 0);
    say(same_step ? batch_of(1, 1, "key", KEYS, 1) : NULL, NULL, numbers, page_of_fifty(numbers));
    apply_by_steps(&most);
    OK_U64(world_stats(ANN).snapshots_taken, 1, "a part of a table comes %s",
           same_step ? "with a batch that its donor does not have" : "between two parts of such a batch");
    OK_U64(sums_of("key", KEYS).used, 51 * KEYS, "what is applied of that is not lost by it");
    world_close();
}

static void reply_with_nothing(uint64_t prefix, uint32_t bits, bool split)
{
    part_said = (struct part_said){prefix, bits, split};
    impostor_begin(MESSAGE_REPLY, 3, 0);
    say(NULL, NULL, NULL, 0);
}

/* All parts of a snapshot are here, but there is much to be told first; just then, a batch comes that they contain. */
static void finishes(void)
{
    enum { UNTOLD = 5 * STEP_KEYS };
    uint64_t most;
    apply_init();
    world.host[ANN].options.tell_pace = 100;
    steps_begin();
    asks();
    reply_with_nothing(0, 0, true);
    reply_with_nothing(0, 1, false);
    OK_U64(spend_range("own", 0, UNTOLD), UNTOLD, "much is untold");
    for (uint32_t bits = 1; bits <= 3; bits++) /* with as many keys of her own, the node asks for smaller parts */
        for (uint64_t prefix = UINT64_C(1) << (bits - 1); prefix < UINT64_C(1) << bits; prefix++)
            reply_with_nothing(prefix, bits, false);
    OK_U64(world_stats(ANN).snapshots_taken, 0, "a snapshot waits for what is to be told before");
    uint64_t applied = world_stats(ANN).batches_applied;
    for (unsigned i = 0; world_stats(ANN).snapshots_taken == 0 && i < 100; i++)
        say_batch(1, "key", KEYS);
    OK(world_stats(ANN).snapshots_taken == 1 && world_stats(ANN).batches_applied == applied + 1,
       "it is whole, in a step in which a batch comes that it contains");
    apply_by_steps(&most);
    world.now_ns += 100 * MS;
    step_once();
    OK_U64(digest.published, 3, "what it contains of bob's counts as applied, and does so from then on");
    say_batch(2, "key", KEYS);
    apply_by_steps(&most);
    OK_U64(sums_of("key", KEYS).used, 0, "nothing of it is charged");
    world_close();
}

/* ---- other work, and other events ---- */

/* Steps have no time for any of it while many own batches are added up. */
static void no_time(void)
{
    enum { BATCHES = 64, WIDTH = STEP_KEYS / 4 }; /* one more is added up with all others, in whole steps */
    uint64_t most;
    unsigned without = 0;
    apply_begin();
    for (unsigned i = 0; i < BATCHES; i++) {
        spend_range("own", i * WIDTH, (i + 1) * WIDTH);
        tell_now();
    }
    spend_range("own", BATCHES * WIDTH, (BATCHES + 1) * WIDTH);
    world.now_ns += 100 * MS;
    say_batch(1, "key", KEYS);
    OK(world_stats(ANN).batches_closed == BATCHES + 1 && world_stats(ANN).applied_tokens == PART,
       "a part is applied when there are more own batches than are searched");
    for (unsigned i = 0; goes_on() && world_stats(ANN).batches_applied == 0 && i < 1000; i++) {
        uint64_t before = world_stats(ANN).applied_tokens;
        step_once();
        without += world_stats(ANN).applied_tokens == before;
    }
    OK(without > STEPS && sums_of("key", KEYS).used == KEYS && world_stats(ANN).applied_tokens == KEYS,
       "%u steps that add them up have no time for it: it goes on where it was left", without);
    apply_by_steps(&most);
    world_close();
}

static void others_events(void)
{
    uint64_t most;
    begin_applying();
    world_forget(ANN, BOB);
    unsigned steps = apply_by_steps(&most);
    OK(steps == STEPS - 2 && most == PART && sums_of("key", KEYS).used == KEYS,
       "what somebody has told who is forgotten just then is applied to its end: %u steps", steps);
    world.now_ns += 2000 * MS;
    step_once();
    apply_by_steps(&most);
    OK_U64(sums_of("key", KEYS).used, KEYS, "and stays so when he is forgotten for good");
    world_close();

    begin_applying();
    impostor_begin(MESSAGE_GOSSIP, 1, 0);
    impostor.members[0].state = PEER_LEFT;
    impostor_say(NULL);
    OK_U64(sums_of("key", KEYS).used, KEYS, "who leaves has it applied first");
    world_close();

    begin_applying();
    impostor_begin(MESSAGE_GOSSIP, 0, 0);
    impostor.members[0].incarnation = impostor.origins[0].incarnation = 2;
    impostor.members[0].state = PEER_JOINING;
    impostor_say(NULL);
    OK_U64(sums_of("key", KEYS).used, KEYS, "and so has who starts anew");
    world_close();

    begin_applying();
    impostor_begin(MESSAGE_GOSSIP, 1, 0);
    impostor.members[1].state = PEER_LEFT;
    impostor_say(NULL);
    apply_by_steps(&most);
    OK_U64(sums_of("key", KEYS).used, KEYS, "who is declared gone has applied it before she asks for all again");
    world_close();

    begin_applying();
    world_stop(ANN);
    apply_by_steps(&most);
    OK(sums_of("key", KEYS).used == KEYS || !world.host[ANN].node, "who is to leave goes on with it");
    world_close();
}

int main(void)
{
    parts();
    faster();
    same_again();
    makes_room(false);
    makes_room(true);
    needs_no_place();
    is_answered();
    serves();
    takes(false);
    takes(true);
    finishes();
    no_time();
    others_events();
    return tap_done();
}
