#include "limit/accuracy.h"

#include <assert.h>
#include <string.h>

/* Hides what rounding leaves of an exact zero. */
static const double rounding_tokens = 1e-6;

void accuracy_init(struct accuracy *accuracy)
{
    memset(accuracy, 0, sizeof *accuracy);
}

static double above(double value, double least)
{
    return value > least ? value : least;
}

/*
 * owed_certain is not stopped at zero while time passes: a grant counts as if the bucket had last been full at
 * pending_ns at the latest, and how long before that it really was does not matter.
 */
static void pass_time(struct accuracy *accuracy, const struct accuracy_limit *limit, uint64_t now_ns)
{
    assert(now_ns >= accuracy->last_ns);
    double refilled = (double)(now_ns - accuracy->last_ns) * limit->tokens_per_ns;
    accuracy->last_ns = now_ns;
    accuracy->owed_by_replies = above(accuracy->owed_by_replies - refilled, 0);
    accuracy->owed_by_ideal = above(accuracy->owed_by_ideal - refilled, 0);
    accuracy->owed_certain -= refilled;
}

void accuracy_record(struct accuracy *accuracy, const struct accuracy_limit *limit, uint64_t cost, bool admitted,
                     uint64_t pending_ns, uint64_t replied_ns)
{
    assert(limit->capacity > 0 && limit->tokens_per_ns > 0 && pending_ns <= replied_ns);
    double tokens = (double)cost;
    pass_time(accuracy, limit, replied_ns);
    if (accuracy->owed_by_ideal + tokens <= limit->capacity + rounding_tokens) {
        accuracy->owed_by_ideal += tokens;
        accuracy->ideal += cost;
    }
    if (!admitted)
        return;
    accuracy->admitted += cost;
    accuracy->owed_by_replies += tokens;
    accuracy->worst_by_replies =
        above(accuracy->worst_by_replies, accuracy->owed_by_replies - limit->capacity - rounding_tokens);
    double full_at_pending = -(double)(replied_ns - pending_ns) * limit->tokens_per_ns;
    accuracy->owed_certain = above(accuracy->owed_certain, full_at_pending) + tokens;
    accuracy->worst_certain =
        above(accuracy->worst_certain, accuracy->owed_certain - limit->capacity - rounding_tokens);
}
