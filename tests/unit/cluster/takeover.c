/*
 * Rights that end by themselves, peer by peer, with clocks that a test moves: who acts, who lapses, who is taken over
 * and what brings it back. tests/sim/takeover.c tries the same in whole nodes, and tests/model the protocol whole.
 */
#include "cluster/members/takeover.h"
#include "tests/lib/tap.h"

#include <string.h>

enum { HOSTS = 3, ANN = 0, BOB = 1, CAT = 2, AFTER = 1000, SHORT = 990, LONG = 1020, TURN = 10 };

struct host {
    struct takeover takeover;
    struct takeover_view view;
    uint64_t incarnation, number;
    uint64_t known_ns[HOSTS]; /* when the newest message of each was made that is known here */
    bool is_down;
};

static struct host hosts[HOSTS];
static bool is_cut[HOSTS][HOSTS]; /* from, to */
static uint64_t now;

static struct takeover_time time_now(void)
{
    return (struct takeover_time){.now_ns = now, .awake_ns = now};
}

/* The index of a peer at a host: itself first. */
static uint32_t at(unsigned host, unsigned peer)
{
    return peer == host ? 0 : peer < host ? peer + 1 : peer;
}

static void begin(unsigned i, const uint64_t weights[HOSTS])
{
    uint64_t mine[HOSTS];
    uint32_t ranks[HOSTS];
    for (unsigned peer = 0; peer < HOSTS; peer++) {
        mine[at(i, peer)] = weights[peer];
        ranks[at(i, peer)] = peer;
    }
    memset(&hosts[i], 0, sizeof hosts[i]);
    hosts[i].view =
        (struct takeover_view){.is_covered = true, .is_settled = true, .covers = UINT64_MAX, .serves = true};
    takeover_begin(&hosts[i].takeover, AFTER, mine, ranks, HOSTS, time_now());
    takeover_has_table(&hosts[i].takeover);
}

/* `to` hears what `from` says now. */
static void tell(unsigned from, unsigned to)
{
    struct host *a = &hosts[from], *b = &hosts[to];
    const uint32_t index = at(to, from);
    struct takeover_word word = {.number = a->number,
                                 .acted = a->takeover.acted,
                                 .is_stuck = takeover_is_stuck(&a->takeover, true),
                                 .renews_us = takeover_renews(&a->takeover, at(from, to))};
    if (b->takeover.peer[index].incarnation < a->incarnation)
        takeover_started(&b->takeover, index, a->incarnation, time_now());
    if (takeover_ignores(&b->takeover, index))
        return;
    for (unsigned other = 0; other < HOSTS; other++) {
        const struct takeover_peer *peer = &a->takeover.peer[at(from, other)];
        const uint64_t bit = (uint64_t)1 << at(to, other);
        if (other == from || peer->incarnation != b->takeover.peer[at(to, other)].incarnation)
            continue;
        word.disowns |= peer->saying == SAYS_DISOWNED ? bit : 0;
        word.records |= peer->recorded ? bit : 0;
        word.takes |= peer->taken ? bit : 0;
        word.owes |= peer->owed ? bit : 0;
    }
    b->known_ns[from] = now;
    takeover_heard(&b->takeover, index, time_now());
    takeover_hear(&b->takeover, index, &word, a->known_ns[to], time_now());
}

static void turn(void)
{
    now += TURN;
    for (unsigned i = 0; i < HOSTS; i++)
        if (!hosts[i].is_down) {
            (void)takeover_expire(&hosts[i].takeover, time_now());
            (void)takeover_step(&hosts[i].takeover, &hosts[i].view, time_now());
        }
    for (unsigned from = 0; from < HOSTS; from++) {
        hosts[from].number++;
        if (!hosts[from].is_down)
            takeover_said(&hosts[from].takeover);
        for (unsigned to = 0; to < HOSTS; to++)
            if (from != to && !is_cut[from][to] && !hosts[from].is_down && !hosts[to].is_down)
                tell(from, to);
    }
}

static void run(uint64_t time)
{
    for (const uint64_t until = now + time; now < until;)
        turn();
}

static void cut(unsigned host, bool cuts)
{
    for (unsigned other = 0; other < HOSTS; other++)
        is_cut[host][other] = is_cut[other][host] = cuts;
}

static bool acts(unsigned i)
{
    return takeover_acts(&hosts[i].takeover) && now < hosts[i].takeover.right_ends_ns;
}

static const struct takeover_peer *seen(unsigned host, unsigned peer)
{
    return &hosts[host].takeover.peer[at(host, peer)];
}

/* All hear each other from the beginning, and act. */
static void world(uint64_t ann, uint64_t bob, uint64_t cat)
{
    const uint64_t weights[HOSTS] = {ann, bob, cat};
    now = 5000;
    memset(is_cut, 0, sizeof is_cut);
    for (unsigned i = 0; i < HOSTS; i++) {
        begin(i, weights);
        hosts[i].incarnation = 1;
    }
    run(LONG + 100);
}

static void join_anew(unsigned i)
{
    hosts[i].incarnation++;
    takeover_begin_anew(&hosts[i].takeover);
    takeover_has_table(&hosts[i].takeover);
}

static void all_begin(void)
{
    const uint64_t weights[HOSTS] = {1, 1, 1};
    now = 5000;
    for (unsigned i = 0; i < HOSTS; i++) {
        begin(i, weights);
        hosts[i].incarnation = 1;
    }
    run(LONG);
    OK(!acts(ANN) && !acts(BOB) && !acts(CAT),
       "who starts renews nobody until words of a former process have ended");
    run(100);
    OK(acts(ANN) && acts(BOB) && acts(CAT), "and then all act");
}

static void lapses(void)
{
    world(1, 1, 1);
    const uint64_t from = now;
    cut(CAT, true);
    run(SHORT - 2 * TURN);
    OK(acts(CAT), "who is cut off keeps its right for a while");
    OK(hosts[CAT].takeover.right_ends_ns <= from + SHORT, "which counts from when its last message was made");
    run(4 * TURN);
    OK(!acts(CAT) && hosts[CAT].takeover.stops, "and then lapses: refill pays off nothing any more");
    OK(acts(ANN) && acts(BOB) && !seen(ANN, CAT)->recorded, "before the others record that it is gone");
    run(LONG - SHORT + 4 * TURN);
    OK(seen(ANN, CAT)->taken && seen(BOB, CAT)->taken, "which they do a little later, and take it over");
    OK_U64(hosts[ANN].takeover.owed_weight, 1, "their allowances are lowered by what it may have spent");
    OK(hosts[ANN].takeover.settles && hosts[CAT].takeover.settles, "all settle what all know");
}

static void returns(void)
{
    cut(CAT, false);
    run(4 * TURN);
    OK(!acts(CAT), "who was taken over does not go on when it is heard again");
    hosts[CAT].view.is_settled = false;
    join_anew(CAT);
    run(LONG);
    OK(!acts(CAT) && hosts[CAT].takeover.settles, "it joins anew, and settles what it had spent first");
    OK_U64(hosts[ANN].takeover.owed_weight, 1, "allowances stay lowered meanwhile");
    hosts[CAT].view.is_settled = true;
    hosts[ANN].view.covers = 0;
    run(4 * TURN);
    OK(acts(CAT), "then it acts");
    OK(hosts[ANN].takeover.owed_weight == 1 && hosts[BOB].takeover.owed_weight == 0,
       "and who has applied all that it told raises its allowance");
    hosts[ANN].view.covers = UINT64_MAX;
    run(2 * TURN);
    OK_U64(hosts[ANN].takeover.owed_weight, 0, "so does the other one, later");
}

/* All three are apart: nobody can be recorded, so all go on as soon as all hear each other again. */
static void goes_on(void)
{
    world(1, 1, 1);
    for (unsigned i = 0; i < HOSTS; i++)
        cut(i, true);
    run(5 * AFTER);
    OK(!acts(ANN) && !acts(BOB) && !acts(CAT), "without a majority all lapse");
    OK(!seen(ANN, BOB)->recorded && !seen(CAT, ANN)->recorded, "and record nobody");
    cut(BOB, false);
    is_cut[ANN][CAT] = is_cut[CAT][ANN] = true;
    run(2 * LONG);
    OK(!acts(ANN) && !acts(CAT), "a majority is not enough to go on");
    is_cut[ANN][CAT] = is_cut[CAT][ANN] = false;
    hosts[ANN].view.is_covered = false;
    run(2 * LONG);
    OK(acts(BOB) && acts(CAT) && !acts(ANN), "all others must renew, and all that they know must be applied");
    hosts[ANN].view.is_covered = true;
    run(2 * TURN);
    OK(acts(ANN), "then it goes on in the same life");
}

static void changed(void)
{
    world(1, 1, 1);
    for (unsigned i = 0; i < HOSTS; i++)
        cut(i, true);
    run(2 * AFTER);
    hosts[BOB].incarnation++;
    takeover_begin_anew(&hosts[BOB].takeover);
    takeover_has_table(&hosts[BOB].takeover);
    for (unsigned i = 0; i < HOSTS; i++)
        cut(i, false);
    run(2 * LONG);
    OK(acts(BOB) && !acts(ANN) && !acts(CAT), "nobody goes on beside one who has started anew meanwhile");
    OK(takeover_wants_anew(&hosts[ANN].takeover, &hosts[ANN].view, time_now()) &&
           !takeover_wants_anew(&hosts[CAT].takeover, &hosts[CAT].view, time_now()),
       "they join anew, one after the other");
    join_anew(ANN);
    run(4 * TURN);
    OK(acts(ANN) && takeover_wants_anew(&hosts[CAT].takeover, &hosts[CAT].view, time_now()),
       "the second one when the first one acts");
}

/* Ann's word is heard late: by then it must not count, nor must her renewal. */
static void late(void)
{
    world(1, 1, 1);
    struct takeover *bob = &hosts[BOB].takeover;
    struct takeover_word word = {.number = hosts[ANN].number + 1000,
                                 .acted = true,
                                 .renews_us = true,
                                 .disowns = (uint64_t)1 << at(BOB, CAT)};
    const uint64_t made = now;
    for (unsigned i = 0; i < HOSTS; i++)
        cut(i, true);
    run(LONG + 2 * TURN);
    takeover_hear(bob, at(BOB, ANN), &word, made, time_now());
    (void)takeover_expire(bob, time_now());
    (void)takeover_step(bob, &hosts[BOB].view, time_now());
    OK(!acts(BOB), "a renewal counts from when the message was made that it names");
    OK(!seen(BOB, CAT)->recorded, "and so does a word");
}

/* Who renews a right does not believe that its owner is gone before that renewal has ended. */
static void relents(void)
{
    world(1, 1, 1);
    struct takeover *bob = &hosts[BOB].takeover;
    struct takeover_word word = {.number = hosts[ANN].number + 1000,
                                 .acted = true,
                                 .records = (uint64_t)1 << at(BOB, CAT)};
    takeover_hear(bob, at(BOB, ANN), &word, now, time_now());
    OK(!seen(BOB, CAT)->recorded, "a record of a peer that was renewed just now is not believed");
    hosts[CAT].is_down = true;
    run(LONG - 4 * TURN);
    word.number += 1000;
    takeover_hear(bob, at(BOB, ANN), &word, now, time_now());
    OK(!seen(BOB, CAT)->recorded, "nor while its right may last");
    run(8 * TURN);
    word.number += 1000;
    takeover_hear(bob, at(BOB, ANN), &word, now, time_now());
    OK(seen(BOB, CAT)->recorded, "but then");
}

static void weights(void)
{
    world(3, 1, 1);
    cut(ANN, true);
    run(3 * AFTER);
    OK(acts(ANN), "who has more than half of all weights needs nobody");
    OK(seen(ANN, BOB)->recorded && !seen(ANN, CAT)->recorded,
       "but records that one is gone, and never the last one");
    OK(!acts(BOB) && !acts(CAT) && !seen(BOB, ANN)->recorded, "and two that are less are nobody without it");
}

static void is_off(void)
{
    struct takeover off;
    const struct takeover_view view = {.serves = true};
    const struct takeover_time time = {1, 1};
    takeover_off(&off);
    OK(takeover_acts(&off) && off.settles && !off.stops && off.right_ends_ns == UINT64_MAX, "without it all act");
    OK(!takeover_expire(&off, time) && !takeover_step(&off, &view, time) && !takeover_renews(&off, 1) &&
           !takeover_wants_anew(&off, &view, time),
       "and nothing is said or done");
}

int main(void)
{
    all_begin();
    lapses();
    returns();
    goes_on();
    changed();
    late();
    relents();
    weights();
    is_off();
    return tap_done();
}
