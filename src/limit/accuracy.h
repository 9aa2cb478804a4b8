/*
 * accuracy: how well a cluster kept one limit for one key, judged from outside.
 *
 * The one idea: whoever sends the requests knows what was asked for and what was granted, and can hold both
 * against one imaginary bucket. It shares no code with the limiter that it judges, and counts in floating
 * point, whose error stays below a millionth of a token.
 *
 * A grant was made at some unknown moment between sending and reply. So there are two overshoots:
 * by the replies, where every grant counts when its answer arrived; it is off by at most the rate times the
 * longest answer; and the certain one, where between any two grants the longest possible time has passed, so
 * that a limit that was kept is never accused. The truth is at least the certain one.
 */
#ifndef HEADGATE_LIMIT_ACCURACY_H
#define HEADGATE_LIMIT_ACCURACY_H

#include <stdbool.h>
#include <stdint.h>

struct accuracy_limit {
    double capacity;      /* tokens */
    double tokens_per_ns; /* > 0 */
};

struct accuracy {
    uint64_t admitted; /* tokens granted */
    uint64_t ideal;    /* tokens that one bucket would have granted, asked at the times of the replies */
    double worst_by_replies, worst_certain; /* tokens; see accuracy_overshoot_by_replies */
    /* Tokens that each imaginary bucket lacks to be full, as of last_ns. */
    double owed_by_replies, owed_certain, owed_by_ideal;
    uint64_t last_ns;
};

/* A key that nobody has asked for: its buckets are full. */
void accuracy_init(struct accuracy *accuracy);

/*
 * One answered request. `replied_ns` must not run backwards from call to call. `pending_ns` is when the oldest
 * of the requests that were unanswered just before this answer, this one included, was sent: so no answer
 * that comes later was given before it.
 */
void accuracy_record(struct accuracy *accuracy, const struct accuracy_limit *limit, uint64_t cost, bool admitted,
                     uint64_t pending_ns, uint64_t replied_ns);

/* Tokens granted beyond the limit at the worst moment, 0 or more. */
static inline double accuracy_overshoot_by_replies(const struct accuracy *accuracy)
{
    return accuracy->worst_by_replies > 0 ? accuracy->worst_by_replies : 0;
}

static inline double accuracy_overshoot_certain(const struct accuracy *accuracy)
{
    return accuracy->worst_certain > 0 ? accuracy->worst_certain : 0;
}

#endif
