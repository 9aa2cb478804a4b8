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

/* Of one thread. */
struct observer {
    struct hot *hot;           /* set by the composition, as the next; NULL: nothing is kept */
    struct refusals *refusals; /* of all threads; NULL: no line is written */
    int64_t until_sample;      /* requests, until the next one that is noted whatever it came to */
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
