/*
 * Hot keys of a central store: what a thread takes in advance, uses, and gives back, over a wire that the test holds.
 */
#include "edge/central/central.h"

#include "tests/lib/central_wire.h"
#include "tests/lib/tap.h"

#define MS UINT64_C(1000000)

static struct central_figures figures;
static uint32_t ticket;

static struct central_charge charge_of(uint64_t key, uint64_t cost)
{
    return (struct central_charge){.id = {key, key},
                                   .cost = cost,
                                   .capacity = 1000,
                                   .coarse = {.units_per_token = 1000, .units_per_tick = 1, .tick_us = 1}};
}

static enum lease_outcome decide(struct central_charge *charge, bool again)
{
    return central_decide(test_wire.central, charge, again, test_wire.now_ns, &figures, &ticket);
}

/* A request, which asks the store if it must; its ticket, or 0. */
static uint32_t request(uint64_t key, uint64_t cost)
{
    struct central_charge charge = charge_of(key, cost);
    if (decide(&charge, false) != LEASE_ASK)
        return 0;
    return central_ask(test_wire.central, CENTRAL_TAKE, &charge, 1, test_wire.now_ns);
}

static void answer(uint32_t asked, bool allowed, uint64_t remaining)
{
    test_wire_answer(test_wire_last(), allowed, remaining);
    central_end(test_wire.central, asked, allowed);
}

/* Requests with a call for each, until the key is hot. */
static void begin(void)
{
    test_wire_open(50 * MS, 1000 * MS);
    test_wire.extra_most = 1000;
    for (uint32_t i = 0; i < LEASE_HOT - 1; i++) {
        const uint32_t asked = request(5, 1);
        OK(asked > 0 && test_wire_last()->charge[0].extra == 0,
           "a request of a key that is not hot has its own call");
        answer(asked, true, 500);
    }
}

static void test_in_hand(void)
{
    begin();
    const uint32_t asked = request(5, 1), sent = test_wire.sent_count;
    OK_U64(test_wire_last()->charge[0].extra, LEASE_HOT, "a hot one takes in advance what was asked for of late");
    struct central_charge charge = charge_of(5, 1);
    OK(decide(&charge, false) == LEASE_WAIT, "others wait for the same call");
    const uint32_t waits = ticket;
    const struct central_answer *ignored;
    OK(central_look(test_wire.central, waits, &ignored) == CENTRAL_WAITS, "until it is answered");
    OK_U64(central_stats(test_wire.central)->waiting, 2, "both are counted");
    answer(asked, true, 400);
    OK(central_look(test_wire.central, waits, &ignored) == CENTRAL_OVER, "then they are decided again");
    central_end(test_wire.central, waits, false);
    OK(decide(&charge, true) == LEASE_ALLOWED && figures.allowed && figures.remaining_tokens == 400 + LEASE_HOT - 1,
       "by what is in hand");
    for (uint32_t i = 1; i < LEASE_HOT; i++)
        OK(decide(&charge, false) == LEASE_ALLOWED, "and so are further ones");
    OK_U64(test_wire.sent_count, sent, "without a call");
    OK(decide(&charge, false) == LEASE_ASK && charge.extra > LEASE_HOT, "the next call takes more");
    struct central_charge other = charge_of(5 + LEASES, 1);
    OK(decide(&other, false) == LEASE_ASK && other.extra == 0, "a key with the same place has calls of its own");
    test_wire_close();
}

static void test_rest(void)
{
    begin();
    const uint32_t asked = request(5, 1);
    answer(asked, true, 400);
    struct central_charge charge = charge_of(5, 3);
    OK(decide(&charge, false) == LEASE_ALLOWED, "three of eight are used");
    central_put_back(test_wire.central, &charge);
    OK(decide(&charge, false) == LEASE_ALLOWED, "what another rule refuses is put back");
    const uint32_t sent = test_wire.sent_count;
    OK_U64(central_expire(test_wire.central, test_wire.now_ns + 50 * MS), test_wire.now_ns + 99 * MS,
           "it is known when a span is over");
    OK_U64(test_wire.sent_count, sent, "what is in hand stays there until then");
    test_wire.now_ns += 99 * MS;
    OK_U64(central_expire(test_wire.central, test_wire.now_ns), UINT64_MAX, "then nothing is in hand");
    const struct central_sent *back = test_wire_last();
    OK(test_wire.sent_count == sent + 1 && back->way == CENTRAL_RETURN && back->charge[0].cost == LEASE_HOT - 3 &&
           back->charge[0].stamp == 1000 + asked,
       "and the rest is given back");
    OK(back->charge[0].extra > 0, "as what was taken in advance");
    OK(decide(&charge, false) == LEASE_ASK, "nothing is in hand any more");
    test_wire_close();
}

static void test_refused(void)
{
    struct central_charge charge = charge_of(5, 1), small = charge_of(5, 0);
    begin();
    answer(request(5, 1), false, 0);
    OK(decide(&charge, false) == LEASE_REFUSED && !figures.allowed && figures.retry_after_us == 2000000,
       "a refusal is believed for a moment");
    OK(decide(&small, false) == LEASE_ASK, "but not of a smaller cost");
    test_wire.now_ns += 99 * MS;
    OK(decide(&charge, false) == LEASE_REFUSED && figures.retry_after_us == 1901000, "with the time that is left");
    test_wire.now_ns += 2 * MS;
    OK(decide(&charge, false) == LEASE_ASK, "for a span at most");
    test_wire_close();
}

static void test_failures(void)
{
    const struct central_answer *ignored;
    struct central_charge charge = charge_of(5, 1);
    begin();
    const uint32_t asked = request(5, 1);
    (void)decide(&charge, false);
    const uint32_t waits = ticket;
    test_wire.now_ns += 50 * MS;
    (void)central_expire(test_wire.central, test_wire.now_ns);
    OK(central_look(test_wire.central, waits, &ignored) == CENTRAL_FAILED,
       "at the deadline of the call those who wait for it have failed as well");
    central_end(test_wire.central, waits, false);
    central_end(test_wire.central, asked, false);
    test_wire_answer(test_wire_last(), true, 400);
    OK(test_wire_last()->way == CENTRAL_RETURN && test_wire_last()->charge[0].cost == 1 + LEASE_HOT,
       "what comes too late is given back, with all that was taken in advance");
    OK(test_wire_last()->charge[0].extra > 0, "and known as such");
    OK(decide(&charge, false) == LEASE_ASK, "and not in hand");
    const uint32_t slow = central_ask(test_wire.central, CENTRAL_TAKE, &charge, 1, test_wire.now_ns);
    const struct central_sent call = *test_wire_last();
    test_wire.now_ns += 99 * MS;
    test_wire_answer(&call, true, 400);
    OK(central_look(test_wire.central, slow, &ignored) == CENTRAL_ANSWERED,
       "an answer in time that took a whole span");
    central_end(test_wire.central, slow, true);
    OK(test_wire_last()->way == CENTRAL_RETURN && test_wire_last()->charge[0].cost == charge.extra,
       "is used, but for what was taken in advance");
    test_wire_close();
}

/* Taking in advance must refuse nothing that the limit admits. */
static void test_unfit(void)
{
    struct central_charge large = charge_of(5, 251), steep = charge_of(5, 1);
    begin();
    OK(decide(&large, false) == LEASE_ASK && large.extra == 0, "not for a quarter of the limit at once");
    steep.id.high = 6;
    steep.coarse.units_per_tick = 3;
    for (uint32_t i = 0; i <= LEASE_HOT; i++)
        OK(decide(&steep, false) == LEASE_ASK && steep.extra == 0, "nor where a burst is gained within 0.4 s");
    test_wire_close();
}

int main(void)
{
    test_in_hand();
    test_rest();
    test_refused();
    test_failures();
    test_unfit();
    return tap_done();
}
