#include "limit/sliding.h"

#include "base/number.h"

#include <assert.h>

/* units * left / window, rounded up. */
static int64_t part_of(int64_t units, uint64_t left_ns, uint64_t window_ns)
{
    assert(units >= 0);
    return (int64_t)(((uint128)(uint64_t)units * left_ns + window_ns - 1) / window_ns);
}

/* With `left_ns` of the window to go. */
static struct bucket level_with(const struct bucket *current, const struct bucket *previous,
                                const struct limit *limit, uint64_t left_ns, uint64_t window_ns)
{
    struct bucket level = *current;
    level.settled -= part_of(limit->capacity_units - previous->settled, left_ns, window_ns);
    level.unsettled += part_of(previous->unsettled, left_ns, window_ns);
    return level;
}

static uint64_t left_at(const struct sliding *sliding, uint64_t now_ns)
{
    uint64_t left_ns = sliding->window_end_ns > now_ns ? sliding->window_end_ns - now_ns : 0;
    return left_ns < sliding->window_ns ? left_ns : sliding->window_ns;
}

struct bucket sliding_level(const struct sliding *sliding, uint64_t now_ns)
{
    assert(sliding->window_ns > 0 && sliding->limit->kind == LIMIT_CELL);
    return level_with(sliding->current, sliding->previous, sliding->limit, left_at(sliding, now_ns),
                      sliding->window_ns);
}

bool sliding_allows(const struct sliding *sliding, uint64_t cost, uint64_t floor_tokens, uint64_t now_ns)
{
    const struct bucket level = sliding_level(sliding, now_ns);
    return bucket_allows(&level, sliding->limit, sliding->budget, cost, floor_tokens);
}

uint64_t sliding_remaining(const struct sliding *sliding, uint64_t floor_tokens, uint64_t now_ns)
{
    const struct bucket level = sliding_level(sliding, now_ns);
    return bucket_remaining(&level, sliding->limit, floor_tokens);
}

uint64_t sliding_available(const struct sliding *sliding, uint64_t floor_tokens, uint64_t now_ns)
{
    const struct bucket level = sliding_level(sliding, now_ns);
    return bucket_available(&level, sliding->limit, sliding->budget, floor_tokens);
}

/* ---- when ---- */

struct slope {
    const struct bucket *current, *previous;
    const struct sliding *sliding;
    const struct bucket_wait *wait;
};

static bool allowed_with(const struct slope *slope, uint64_t left_ns)
{
    const struct sliding *sliding = slope->sliding;
    const struct bucket level =
        level_with(slope->current, slope->previous, sliding->limit, left_ns, sliding->window_ns);
    return bucket_allows(&level, sliding->limit, sliding->budget, slope->wait->cost, slope->wait->floor_tokens);
}

/* The longest rest of the window with which the cost is allowed; less than `left_ns`. With no rest it is allowed. */
static uint64_t most_left(const struct slope *slope, uint64_t left_ns)
{
    uint64_t good = 0, bad = left_ns;
    while (bad - good > 1) {
        uint64_t middle = good + (bad - good) / 2;
        if (allowed_with(slope, middle))
            good = middle;
        else
            bad = middle;
    }
    return good;
}

/* From now on, in this window or the next one, the weight of each spend only falls. */
static uint64_t wait_with(const struct sliding *sliding, const struct bucket_wait *wait,
                          const struct bucket *current, const struct bucket *previous)
{
    const struct bucket fresh = {.settled = sliding->limit->capacity_units};
    uint64_t left_ns = left_at(sliding, wait->now_ns);
    struct slope slope = {current, previous, sliding, wait};
    if (allowed_with(&slope, left_ns))
        return 0;
    if (allowed_with(&slope, 0))
        return left_ns - most_left(&slope, left_ns);
    slope.current = &fresh;
    slope.previous = current;
    if (allowed_with(&slope, sliding->window_ns))
        return left_ns;
    if (!allowed_with(&slope, 0))
        return UINT64_MAX;
    return left_ns + sliding->window_ns - most_left(&slope, sliding->window_ns);
}

uint64_t sliding_retry_after_ns(const struct sliding *sliding, const struct bucket_wait *wait)
{
    if (wait->cost > sliding->limit->capacity)
        return UINT64_MAX;
    uint64_t wait_ns = wait_with(sliding, wait, sliding->current, sliding->previous);
    if (sliding->budget->alone || wait_ns <= wait->settle_ns)
        return wait_ns;
    const struct bucket current = {.settled = sliding->current->settled - sliding->current->unsettled},
                        previous = {.settled = sliding->previous->settled - sliding->previous->unsettled};
    wait_ns = wait_with(sliding, wait, &current, &previous);
    return wait_ns > wait->settle_ns ? wait_ns : wait->settle_ns;
}

uint64_t sliding_reset_after_ns(const struct sliding *sliding, uint64_t now_ns)
{
    uint64_t left_ns = left_at(sliding, now_ns);
    if (!bucket_is_full(sliding->current, sliding->limit))
        return left_ns + sliding->window_ns;
    return bucket_is_full(sliding->previous, sliding->limit) ? 0 : left_ns;
}
