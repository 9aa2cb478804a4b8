/*
 * refusals: a line of JSON in a file for each key that a rule refuses, once in each window.
 *
 * The one idea: a key that is refused is refused again and again, so one line tells of all refusals
 * in a window, and the next line of the key says how many had none. A table of fixed size, which all
 * threads share, remembers for which keys there was a line. It forgets keys when it is full, which
 * costs a line too many and never one too few.
 */
#ifndef HEADGATE_COMMANDS_REFUSALS_H
#define HEADGATE_COMMANDS_REFUSALS_H

#include "base/bytes.h"
#include "edge/process/journal.h"

#include <stdbool.h>
#include <stdint.h>

enum { REFUSALS_KEYS = 1 << 14 };                     /* that are remembered */
#define REFUSALS_WINDOW_MIN_NS ((uint64_t)1000000000) /* a line for a key at most so often */

struct refusals;

/* `journal` must outlive it. NULL: memory is short. */
struct refusals *refusals_create(struct journal *journal);
void refusals_destroy(struct refusals **refusals);

struct refusal {
    struct bytes service, rule; /* service empty: a limit of the config */
    struct bytes tier;          /* empty: none */
    uint64_t fingerprint;
    uint64_t window_ns; /* 0 or UINT64_MAX: the rule has none */
    bool soft;          /* the rule is soft: the request was over its limit, and allowed */
};

/*
 * Counts a refusal. False: there was a line for that key in this window. True: there is none yet, *repeats of its
 * refusals had no line since the last one, and the caller must write one.
 */
bool refusals_wants(struct refusals *refusals, const struct refusal *refusal, uint64_t now_ns, uint64_t *repeats);

/* What a line says beside the refusal; empty texts are null in it, and a NULL as well. */
struct refusal_about {
    const char *region, *node, *reason, *name;
    struct bytes trace; /* traceparent of HTTP */
    uint64_t repeats;
};
void refusals_write(struct refusals *refusals, const struct refusal *refusal, const struct refusal_about *about);

struct refusals_stats {
    struct journal_stats journal;
    uint64_t repeated; /* refusals that had no line of their own */
};
void refusals_stats(struct refusals *refusals, struct refusals_stats *stats);

#endif
