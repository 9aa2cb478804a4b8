/*
 * algorithm: the ways in which a rule may count, each with its properties.
 *
 * The one idea: an algorithm is a row of one table. Its word, the kind of state that it counts with, the form of its
 * amounts and what is special about it stand there, and all other files ask for a property and name no algorithm. So a
 * new algorithm that needs no new property is a row. How a kind of state counts is not said here: see limit/bucket.h.
 */
#ifndef HEADGATE_RULES_ALGORITHM_H
#define HEADGATE_RULES_ALGORITHM_H

#include "limit/limit.h"

#include <stdbool.h>

/* How the amounts of a rule are written. */
enum rule_amount_form {
    RULE_AMOUNT_RATE,     /* `rate` and `burst`: tokens come back one by one */
    RULE_AMOUNT_WINDOW,   /* `limit` and `window`, a duration */
    RULE_AMOUNT_CALENDAR, /* `limit` and `window`, a unit of the calendar, and `zone` */
};

/* What is special about an algorithm. */
enum algorithm_trait {
    ALGORITHM_SLIDES = 1, /* a part of the window before counts */
    ALGORITHM_LEASES = 2, /* a request holds its tokens until its client gives them back, at most for the window */
    ALGORITHM_DRAINS = 4, /* `CHECK ... WAIT` tells a client how long to hold a request, so that a stream is even */
    ALGORITHM_BEGINS = 8, /* `begins` says when a window begins */
    ALGORITHM_CENTRAL = 16, /* a central store can count it: see central_script.c */
    ALGORITHM_KEEPS = 32,   /* the store keeps the counters unless the rule says `persist: false` */
};

/* X(name, word, kind, form of amounts, traits). Peers and stores know an algorithm by its word alone. */
#define RULE_ALGORITHMS(X)                                                                                         \
    X(RULE_TOKEN_BUCKET, "token_bucket", LIMIT_BUCKET, RULE_AMOUNT_RATE, ALGORITHM_CENTRAL)                        \
    X(RULE_LEAKY_BUCKET, "leaky_bucket", LIMIT_BUCKET, RULE_AMOUNT_RATE, ALGORITHM_CENTRAL | ALGORITHM_DRAINS)     \
    X(RULE_FIXED_WINDOW, "fixed_window", LIMIT_CELL, RULE_AMOUNT_WINDOW, ALGORITHM_CENTRAL | ALGORITHM_BEGINS)     \
    X(RULE_SLIDING_WINDOW, "sliding_window", LIMIT_CELL, RULE_AMOUNT_WINDOW, ALGORITHM_SLIDES)                     \
    X(RULE_SLIDING_LOG, "sliding_log", LIMIT_LOG, RULE_AMOUNT_WINDOW, 0)                                           \
    X(RULE_QUOTA, "quota", LIMIT_CELL, RULE_AMOUNT_CALENDAR, ALGORITHM_KEEPS)                                      \
    X(RULE_CONCURRENCY, "concurrency", LIMIT_LOG, RULE_AMOUNT_WINDOW, ALGORITHM_LEASES)

#define RULE_ALGORITHM_NAME(name, word, kind, form, traits) name,
enum rule_algorithm { RULE_ALGORITHMS(RULE_ALGORITHM_NAME) RULE_ALGORITHMS_END };
#undef RULE_ALGORITHM_NAME

#define RULE_DEFAULT_ALGORITHM RULE_TOKEN_BUCKET

/* The word of an algorithm, as rules and replies spell it; static. */
const char *rule_algorithm_name(enum rule_algorithm algorithm);
/* The kind of state of each key. */
enum limit_kind rule_kind(enum rule_algorithm algorithm);
enum rule_amount_form rule_amount_form(enum rule_algorithm algorithm);
bool rule_has_trait(enum rule_algorithm algorithm, enum algorithm_trait trait);

/* True: tokens come back at a rate (`rate`, `burst`). False: tokens come back after a window (`limit`, `window`). */
bool rule_has_rate(enum rule_algorithm algorithm);
/* True: a window is a unit of the calendar, in a time zone. */
bool rule_has_calendar(enum rule_algorithm algorithm);
/* True: each spend is remembered by itself, at most RULE_LOG_MAX for each key. */
bool rule_is_listed(enum rule_algorithm algorithm);
/* True: all keys have windows that begin at the same times, of the clock or the calendar. */
bool rule_has_windows(enum rule_algorithm algorithm);

#endif
