/*
 * observe: what of each decision is kept for people to look at.
 *
 * The one idea: a decision that allowed everything costs one subtraction, until it is drawn as a sample. Only what was
 * refused or drawn comes here, and only here are words of a request read again, to learn a key's name. Decides
 * nothing, and no client sees a difference. Internal to the commands.
 */
#ifndef HEADGATE_COMMANDS_OBSERVE_H
#define HEADGATE_COMMANDS_OBSERVE_H

#include "commands/asker.h"
#include "limit/key.h"
#include "limit/verdict.h"
#include "rules/match.h"

#include <stdbool.h>
#include <stdint.h>

struct commands;
struct hot;
struct refusals;

/* Requests, by what the node does not know of them. */
struct observed_counts {
    uint64_t listed, zero; /* refused by a deny list, or by a limit of 0 */
    uint64_t shadow, soft; /* allowed, and a rule of that mode would have refused */
};

/* Of one thread. */
struct observer {
    struct hot *hot;           /* set by the composition, as the next; NULL: nothing is kept */
    struct refusals *refusals; /* of all threads; NULL: no line is written */
    int64_t until_sample;      /* requests, until the next one that is noted whatever it came to */
    struct observed_counts counts;
};

void observe_init(struct observer *observer);

/* Requests that were decided under one match. */
struct observed {
    const struct match *match;
    const struct key_id *ids;      /* of all charges of the first request, and so on */
    const struct verdict *verdict; /* likewise; NULL: the only charge decided */
    uint32_t count;                /* of requests */
    uint64_t allowed;              /* bit i: request i was */
};

/* Counts requests of one match; `noted` is what ruleset_note said of each. */
static inline void observe_count(struct observer *observer, const struct match *match, unsigned noted,
                                 uint64_t count, uint64_t allowed_count)
{
    if (__builtin_expect(match->status == MATCH_DENIED, 0))
        *(match_denial(match->passed[match->denied_by].why) == VERDICT_LIMIT_ZERO ? &observer->counts.zero
                                                                                  : &observer->counts.listed) +=
            count - allowed_count;
    if (__builtin_expect(noted == 0, 1))
        return;
    observer->counts.shadow += (noted & NOTED_SHADOW) != 0 ? allowed_count : 0;
    observer->counts.soft += (noted & NOTED_SOFT) != 0 ? allowed_count : 0;
}

/* Counts requests that were decided. True: observe() must be called for them. */
static inline bool observe_is_due(struct observer *observer, uint32_t count, bool all_allowed)
{
    observer->until_sample -= count;
    return !all_allowed || observer->until_sample <= 0;
}
void observe(struct commands *commands, const struct observed *observed, const struct asker *asker,
             uint64_t now_ns);

/*
 * Must be called for requests that some soft rule counts, with the verdicts of all charges. Nothing is refused by such
 * a rule, but what is over its limit has a line in the log of refusals.
 */
void observe_soft(struct commands *commands, const struct observed *observed, const struct asker *asker,
                  uint64_t now_ns);

/* The sketches of all threads: at most GATE_THREADS_MAX. */
uint32_t observe_hots(const struct commands *commands, struct hot **hots);

#endif
