/* What refill has paid off is told to nobody; what only might be is told. When it has to be: deferred_round_told.c. */
#include "cluster/spend/deferred_mark.h"
#include "cluster/state/node_state.h"
#include "tests/lib/deferred_world.h"

static void paid_off(void)
{
    world_of(2);
    take(ANN, "alice", 8);
    world_run(150);
    show("an interval later");
    world_run(400);
    show("when bob was heard since");
    take(ANN, "alice", 9);
    world_run(150);
    show("of one token more");
    EXPECT("what is paid off within an interval is not told, what takes longer is told at once",
           "an interval later: ann has 1 untold and 0 paid off, bob heard of 0 tokens\n"
           "when bob was heard since: ann has 0 untold and 1 paid off, bob heard of 0 tokens\n"
           "of one token more: ann has 0 untold and 1 paid off, bob heard of 9 tokens\n");
    world_close();
}

static void grows(void)
{
    world_of(2);
    take(ANN, "alice", 6);
    world_run(20);
    take(ANN, "alice", 6);
    show("it grows");
    world_run(150);
    show("an interval later");
    EXPECT("what has waited and becomes too much is told with the next batch",
           "it grows: ann has 1 untold and 0 paid off, bob heard of 0 tokens\n"
           "an interval later: ann has 0 untold and 0 paid off, bob heard of 12 tokens\n");
    world_close();
}

/* What bob has been told by then ann cannot know. */
static void unheard(void)
{
    world_of(2);
    world_link(BOB, ANN, LINK_HELD);
    take(ANN, "alice", 4);
    world_run(600);
    show("bob is not heard");
    world_link(BOB, ANN, LINK_FINE);
    world_run(250);
    show("he is again");
    EXPECT("nothing counts as paid off beyond what all others were heard of",
           "bob is not heard: ann has 1 untold and 0 paid off, bob heard of 0 tokens\n"
           "he is again: ann has 0 untold and 1 paid off, bob heard of 0 tokens\n");
    world_link(BOB, ANN, LINK_HELD);
    take(ANN, "alice", 4);
    world_run(2300);
    show("for long");
    EXPECT("nothing waits for long", "ann: bob is silent: its share stays reserved\n"
                                     "for long: ann has 0 untold and 1 paid off, bob heard of 4 tokens\n");
    world_close();
}

/* Both have told each other something since, but before an interval was over. */
static void heard_too_early(uint64_t cost)
{
    world_of(2);
    world_until_published(ANN);
    world_run(10);
    take(ANN, "alice", cost);
    world_until_published(ANN);
    world_until_published(BOB);
    world_run(10);
    world_link(BOB, ANN, LINK_HELD);
    world_run(250);
    show("heard within an interval");
    EXPECT("who was heard before it was paid off may have been charged since",
           "heard within an interval: ann has 1 untold and 0 paid off, bob heard of 0 tokens\n");
    world_close();
}

static void spent_elsewhere(void)
{
    world_of(2);
    take(ANN, "alice", 4);
    take(BOB, "alice", 20);
    world_run(150);
    show("both have spent");
    EXPECT("what a peer has spent from as well is told to him",
           "both have spent: ann has 0 untold and 0 paid off, bob heard of 4 tokens\n");
    world_close();
}

/* The first batch, when it settles, leaves less than refill would have needed. */
static void settles_meanwhile(void)
{
    world_of(2);
    world_link(ANN, BOB, LINK_HELD);
    take(ANN, "alice", 12);
    world_run(170);
    take(ANN, "alice", 1);
    show("the first is on its way");
    world_link(ANN, BOB, LINK_FINE);
    world_run(200);
    show("it has settled");
    EXPECT("what waits while an earlier batch of its key settles is told",
           "the first is on its way: ann has 1 untold and 0 paid off, bob heard of 0 tokens\n"
           "it has settled: ann has 0 untold and 0 paid off, bob heard of 13 tokens\n");
    world_close();
}

/* A key that never rests, for 4 s. How many tokens were told? */
static uint64_t told_of_hot(uint64_t each, unsigned late_ms)
{
    world_of(2);
    world.link[ANN][BOB].delay_ns = world.link[BOB][ANN].delay_ns = late_ms * MS;
    for (unsigned i = 0; i < 80; i++) {
        take(ANN, "alice", each);
        world_run(50);
    }
    world_run(1500);
    uint64_t told = world_stats(BOB).applied_tokens;
    world_close();
    return told;
}

static void never_rests(void)
{
    OK_U64(told_of_hot(1, 5), 0, "of a key that never rests, what was spent before is paid off as well");
    OK_U64(told_of_hot(1, 60), 0, "... also if others' news is late");
    OK_U64(told_of_hot(4, 5), 0, "... also if it is so much that not all of it is noted");
    uint64_t told = told_of_hot(1, 400);
    OK(told > 40, "where news is later than a round can wait for, it is told (%" PRIu64 " of 80)", told);
}

/* Of 3,000 keys that all wait, the table has room for half: whoever is evicted is told of. */
static void crowded(void)
{
    char key[32];
    uint64_t given = 0;
    struct table_stats table;
    world_of(2);
    for (unsigned i = 0; i < 3000; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        given += world_ask(ANN, key, FAST, 1).allowed;
        if (i % 40 == 39)
            world_run(2);
    }
    node_table_stats(world.host[ANN].node, &table);
    world_run(1000);
    struct node_stats ann = world_stats(ANN), bob = world_stats(BOB);
    tell("%s are given, %s are evicted, %" PRIu64 " wait, the rest was %s", given > 1500 ? "many" : "few",
         table.evicted_harmful_keys > 500 ? "many" : "few", ann.open_keys,
         ann.spends_paid_off + bob.applied_tokens == given ? "paid off or told" : "lost");
    EXPECT("what waits is told where the table has no room",
           "many are given, many are evicted, 0 wait, the rest was paid off or told\n");
    world_close();
}

/* A round may come by once more: what it noted of an entry that has moved is as old as the last one, not older. */
static void moves(void)
{
    enum { KEYS = 1600 };
    static const struct entry *at[KEYS];
    char key[32];
    uint64_t moved = 0, noted = 0;
    world_of(2);
    struct table *table = world.host[ANN].node->table;
    for (unsigned i = 0; i < KEYS; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        (void)world_ask(ANN, key, FAST, 1);
        for (unsigned k = 0; k <= i; k++) {
            (void)snprintf(key, sizeof key, "key %u", k);
            struct entry *entry = table_find(table, key_of(key, FAST));
            if (entry && entry == at[k])
                continue;
            moved += entry && at[k];
            noted += entry && at[k] && deferred_mark_noted(entry) > 0;
            if (entry)
                deferred_mark_note(entry); /* as a look does */
            at[k] = entry;
        }
    }
    OK(moved > 10 && noted == 0, "who moves (%" PRIu64 ") is not known to have waited at the last look", moved);
    world_close();
}

/* The same where what is to be told has no room: then nobody is charged. */
static void evicts_without_room(void)
{
    char key[32];
    unsigned given = 0, overload = 0;
    world_of_few_places();
    for (unsigned i = 0; i < 6000; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        struct verdict verdict = world_ask(ANN, key, FAST, 1);
        given += verdict.allowed;
        overload += verdict.reason == VERDICT_LOG_FULL;
    }
    world_run(1000);
    tell("%s find no room, the rest was %s", overload > 1000 ? "many" : "few",
         world_stats(ANN).spends_paid_off + world_stats(BOB).applied_tokens == given ? "paid off or told" : "lost");
    EXPECT("where evicted ones cannot be listed, nobody is evicted",
           "many find no room, the rest was paid off or told\n");
    world_close();
}

/* More than there are places for stop waiting in one step. */
static void many_at_once(void)
{
    world_of_few_places();
    take_many(ANN, 1);
    show("they wait");
    world_link(BOB, ANN, LINK_HELD);
    take_many(BOB, 20);
    world_link(BOB, ANN, LINK_FINE);
    world_run(150);
    show("bob has spent of all of them");
    EXPECT("they are told to him",
           "ann: 1 each of 400\n"
           "they wait: ann has 400 untold and 0 paid off, bob heard of 0 tokens\n"
           "bob: 20 each of 400\n"
           "bob has spent of all of them: ann has 0 untold and 0 paid off, bob heard of 400 tokens\n");
    world_close();
}

static void many_settle(void)
{
    world_of_few_places();
    world_link(ANN, BOB, LINK_HELD);
    take_many(ANN, 12);
    world_run(150);
    take_many(ANN, 1);
    show("the first are on their way");
    world_link(ANN, BOB, LINK_FINE);
    world_run(200);
    show("they have settled");
    EXPECT("so they are where earlier batches settle",
           "ann: 12 each of 400\n"
           "ann: 1 each of 400\n"
           "the first are on their way: ann has 400 untold and 0 paid off, bob heard of 0 tokens\n"
           "they have settled: ann has 0 untold and 0 paid off, bob heard of 5200 tokens\n");
    world_close();
}

/* It is known when it began to wait, though it is not written down: rounds count. These begin in the midst of one. */
static void ages(void)
{
    char key[32];
    bool older = true;
    world_init(2);
    world_name_all();
    world.host[ANN].options.silent_after_ns = 10000 * MS;
    world_start_all();
    world_run(1000);
    skip_text();
    world_link(BOB, ANN, LINK_HELD);
    take(ANN, "first", 4);
    world_run(60);
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        take(ANN, key, 4);
    }
    for (unsigned ms = 5; ms <= 1400; ms += 5) {
        world_run(5);
        older &= world_stats(ANN).open_oldest_ms + 1 >= ms;
    }
    tell("%s", older ? "they never seem younger" : "they seem younger");
    show("they all still wait");
    world_run(660);
    tell("after twenty intervals %s are told", world_stats(ANN).open_keys < 20 ? "most" : "few");
    world_run(600);
    show("a round later");
    EXPECT("nothing waits for much longer than twenty intervals",
           "they never seem younger\n"
           "they all still wait: ann has 41 untold and 0 paid off, bob heard of 0 tokens\n"
           "after twenty intervals most are told\n"
           "a round later: ann has 0 untold and 0 paid off, bob heard of 164 tokens\n");
    world_close();
}

/* Who hears of it late must not take for new what has waited for long. */
static void less_while_somebody_is_silent(void)
{
    char key[32];
    world_of(2);
    world_link(BOB, ANN, LINK_CUT);
    world_run(1500);
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        take(ANN, key, 4);
    }
    world_run(300);
    show("they wait");
    world_run(500);
    show("a moment later");
    EXPECT("while a member is silent nothing waits for much longer than four intervals",
           "ann: bob is silent: its share stays reserved\n"
           "they wait: ann has 40 untold and 0 paid off, bob heard of 0 tokens\n"
           "a moment later: ann has 0 untold and 0 paid off, bob heard of 160 tokens\n");
    world_close();
}

/* Ann's share of "fast", in tokens that it pays off in a millisecond. */
static double paid_in_ms(void)
{
    struct node_status ann;
    node_status(world.host[ANN].node, &ann);
    return 160.0 / 1000 * (double)ann.share / (double)SHARE_ONE;
}

/* Cat and dan join ann's region: of a half, a sixth is left for ann. Neither is told by ann what waits. */
static void share_falls(void)
{
    enum { KEYS = 900, EACH_MS = 20, JOIN_MS = 90 };
    double paid[KEYS] = {0};
    unsigned taken = 0, early = 0;
    char key[32];
    world_init(4);
    world_name_peer(ANN, BOB);
    world_name_peer(BOB, ANN);
    for (unsigned i = 0; i < 4; i++) {
        world.host[i].options.region_count = 2;
        world.host[i].options.regions[1].weight = world.host[i].options.regions[0].weight;
        if (i >= CAT) {
            world_name_peer(i, ANN);
            world_name_peer(i, BOB);
            memcpy(world.host[i].options.region, world.host[ANN].options.region, NODE_NAME_BYTES);
            world.link[ANN][i].delay_ns = 12 * MS; /* they ask bob */
        }
    }
    world_start(ANN);
    world_start(BOB);
    world_run(1000);
    skip_text();
    const double before = paid_in_ms();
    for (unsigned ms = 0; ms < 800; ms++) {
        for (unsigned i = 0; i < EACH_MS && ms + 15 >= JOIN_MS && paid_in_ms() == before && taken < KEYS; i++) {
            (void)snprintf(key, sizeof key, "key %u", taken);
            taken += world_ask(ANN, key, FAST, 8).allowed;
        }
        if (ms == JOIN_MS) {
            world_start(CAT);
            world_start(DAN);
        }
        world_run(1);
        unsigned full = 0;
        for (unsigned i = 0; i < taken; i++)
            full += (paid[i] += paid_in_ms()) >= 8 - 1e-6;
        early += world_stats(ANN).spends_paid_off > full;
    }
    skip_text();
    OK(taken > 300 && paid_in_ms() < before / 2, "%u keys wait when the share falls to a third", taken);
    OK_U64(early, 0, "none of them counts as paid off before it is, at the share of the moment");
    world_close();
}

int main(void)
{
    paid_off();
    grows();
    unheard();
    heard_too_early(8);
    heard_too_early(1); /* though refill was done sooner */
    spent_elsewhere();
    settles_meanwhile();
    never_rests();
    crowded();
    moves();
    evicts_without_room();
    many_at_once();
    many_settle();
    ages();
    less_while_somebody_is_silent();
    share_falls();
    return tap_done();
}
