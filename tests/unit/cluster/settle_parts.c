/* Own batches are settled a part at a time; between two parts everything else may happen. */
#include "tests/lib/cluster_steps.h"

enum {
    STEP_KEYS = 256,
    PART = STEP_KEYS / 16 + 1, /* of its keys a step settles */
    KEYS = 200,
    USUAL = 12,        /* batches wait behind one that is settled */
    MANY_BATCHES = 72, /* more than are searched for what else was spent of a key */
};

/* The sums are right now: what is unsettled is what is kept or untold, and `used` tokens are used. */
static bool sums_are_right(uint64_t used)
{
    struct sums sums = sums_of("key", KEYS);
    bool right = sums.unsettled == kept_or_untold() && sums.used == used;
    if (!right)
        printf("# %" PRIu64 " unsettled, %" PRIu64 " kept or untold; %" PRIu64 " used of %" PRIu64 "\n",
               sums.unsettled, kept_or_untold(), sums.used, used);
    return right;
}

/* Steps until nothing follows at once; how many settled something. Every step is looked at. */
static unsigned settle_by_steps(uint64_t used, uint64_t *most, bool *right)
{
    unsigned steps = 0;
    for (unsigned i = 0; goes_on() && i < 1000; i++) {
        uint64_t before = world_stats(ANN).settled_tokens;
        step_once();
        uint64_t settled = world_stats(ANN).settled_tokens - before;
        *most = settled > *most ? settled : *most;
        *right &= sums_are_right(used);
        steps += settled > 0;
    }
    return steps;
}

static void parts(void)
{
    uint64_t most = 0;
    bool right = true;
    steps_init(STEP_KEYS);
    steps_begin();
    spend_range("key", 0, KEYS);
    tell_now();
    acknowledge(1);
    OK_U64(world_stats(ANN).settled_tokens, PART, "an acknowledgement settles a part of a large batch at once");
    OK_U64(sums_of("key", KEYS).unsettled, KEYS - PART, "the others are unsettled still");
    right &= sums_are_right(KEYS);
    unsigned steps = settle_by_steps(KEYS, &most, &right);
    OK(steps == (KEYS - 1) / PART && most <= PART, "and settle in %u steps, of which none settles more than %d",
       steps, PART);
    OK(right, "after each of them what is unsettled is what is left of the batch, and nothing else has changed");
    OK_U64(world_stats(ANN).log_batches, 0, "then it is gone");
    world_close();
}

/* So many batches are acknowledged at once; how much of them is settled then. */
static uint64_t settled_at_once(unsigned waiting, uint64_t *used)
{
    *used = 0;
    steps_init(STEP_KEYS);
    steps_begin();
    for (unsigned i = 0; i < waiting; i++) {
        *used += spend_range("key", 0, KEYS);
        tell_now();
    }
    acknowledge(waiting);
    return world_stats(ANN).settled_tokens;
}

/* They come faster than small parts are settled: so larger ones are, up to what a step works on. */
static void many_wait(void)
{
    enum { LARGER = 5, WAITING = 1 + USUAL + LARGER };
    uint64_t most = 0, used;
    bool right = true;
    OK_U64(settled_at_once(1 + USUAL, &used), PART, "as many batches as usual wait for small parts");
    world_close();
    OK_U64(settled_at_once(WAITING, &used), (1 + LARGER) * PART,
           "a part is the larger the more batches wait to be settled");
    unsigned steps = settle_by_steps(used, &most, &right);
    OK(right && most <= STEP_KEYS + WAITING, "and no larger than a step's work");
    OK(steps < (WAITING - 1) * (KEYS / PART + 1) && world_stats(ANN).log_keys == 0, "all settle in %u steps",
       steps);
    world_close();
}

/* As many batches, each of `width` of the keys, from another one on each time. */
static uint64_t tell_batches(unsigned count, unsigned width, unsigned *from)
{
    for (unsigned i = 0; i < count; i++, *from = (*from + 37) % KEYS) {
        unsigned end = *from + width < KEYS ? *from + width : KEYS;
        spend_range("key", *from, end);
        spend_range("key", 0, width - (end - *from));
        tell_now();
    }
    return (uint64_t)count * width;
}

/* Few batches are searched for what else was spent of a key; many are summed in an index. The sums are the same. */
static void searched_and_tallied(unsigned batches, const char *how)
{
    uint64_t most = 0, used, told;
    unsigned from = 0, steps = 0;
    bool right = true;
    steps_init(STEP_KEYS);
    steps_begin();
    used = tell_batches(batches, 40, &from);
    told = world_stats(ANN).batches_closed;
    OK(told == batches, "%s: %" PRIu64 " batches", how, told);
    used += spend_range("key", 0, 20);
    for (uint64_t next = 1; next <= told; next += 1 + told / 8) {
        acknowledge(next);
        right &= sums_are_right(used);
        steps += settle_by_steps(used, &most, &right);
    }
    OK(right && steps > 0 && most <= STEP_KEYS, "%s, what was spent later stays unsettled, a step at a time", how);
    acknowledge(told);
    settle_by_steps(used, &most, &right);
    OK(right && sums_of("key", KEYS).unsettled == 20, "%s, what is untold stays unsettled when all others settled",
       how);
    world_close();
}

/* The sums are not whole when a part of a batch is settled, and whole when the rest is. */
static void half_tallied(void)
{
    uint64_t most = 0, used;
    unsigned from = 0;
    bool right = true;
    steps_init(STEP_KEYS);
    steps_begin();
    used = tell_batches(MANY_BATCHES, 40, &from);
    acknowledge(20);
    settle_by_steps(used, &most, &right);
    used += tell_batches(2, 40, &from);
    acknowledge(21);
    OK_U64(world_stats(ANN).log_keys % 40, 40 - PART, "what is in the sums is settled, a part first");
    settle_by_steps(used, &most, &right);
    OK(right, "by a search, since there are few batches and newer ones are not in it");
    used += tell_batches(20, 40, &from);
    acknowledge(60);
    settle_by_steps(used, &most, &right);
    acknowledge(MANY_BATCHES + 22);
    settle_by_steps(used, &most, &right);
    OK(right && world_stats(ANN).log_keys == 0, "when all are in it again, it is right");
    world_close();
}

/* More is told while a part is settled, since a ring is full: the sums do not have that yet. */
static void told_meanwhile(void)
{
    enum { ROOM = 512 };
    unsigned from = 0;
    steps_init(STEP_KEYS);
    world.host[ANN].options.untold_max = ROOM;
    world.host[ANN].options.tell_pace = 100;
    steps_begin();
    tell_batches(MANY_BATCHES, 5, &from);
    OK_U64(world_stats(ANN).log_batches, MANY_BATCHES, "many batches of few keys");
    for (unsigned i = 0; goes_on() && i < 1000; i++)
        step_once(); /* until the sums have memory, and are whole */
    spend_range("key", 0, KEYS);
    OK_U64(spend_range("more", 0, ROOM), ROOM - KEYS, "there is no room for more untold keys");
    uint64_t closed = world_stats(ANN).batches_closed;
    acknowledge(MANY_BATCHES - 2);
    OK(world_stats(ANN).batches_closed > closed, "settling tells some of them");
    OK_U64(sums_of("key", KEYS).unsettled + sums_of("more", ROOM - KEYS).unsettled, kept_or_untold(),
           "and what was told just then is not taken for settled");
    world_close();
}

/* ---- who lacks it ---- */

/* Of ann's batches up to that number, what she says from here on. */
static unsigned said_up_to(uint64_t last)
{
    unsigned count = 0;
    for (unsigned i = 0; i < said.count; i++)
        count += said.batch[i].first <= last;
    return count;
}

/* Of two batches with the same keys. */
static void settle_a_part(void)
{
    steps_init(STEP_KEYS);
    steps_begin();
    spend_range("key", 0, KEYS);
    tell_now();
    spend_range("key", 0, KEYS);
    tell_now();
    acknowledge(1);
}

/* Bob starts anew and has nothing, while a part of what he acknowledged before is not settled yet. */
static void nobody_is_told_again(void)
{
    settle_a_part();
    said.count = 0;
    acknowledge_as(2, PEER_JOINING, 0);
    for (unsigned steps = 0; world_stats(ANN).log_keys > KEYS && steps < 100; steps++) {
        world.now_ns += 100 * MS;
        step_once();
        if (world_stats(ANN).log_keys > KEYS)
            OK_U64(said.floor, 2, "a batch that is partly settled is not to be had any more, says each message");
    }
    OK_U64(said_up_to(1), 0, "nobody is told of it");
    OK(said.count > 0 && said.batch[0].first == 2 && said.batch[0].spend_count == KEYS, "of the next one he is");
    OK(sums_are_right(2 * KEYS), "what he had acknowledged settles to its end, and no more");
    world_close();
}

/*
 * There is so much in the log that it is merged, while settling waits for what is gathered, and bob, who started anew,
 * has nothing: but for what is settled of the first batch all might be merged.
 */
static void not_merged(void)
{
    enum { FIRST = 100, SECOND = 50, UNTOLD = 250 };
    uint64_t used = FIRST + SECOND + UNTOLD;
    steps_init(STEP_KEYS);
    world.host[ANN].options.log_keys_max = FIRST + 2 * SECOND;
    steps_begin();
    spend_range("key", 0, FIRST);
    tell_now();
    spend_range("key", 0, SECOND);
    tell_now();
    spend_range("more", 0, UNTOLD);
    world.now_ns += 100 * MS;
    acknowledge(1);
    OK_U64(world_stats(ANN).log_keys, FIRST + SECOND - PART, "a batch is partly settled, and more is gathered");
    said.count = 0;
    acknowledge_as(2, PEER_JOINING, 0);
    OK_U64(world_stats(ANN).log_keys, FIRST + SECOND - PART, "settling waits for that");
    ask_as(2);
    OK(world_stats(ANN).log_keys > FIRST + 2 * SECOND,
       "a reply tells what is gathered: the log is beyond its limit");
    for (unsigned steps = 0; steps < 50; steps++) {
        world.now_ns = goes_on() ? world.now_ns : world.host[ANN].wake_ns;
        step_once();
    }
    OK(world_stats(ANN).batches_compacted > 0, "it is merged then");
    OK(said_up_to(1) == 0 && said.count > 0, "but not across what is settled");
    struct sums keys = sums_of("key", FIRST), more = sums_of("more", UNTOLD);
    OK_U64(keys.used + more.used, used, "nothing is lost");
    OK_U64(keys.unsettled + more.unsettled, SECOND + UNTOLD, "and nothing is settled that nobody has");
    world_close();
}

/* ---- who joins just then ---- */

/* What happens next where ann goes on only when she hears something. */
static void next_without_ann(void)
{
    int packet = next_packet();
    uint64_t wake_ns = world.host[BOB].wake_ns;
    if (packet >= 0 && world.packet[packet].at_ns < wake_ns) {
        world_step_packet();
        return;
    }
    world.now_ns = wake_ns > world.now_ns ? wake_ns : world.now_ns;
    step(BOB, (struct event){.kind = EVENT_WAKE}, BOB);
}

static void joins_just_then(void)
{
    enum { MANY = 800 };
    world_init_steps(16384, 4 * STEP_KEYS);
    world_start_all();
    world_run(1000);
    world_link(BOB, ANN, LINK_CUT);
    OK_U64(spend_range("key", 0, MANY), MANY, "many keys get a token each");
    world_run(200);
    world_link(ANN, BOB, LINK_CUT);
    OK_U64(spend_range("key", 0, MANY / 2), MANY / 2, "then half of them once more, of which bob does not hear");
    world_run(200);
    world_link(BOB, ANN, LINK_FINE);
    for (unsigned i = 0; world_stats(ANN).settled_tokens == 0 && i < 10000; i++)
        next_without_ann();
    world_crash(BOB);
    world_links(BOB, LINK_FINE);
    world_start(BOB);
    for (unsigned i = 0; world_stats(BOB).snapshots_taken == 0 && i < 10000; i++)
        next_without_ann();
    uint64_t left = world_stats(ANN).log_keys;
    OK(left > MANY / 2 && left < MANY + MANY / 2,
       "bob starts anew, and takes all from her, while some of what he had heard is settled: %" PRIu64 " are left",
       left);
    OK_U64(world_count_left(BOB, "key", MANY, 158), MANY / 2, "half of the keys have two tokens less there");
    OK_U64(world_count_left(BOB, "key", MANY, 159), MANY / 2, "and half of them one");
    step_once();
    world_run(3000);
    OK_U64(world_stats(ANN).log_keys, 0, "all settles");
    for (unsigned i = 0; i < 2; i++)
        OK(world_count_left(i, "key", MANY, 158) == MANY / 2 && world_count_left(i, "key", MANY, 159) == MANY / 2,
           "and nothing is charged twice at %s", host_names[i]);
    world_close();
}

/* ---- other events between two parts ---- */

static void begin_settling(void)
{
    settle_a_part();
    assert(world_stats(ANN).settled_tokens == PART);
    skip_text();
}

static void others_events(void)
{
    uint64_t most = 0;
    bool right = true;
    begin_settling();
    world_forget(ANN, BOB);
    unsigned steps = settle_by_steps(2 * KEYS, &most, &right);
    OK(right && steps > KEYS / PART && world_stats(ANN).log_keys == 0,
       "who is alone with a whole limit from then on settles the rest, a part at a time as before");
    world_close();

    begin_settling();
    world_stop(ANN);
    settle_by_steps(2 * KEYS, &most, &right);
    OK(right && world_stats(ANN).log_keys == KEYS,
       "who is to leave settles what is acknowledged, and waits for more");
    acknowledge(2);
    settle_by_steps(2 * KEYS, &most, &right);
    OK(right && world_stats(ANN).log_keys == 0, "and settles all before she does");
    world_close();

    begin_settling();
    impostor_begin(MESSAGE_GOSSIP, 0, 1);
    impostor.members[1].state = PEER_LEFT;
    impostor_say(NULL);
    settle_by_steps(2 * KEYS, &most, &right);
    uint64_t left = world_stats(ANN).log_keys;
    acknowledge(1);
    settle_by_steps(2 * KEYS, &most, &right);
    OK(right && left > KEYS && most <= 2 * PART, "who was declared gone keeps the rest in the log of what she was");
    impostor_begin(MESSAGE_REPLY, 0, 2);
    impostor_reply(0, 0, false, NULL, 0);
    settle_by_steps(2 * KEYS, &most, &right);
    OK(right && world_stats(ANN).log_keys == 0 && most <= 2 * PART,
       "and settles it, and what is acknowledged besides, when she has a snapshot");
    world_close();
}

/* Traces of batches are of what she tells now, not of what is left of what she was. */
static void tallied_with_what_she_was(void)
{
    uint64_t most = 0;
    unsigned from = 0;
    bool right = true;
    begin_settling();
    impostor_begin(MESSAGE_GOSSIP, 0, 1);
    impostor.members[1].state = PEER_LEFT;
    impostor_say(NULL);
    acknowledge(1);
    settle_by_steps(2 * KEYS, &most, &right);
    (void)tell_batches(MANY_BATCHES + 20, 5, &from); /* some while she joins again, and is refused */
    (void)spend_range("key", 0, 20);
    uint64_t used = sums_of("key", KEYS).used, kept = world_stats(ANN).log_keys;
    settle_by_steps(used, &most, &right);
    OK(right && world_stats(ANN).log_batches > MANY_BATCHES && world_stats(ANN).log_keys == kept,
       "who was declared gone adds up what she was has left, and what she tells now");
    impostor_begin(MESSAGE_REPLY, 0, 2);
    impostor_reply(0, 0, false, NULL, 0);
    settle_by_steps(used, &most, &right);
    OK(right && world_stats(ANN).log_keys < kept - KEYS,
       "and what is untold stays unsettled when the former settles");
    world_close();
}

int main(void)
{
    parts();
    many_wait();
    searched_and_tallied(8, "searched");
    searched_and_tallied(MANY_BATCHES, "tallied");
    half_tallied();
    told_meanwhile();
    nobody_is_told_again();
    not_merged();
    joins_just_then();
    others_events();
    tallied_with_what_she_was();
    return tap_done();
}
