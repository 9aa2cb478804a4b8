#include "tests/lib/central_wire.h"

#include "base/number.h"

#include <assert.h>
#include <string.h>

struct test_wire test_wire;

static bool on_send(void *context, uint32_t ticket, enum central_way way, const struct central_charge *charges,
                    uint32_t count)
{
    struct test_wire *wire = context;
    if (wire->broken)
        return false;
    assert(wire->sent_count < CENTRAL_SENT_MAX);
    struct central_sent *sent = &wire->sent[wire->sent_count++];
    *sent = (struct central_sent){.ticket = ticket, .way = way, .count = count};
    memcpy(sent->charge, charges, count * sizeof *charges);
    return true;
}

static void on_news(void *context)
{
    struct test_wire *wire = context;
    wire->news++;
}

void test_wire_open(uint64_t timeout_ns, uint64_t now_ns)
{
    const struct central_wire wire = {.context = &test_wire, .send = on_send, .news = on_news};
    memset(&test_wire, 0, sizeof test_wire);
    test_wire.central = central_create(&wire, timeout_ns);
    test_wire.now_ns = now_ns;
    assert(test_wire.central != NULL);
    central_connected(test_wire.central, true);
    (void)central_probe(test_wire.central, now_ns);
    test_wire_answer(test_wire_last(), true, 1);
    assert(central_is_up(test_wire.central));
}

void test_wire_close(void)
{
    central_destroy(&test_wire.central);
}

struct central_sent *test_wire_last(void)
{
    assert(test_wire.sent_count > 0);
    return &test_wire.sent[test_wire.sent_count - 1];
}

void test_wire_answer(const struct central_sent *sent, bool allowed, uint64_t remaining)
{
    struct central_answer answer = {.allowed = allowed, .count = sent->count};
    for (uint32_t i = 0; i < sent->count; i++)
        answer.figures[i] =
            (struct central_figures){.allowed = allowed,
                                     .remaining_tokens = remaining,
                                     .retry_after_us = allowed ? 0 : 2000000,
                                     .reset_after_us = 5000000,
                                     .stamp = 1000 + sent->ticket,
                                     .extra =
                                         allowed ? number_least(sent->charge[i].extra, test_wire.extra_most) : 0};
    central_answered(test_wire.central, sent->ticket, &answer, test_wire.now_ns);
}
