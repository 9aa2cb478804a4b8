/*
 * Converts counters between the node's monotonic clock and the store's wall clock.
 */
#include "persist.h"

#include "base/number.h"
#include "limit/bucket.h"

#define SLOW_BUCKET_NS (UINT64_MAX / 4) /* less than it takes to fill */

struct store_counter persist_counter(const struct counter *counter, uint64_t now_ns, uint64_t wall_ns)
{
    struct store_counter kept = {.id = counter->id, .terms = counter->terms};
    if (counter->number == 0)
        return kept; /* a bucket that is full, or an expired cell: nothing to keep */
    switch ((enum limit_kind)counter->terms.kind) {
    case LIMIT_BUCKET:
        /* A number of tokens: its bucket takes centuries to fill, and nothing is known to come back meanwhile. */
        if (!bucket_number_is_time(&counter->terms))
            kept.number = counter->number;
        kept.until_wall_ns = number_sum(wall_ns, kept.number > 0 ? SLOW_BUCKET_NS : counter->number);
        break;
    case LIMIT_CELL:
    case LIMIT_LOG:
        kept.number = counter->number;
        kept.until_wall_ns = counter->expires_ns > now_ns ? number_sum(wall_ns, counter->expires_ns - now_ns) : 0;
        break;
    case LIMIT_KINDS:
        break;
    }
    return kept;
}

bool persist_counter_back(const struct store_counter *kept, uint64_t now_ns, uint64_t wall_ns,
                          struct counter *counter)
{
    if (kept->until_wall_ns <= wall_ns)
        return false;
    *counter = (struct counter){.id = kept->id, .terms = kept->terms, .number = kept->number};
    if (kept->terms.kind == LIMIT_BUCKET && kept->number == 0)
        counter->number = kept->until_wall_ns - wall_ns;
    if (kept->terms.kind == LIMIT_CELL || kept->terms.kind == LIMIT_LOG)
        counter->expires_ns = number_sum(now_ns, kept->until_wall_ns - wall_ns);
    return counter->number > 0 && kept->terms.kind < LIMIT_KINDS;
}

struct store_part persist_part(const struct counter_part *part, uint64_t now_ns, uint64_t wall_ns)
{
    return (struct store_part){.until_wall_ns = number_sum(wall_ns, number_minus(part->ends_ns, now_ns)),
                               .tokens = part->tokens};
}

struct counter_part persist_part_back(const struct store_part *kept, uint64_t now_ns, uint64_t wall_ns)
{
    return (struct counter_part){.ends_ns = number_sum(now_ns, number_minus(kept->until_wall_ns, wall_ns)),
                                 .tokens = kept->tokens};
}
