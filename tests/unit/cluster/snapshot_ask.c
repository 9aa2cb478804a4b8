/* Of whom a start takes its figures: who gives none in time is passed over, and nobody gives what another one has. */
#include "cluster/codec/effects.h"
#include "tests/lib/opened_message.h"
#include "tests/lib/signing_world.h"

/* What bob, who has a snapshot to give, makes of a part of it. */
enum wrong {
    MUTE,        /* he gives none */
    UNUSABLE,    /* it is too large, however small */
    TRICKLING,   /* the same, but for the smallest: one part, and long after it was asked for */
    FAR_BEYOND,  /* it may have all that they make in the next minutes */
    FAR_AHEAD,   /* it has all that ann makes in the next minutes */
    ANN_RETIRED, /* ann has ended */
    ALL_RETIRED, /* so have all, with starts that are yet to come */
    ALL_FULL,    /* nobody has used anything */
};

enum { SPENDS = 20, AHEAD = 1000, SMALLEST_BITS = 20, LATE_MS = 3000 };

static enum wrong wrong;
static unsigned liar = BOB;
static const char *about = "ann";
static bool everybody;    /* ann as well */
static uint64_t half = 2; /* of the key space, of which FAR_AHEAD is said; 2: of all of it */
static struct effects rewritten;
static uint64_t trickled_ns; /* when a part was last given */

static void tell_wrong(struct message *message)
{
    for (uint32_t i = 0; i < message->member_count; i++) {
        struct member_record *record = &message->members[i];
        const bool is_it = bytes_equal(record->name, bytes_of(about));
        for (uint32_t o = 0; o < message->origin_count && wrong == FAR_AHEAD && is_it; o++)
            for (uint32_t r = 0; r < message->row_count && message->origins[o].member == i; r++)
                message->rows[r].applied[o] += message->rows[r].member == message->sender ? AHEAD : 0;
        if (i != message->sender && (wrong == ALL_RETIRED || (wrong == ANN_RETIRED && is_it))) {
            record->incarnation += wrong == ALL_RETIRED ? AHEAD : 0;
            record->retired_incarnation = record->incarnation;
        }
    }
}

/* Replies of bob's that have a part; their messages are no lies. */
static struct bytes lie(unsigned from, struct bytes bytes)
{
    static struct message message;
    struct message_writer writer;
    struct bytes opened = bytes;
    const struct hash_key *key = &world.host[from].options.hash_key;
    const struct limit_set limits = limits_view(&world.limits);
    if ((from != liar && !(everybody && from == ANN)) || !message_unseal(&opened, key) ||
        !message_open(&message, opened))
        return bytes;
    if (!message.has_page || message.kind != MESSAGE_REPLY) {
        message_close(&message);
        return bytes;
    }
    const bool is_split = (half < 2 && message.page_bits == 0) || wrong == UNUSABLE ||
                          (wrong == TRICKLING && message.page_bits < SMALLEST_BITS);
    if (half > 1 || message.page_prefix == half)
        tell_wrong(&message);
    effects_clear(&rewritten);
    message_begin(&writer, &rewritten, &message);
    message_begin_batches(&writer, 0);
    if (wrong == FAR_BEYOND)
        for (uint32_t o = 0; o < message.origin_count; o++)
            message.page_beyond[o] = AHEAD;
    const struct page_content page = {.prefix = message.page_prefix,
                                      .bits = message.page_bits,
                                      .split = is_split,
                                      .beyond = message.page_beyond,
                                      .beyond_count = wrong == FAR_BEYOND ? message.origin_count : 0};
    message_end_with_page(&writer, &page, &limits, 0);
    message_seal(&rewritten, writer.start, key);
    message_close(&message);
    if (wrong == MUTE || (wrong == TRICKLING && world.now_ns - trickled_ns < LATE_MS * MS))
        return (struct bytes){0};
    trickled_ns = world.now_ns;
    return (struct bytes){(const char *)rewritten.arena, rewritten.arena_size};
}

static enum peer_state state_of_cat(void)
{
    struct node_status status;
    node_status(world.host[CAT].node, &status);
    return status.state;
}

static void begin(enum wrong how, bool by_all)
{
    wrong = how;
    everybody = by_all;
    effects_init(&rewritten);
    signing_world_start(3, KEYS_LEARNT);
    world_link(BOB, CAT, LINK_STUTTERS); /* whom cat has heard last */
    world.link[BOB][CAT].delay_ns = MS;
    world_spend(ANN, "alice", 30);
    world_run(1000);
    world_crash(CAT);
    world.rewrite = lie;
    skip_text();
    world_start(CAT);
}

static void end(void)
{
    world_close();
    effects_close(&rewritten);
}

/* How long cat stays joining, at most `most_ms`. */
static unsigned joins_ms(unsigned most_ms)
{
    unsigned ms = 0;
    for (; ms < most_ms && state_of_cat() != PEER_ACTIVE; ms += 10)
        world_run(10);
    return ms;
}

static void another_one_is_asked(enum wrong how, const char *what, unsigned most_ms)
{
    begin(how, false);
    const unsigned ms = joins_ms(most_ms);
    OK(ms < most_ms, "%s: another one is asked, after %u ms", what, ms);
    world_show_one(CAT, "alice");
    OK(strstr(world.text, "cat: took a snapshot from ann\n") && strstr(world.text, "cat: alice 130.0 - 0.0, "),
       "and gives what there is");
    OK_U64(world_stats(CAT).donors_passed_over, 1, "the first one was passed over, once");
    OK(!signing_report(CAT, "bob").passed_over, "which is said no more when that is over");
    end();
}

static void nobody_gives_any(void)
{
    begin(MUTE, true);
    world_run(6000);
    OK(signing_report(CAT, "bob").passed_over && !signing_report(CAT, "ann").passed_over,
       "while it looks for a donor, it shows who is none");
    world_run(60000);
    OK(state_of_cat() == PEER_JOINING, "without a snapshot a start stays joining");
    const char *const notice = "cat: cat stays joining and refuses all: it waits for the counters of ";
    const char *found = strstr(world.text, notice), *again = found ? strstr(found + 1, notice) : NULL;
    OK(found && strstr(found, "gives none, nor does another: mend that or stop it\n"), "and says of whom it waits");
    OK(again && !strstr(again + 1, notice), "once a minute, from five seconds on");
    const uint64_t passed_over = world_stats(CAT).donors_passed_over;
    OK(passed_over >= 6, "it asks all of them again: %" PRIu64, passed_over);
    world.rewrite = NULL;
    OK(joins_ms(20000) < 20000, "and is active when one of them gives it");
    end();
}

/* At a cold start two of three wait for the third one, who goes on and gives nothing: only an operator knows better. */
static void one_is_stuck_at_a_cold_start(void)
{
    begin(MUTE, false);
    world_crash(ANN);
    world_start(ANN);
    world_run(60000);
    struct node_status status;
    node_status(world.host[ANN].node, &status);
    OK(state_of_cat() == PEER_JOINING && status.state == PEER_JOINING,
       "a cold start waits for one that gives nothing");
    OK(strstr(world.text,
              "cat: cat stays joining and refuses all: it waits for the counters of bob, which is active: "
              "its port for snapshots, bob:2, gives none: mend that or stop it\n"),
       "and says who gives nothing, and what to do");
    char waits_for[NODE_NOTICE_BYTES];
    node_waits_for(world.host[CAT].node, waits_for);
    OK(strstr(waits_for, "the counters of bob, ") == waits_for, "reports say the same");
    step(ANN, (struct event){.kind = EVENT_FORGET, .name = "bob"}, ANN);
    step(CAT, (struct event){.kind = EVENT_FORGET, .name = "bob"}, CAT);
    OK(joins_ms(5000) < 5000, "it goes on when that one is forgotten");
    node_waits_for(world.host[CAT].node, waits_for);
    OK(waits_for[0] == '\0', "and waits for nothing any more");
    end();
}

/* What cat is told of ann, what ann spends later is heard all the same. */
static void later_spends_count(enum wrong how, const char *what)
{
    begin(how, false);
    (void)joins_ms(20000);
    OK(state_of_cat() == PEER_ACTIVE, "%s: cat joins", what);
    world_run(3000);
    for (unsigned i = 0; i < SPENDS; i++) {
        world_spend(ANN, "carol", 2);
        world_run(300);
    }
    const struct charge charge = {.id = key_of("carol", 0), .cost = 10};
    OK_U64(node_return(world.host[ANN].node, &charge, 1, 10, world.now_ns), 10, "ann spends 40 and gives 10 back");
    world_run(2000);
    skip_text();
    world_show("carol");
    EXPECT("and what is spent later is heard", "ann: carol 130.0 - 0.0, may take 56, keeps 0\n"
                                               "bob: carol 130.0 - 0.0, may take 28, keeps 0\n"
                                               "cat: carol 130.0 - 0.0, may take 28, keeps 0\n");
    end();
}

static void one_says_that_all_is_left(unsigned who)
{
    liar = who;
    begin(ALL_FULL, false);
    (void)joins_ms(20000);
    OK(state_of_cat() == PEER_ACTIVE && world_stats(CAT).snapshots_taken == 2 &&
           world_stats(CAT).second_donors == 1,
       "a start takes the snapshots of two peers");
    world_show_one(CAT, "alice");
    OK(strstr(world.text, "cat: alice 130.0 - 0.0, "),
       "and the lower figure counts, whoever says that all is left");
    end();
    liar = BOB;
}

static void one_of_two_leaves(void)
{
    begin(ALL_FULL, false);
    world_link(ANN, CAT, LINK_CUT); /* so there is one donor at first */
    (void)joins_ms(2000);
    OK(state_of_cat() == PEER_ACTIVE && world_stats(CAT).second_donors == 0,
       "where one is heard, a start does not wait for another");
    end();
}

/* What cat does not hear from dan itself comes by way of the others, one of whom says that his figures have it. */
static void second_one_is_ahead(void)
{
    effects_init(&rewritten);
    wrong = FAR_AHEAD;
    everybody = false;
    liar = ANN;
    about = "dan";
    signing_world_start(4, KEYS_LEARNT);
    world_link(BOB, CAT, LINK_STUTTERS);
    world.link[BOB][CAT].delay_ns = MS;
    world_run(1000);
    world_crash(CAT);
    world_link(DAN, CAT, LINK_CUT);
    world.rewrite = lie;
    skip_text();
    world_start(CAT);
    step(CAT, (struct event){.kind = EVENT_KEY, .name = "dan", .key = signing_key[DAN]}, CAT);
    (void)joins_ms(20000);
    OK(world_stats(CAT).second_donors == 1,
       "the second donor says that it has all that dan makes in the next minutes");
    for (unsigned i = 0; i < 4; i++) {
        world_spend(DAN, "carol", 2);
        world_run(150);
    }
    world_show_one(CAT, "carol");
    OK(strstr(world.text, "cat: carol 152.0 - 0.0, "), "and what dan spends then is heard all the same");
    end();
    liar = BOB;
    about = "ann";
}

/* Two donors, while others spend: what is on its way is charged once. */
static void two_while_others_spend(void)
{
    world.rewrite = NULL;
    signing_world_start(4, KEYS_LEARNT);
    world_run(1000);
    world_crash(CAT);
    for (unsigned from = ANN; from <= DAN; from++)
        if (from != CAT && from != BOB)
            world.link[from][CAT].delay_ns = 50 * MS; /* what they spend comes to bob before */
    world_start(CAT);
    step(CAT, (struct event){.kind = EVENT_KEY, .name = "dan", .key = signing_key[DAN]}, CAT);
    unsigned spent = 0;
    for (; spent < 159 && state_of_cat() != PEER_ACTIVE; spent++) {
        world_spend(spent % 2 ? DAN : ANN, "carol", 1);
        world_run(7);
    }
    OK(state_of_cat() == PEER_ACTIVE && spent > 10 && world_stats(CAT).second_donors == 1,
       "cat takes the snapshots of two while %u tokens are spent", spent);
    world_run(2000);
    skip_text();
    world_show_one(ANN, "carol");
    world_show_one(CAT, "carol");
    const char *ann = strstr(world.text, "ann: carol "), *cat = strstr(world.text, "cat: carol ");
    OK(ann && cat && strtod(ann + 11, NULL) == strtod(cat + 11, NULL), "and counts each once");
    end();
}

int main(void)
{
    another_one_is_asked(MUTE, "a peer that gives nothing", 10000);
    another_one_is_asked(UNUSABLE, "one that gives nonsense", 20000);
    another_one_is_asked(TRICKLING, "one that gives little, late", 20000);
    nobody_gives_any();
    one_is_stuck_at_a_cold_start();
    later_spends_count(FAR_AHEAD, "a donor has what nobody has spent yet");
    for (half = 0; half < 2; half++)
        later_spends_count(FAR_AHEAD, "a donor says so of one half of the keys");
    later_spends_count(FAR_BEYOND, "a donor may have what nobody has spent yet");
    later_spends_count(ANN_RETIRED, "a donor has retired who goes on");
    later_spends_count(ALL_RETIRED, "a donor has retired all");
    one_says_that_all_is_left(BOB);
    one_says_that_all_is_left(ANN);
    one_of_two_leaves();
    second_one_is_ahead();
    two_while_others_spend();
    return tap_done();
}
