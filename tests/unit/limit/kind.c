/* What the properties of a kind promise is what its buckets do as time passes. */
#include "limit/kind.h"

#include "limit/bucket.h"
#include "limit/events.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/limits.h"
#include "tests/lib/tap.h"

enum { TOKENS = 10 };
#define PERIOD_NS UINT64_C(1000000000)

static struct limit limit_of_kind(enum limit_kind kind, struct events *events)
{
    const struct limit_terms terms = {.kind = (uint8_t)kind,
                                      .capacity = TOKENS,
                                      .rate = kind_refills(kind) ? TOKENS : 0,
                                      .period_ns = kind_expires(kind) ? 0 : PERIOD_NS};
    struct limit limit = limit_made(&terms);
    limit.events = events;
    return limit;
}

/* Tokens that are left at that time of a key whose tokens were all spent half at 0 and half at a quarter period. */
static uint64_t left_at(const struct limit *limit, uint64_t at_ns)
{
    struct budget alone;
    struct bucket bucket;
    budget_init(&alone, limit, SHARE_ONE, true);
    bucket_fill(&bucket, limit, 0, kind_expires(limit->kind) ? PERIOD_NS : 0);
    for (uint64_t when_ns = 0; when_ns <= PERIOD_NS / 4; when_ns += PERIOD_NS / 4)
        OK(bucket_take(&bucket, limit, &alone, TOKENS / 2, 0, when_ns), "half of it is taken");
    bucket_refill(&bucket, limit, &alone, at_ns);
    uint64_t left = bucket_available(&bucket, limit, &alone, 0);
    bucket_close(&bucket, limit);
    return left;
}

static void test_one_kind(enum limit_kind kind, struct events *events)
{
    const struct limit limit = limit_of_kind(kind, events);
    uint64_t soon = left_at(&limit, PERIOD_NS / 2), then = left_at(&limit, PERIOD_NS + PERIOD_NS / 8);
    OK((soon > 0) == kind_refills(kind), "kind %d: tokens come back bit by bit if it refills", (int)kind);
    OK((soon == 0 && then == TOKENS / 2) == kind_lists(kind),
       "kind %d: a spend ends at its own time if it lists them", (int)kind);
    OK((soon == 0 && then == TOKENS) == kind_expires(kind),
       "kind %d: nothing comes back before all of it does at once if it expires", (int)kind);
    OK(kind_refills(kind) + kind_lists(kind) + kind_expires(kind) == 1, "kind %d: in one way", (int)kind);
    OK(kind_travels_with_end(kind, false) == kind_expires(kind), "kind %d: its end travels if it expires",
       (int)kind);
    OK(kind_travels_with_end(kind, true) == (kind_expires(kind) || kind_lists(kind)),
       "kind %d: or if a listed spend was given back", (int)kind);
}

int main(void)
{
    struct events *events = events_create(4 * TOKENS);
    for (int kind = 0; kind < LIMIT_KINDS; kind++)
        test_one_kind((enum limit_kind)kind, events);
    events_destroy(&events);
    return tap_done();
}
