/*
 * What is asked of a central store, over a wire that the test holds: deadlines, late answers, the breaker, and grants
 * that nobody uses.
 */
#include "edge/central/central.h"

#include "tests/lib/central_wire.h"
#include "tests/lib/tap.h"

#define MS UINT64_C(1000000)
enum { TIMEOUT_MS = 50 };

static uint64_t now_ns;

static void begin(void)
{
    now_ns = 1000 * MS;
    test_wire_open(TIMEOUT_MS * MS, now_ns);
}

static uint32_t ask(uint64_t key)
{
    const struct central_charge charge = {.id = {key, key}, .cost = 1, .capacity = 10, .window_us = 1000000};
    return central_ask(test_wire.central, CENTRAL_TAKE, &charge, 1, now_ns);
}

static enum central_state state(uint32_t ticket)
{
    const struct central_answer *answer;
    return central_look(test_wire.central, ticket, &answer);
}

static const struct central_stats *stats(void)
{
    return central_stats(test_wire.central);
}

static void test_answers(void)
{
    const struct central_answer *answer;
    begin();
    const uint32_t a = ask(1), b = ask(2);
    OK(a > 0 && b > 0 && a != b && stats()->waiting == 2, "two are on their way");
    OK(state(a) == CENTRAL_WAITS, "and wait");
    test_wire_answer(&test_wire.sent[1], true, 9);
    OK(central_look(test_wire.central, a, &answer) == CENTRAL_ANSWERED && answer->allowed &&
           answer->figures[0].remaining_tokens == 9,
       "the first is answered");
    OK(test_wire.news > 0 && state(b) == CENTRAL_WAITS, "which is news, and the second waits on");
    central_end(test_wire.central, a, true);
    OK_U64(test_wire.sent_count, 3, "what is used is not given back");
    test_wire_answer(&test_wire.sent[2], false, 0);
    central_end(test_wire.central, b, false);
    OK_U64(test_wire.sent_count, 3, "nor what was refused");
    OK(stats()->waiting == 0 && stats()->asked == 2 && stats()->failed == 0, "nobody waits any more");
    const uint32_t c = ask(3);
    const struct central_charge same = test_wire_last()->charge[0];
    struct central_charge other = same;
    other.cost = 2;
    OK(central_is_of(test_wire.central, c, CENTRAL_TAKE, &same, 1), "a ticket is known by its call");
    OK(!central_is_of(test_wire.central, c, CENTRAL_TAKE, &other, 1) &&
           !central_is_of(test_wire.central, c, CENTRAL_PEEK, &same, 1),
       "and no other");
    test_wire_answer(test_wire_last(), true, 1);
    central_end(test_wire.central, c, false);
    OK(test_wire_last()->way == CENTRAL_RETURN && test_wire_last()->charge[0].stamp == 1000 + c &&
           stats()->returned == 1,
       "a grant that nobody uses is given back, with its stamp");
    test_wire_close();
}

/* Another store is asked from now on. */
static void test_retirement(void)
{
    const struct central_answer *answer;
    begin();
    const uint32_t a = ask(1), b = ask(2);
    central_note_changing(test_wire.central, true);
    OK(stats()->connections == 1 && stats()->changing == 1, "a store, and another one that is to come");
    central_retire(test_wire.central);
    OK(stats()->connections == 0 && stats()->changing == 0 && stats()->opened == 0, "has come, and none is down");
    OK(!central_is_up(test_wire.central) && ask(3) == 0, "nothing new is asked");
    OK(!central_is_idle(test_wire.central), "two wait");
    test_wire_answer(&test_wire.sent[1], true, 9);
    OK(central_look(test_wire.central, a, &answer) == CENTRAL_ANSWERED && answer->allowed, "and are answered");
    central_end(test_wire.central, a, true);
    test_wire_answer(&test_wire.sent[2], true, 9);
    central_end(test_wire.central, b, false);
    OK(test_wire_last()->way == CENTRAL_RETURN && !central_is_idle(test_wire.central),
       "what is not used goes back to the store that gave it");
    test_wire_answer(test_wire_last(), true, 9);
    OK(central_is_idle(test_wire.central), "then it is left");
    (void)central_probe(test_wire.central, now_ns);
    test_wire_answer(test_wire_last(), true, 1);
    OK(!central_is_up(test_wire.central), "for ever, whatever it answers");
    struct central *before = test_wire.central;
    begin();
    (void)ask(1);
    central_inherit(test_wire.central, before);
    OK(stats()->asked == 3 && stats()->returned == 1 && stats()->connections == 1 && stats()->waiting == 1,
       "what it has counted stays counted");
    test_wire_close();
    central_destroy(&before);
}

static void test_deadlines(void)
{
    begin();
    const uint32_t a = ask(1);
    now_ns += 10 * MS;
    const uint32_t b = ask(2);
    OK_U64(central_expire(test_wire.central, now_ns), 1000 * MS + TIMEOUT_MS * MS, "the first deadline is known");
    now_ns += 40 * MS;
    OK_U64(central_expire(test_wire.central, now_ns), now_ns + 10 * MS, "it comes");
    OK(state(a) == CENTRAL_FAILED && state(b) == CENTRAL_WAITS, "for the first alone");
    OK(stats()->failed == 1 && central_is_up(test_wire.central), "one failure is not the end");
    central_end(test_wire.central, a, false);
    test_wire_answer(&test_wire.sent[1], true, 9);
    OK(test_wire_last()->way == CENTRAL_RETURN && stats()->late == 1, "a late grant is given back");
    test_wire_answer(&test_wire.sent[2], true, 9);
    central_end(test_wire.central, b, true);
    OK_U64(central_expire(test_wire.central, now_ns), UINT64_MAX, "what is given back has no deadline");
    const uint32_t c = ask(3), sent = test_wire.sent_count;
    now_ns += TIMEOUT_MS * MS;
    (void)central_expire(test_wire.central, now_ns);
    central_end(test_wire.central, c, true);
    test_wire_answer(test_wire_last(), true, 9);
    OK_U64(test_wire.sent_count, sent, "unless its request was let through");
    test_wire_close();
}

static void test_error(void)
{
    const struct central_wire wire = {0};
    struct central *unheard = central_create(&wire, TIMEOUT_MS * MS);
    assert(unheard != NULL);
    OK_STRING(central_error(unheard), "it has not answered yet", "a store that was never heard");
    central_set_error(unheard, "no route to host");
    OK_STRING(central_error(unheard), "no route to host", "unless it is known why");
    central_destroy(&unheard);
    begin();
    OK_STRING(central_error(test_wire.central), "", "of a store that answers nothing is told");
    central_connected(test_wire.central, false);
    OK_STRING(central_error(test_wire.central), "the connection was lost", "until it is lost");
    test_wire_close();
}

static void fail(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t ticket = ask(100 + i);
        central_failed(test_wire.central, ticket, "OOM");
        central_end(test_wire.central, ticket, false);
    }
}

static void test_breaker(void)
{
    begin();
    fail(2);
    const uint32_t good = ask(1);
    test_wire_answer(test_wire_last(), true, 1);
    central_end(test_wire.central, good, true);
    fail(2);
    OK(central_is_up(test_wire.central), "failures that are not in a row do not open it");
    fail(1);
    OK(!central_is_up(test_wire.central) && stats()->opened == 1 && stats()->connections == 0, "three in a row do");
    OK_STRING(central_error(test_wire.central), "OOM", "what was the matter is kept");
    OK_U64(ask(2), 0, "nothing is asked any more");
    now_ns += 1000 * MS;
    (void)central_probe(test_wire.central, now_ns);
    OK(test_wire_last()->way == CENTRAL_TAKE && test_wire_last()->charge[0].id.high == 0,
       "but for a probe, which writes");
    now_ns += 30 * MS;
    OK_U64(central_probe(test_wire.central, now_ns), 30 * MS, "one at a time");
    central_failed(test_wire.central, test_wire_last()->ticket, "OOM");
    OK(!central_is_up(test_wire.central), "one that fails changes nothing");
    (void)central_probe(test_wire.central, now_ns);
    test_wire_answer(test_wire_last(), true, 1);
    OK(central_is_up(test_wire.central) && stats()->connections == 1, "one that is answered closes it");
    fail(2);
    OK(central_is_up(test_wire.central), "and failures begin anew");
    (void)central_probe(test_wire.central, now_ns);
    now_ns += 2 * TIMEOUT_MS * MS;
    (void)central_expire(test_wire.central, now_ns);
    OK(!central_is_up(test_wire.central), "a probe without an answer counts as others do");
    test_wire_answer(test_wire_last(), true, 1);
    OK(!central_is_up(test_wire.central), "a late answer to it is none");
    test_wire_close();
}

/* The connection goes with what is on its way: whether that was done is not known, so nothing is done again. */
static void test_lost(void)
{
    begin();
    const uint32_t a = ask(1);
    central_connected(test_wire.central, false);
    central_failed(test_wire.central, a, "the connection was lost");
    OK(state(a) == CENTRAL_FAILED && !central_is_up(test_wire.central), "what was on its way fails");
    const uint32_t sent = test_wire.sent_count;
    central_end(test_wire.central, a, false);
    OK_U64(test_wire.sent_count, sent, "and is not given back");
    central_connected(test_wire.central, true);
    OK_U64(ask(1), 0, "a connection alone is not enough");
    (void)central_probe(test_wire.central, now_ns);
    test_wire_answer(test_wire_last(), true, 1);
    const uint32_t b = ask(1);
    test_wire_answer(test_wire_last(), true, 1);
    test_wire.broken = true;
    central_end(test_wire.central, b, false);
    OK_U64(stats()->lost, 1, "a grant that cannot be given back is counted");
    OK_U64(ask(2), 0, "what cannot be sent is not asked");
    test_wire_close();
}

static void test_limits(void)
{
    uint32_t tickets[CENTRAL_ASKS_MAX], count = 0;
    begin();
    while (count < CENTRAL_ASKS_MAX && (tickets[count] = ask(count)) > 0)
        count++;
    OK_U64(count, CENTRAL_ASKS_MAX, "so many can be on their way");
    OK(ask(5000) == 0 && stats()->crowded == 1, "and no more");
    (void)central_probe(test_wire.central, now_ns);
    OK_U64(test_wire_last()->ticket, CENTRAL_ASKS_MAX + 1, "a probe has a place of its own");
    test_wire_answer(&test_wire.sent[1], true, 1);
    central_end(test_wire.central, tickets[0], true);
    const uint32_t again = ask(5001);
    OK(again == tickets[0], "a place that is free is taken again");
    central_stop(test_wire.central);
    OK(state(again) == CENTRAL_FAILED && state(tickets[7]) == CENTRAL_FAILED && ask(5002) == 0,
       "at the end all fail, and nobody asks");
    for (uint32_t i = 1; i < count; i++)
        central_end(test_wire.central, tickets[i], false);
    central_end(test_wire.central, again, false);
    OK_U64(stats()->waiting, 0, "nobody waits");
    test_wire_close();
}

int main(void)
{
    test_answers();
    test_retirement();
    test_deadlines();
    test_error();
    test_breaker();
    test_lost();
    test_limits();
    return tap_done();
}
