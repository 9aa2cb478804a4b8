/*
 * rule: what one rule says: whom it counts, by which algorithm, how much, and for whom else or not at all.
 *
 * The one idea: a rule is a value. It is read whole from its text (rule_text.h), is right in itself from then on,
 * and never changes; another version is another value. It is one block of memory, and its views point into it.
 * A rule knows nothing of keys, of other rules, or of its own history.
 */
#ifndef HEADGATE_RULES_RULE_H
#define HEADGATE_RULES_RULE_H

#include "base/bytes.h"
#include "base/error.h"
#include "limit/charge.h"
#include "limit/key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limit_terms;

enum {
    RULE_NAME_MAX_BYTES = 63, /* of an id, a service, a tier */
    RULE_ENDPOINT_MAX_BYTES = 255,
    RULE_ZONE_MAX_BYTES = 63,
    RULE_VALUE_MAX_BYTES = KEY_VALUE_MAX_BYTES, /* of an identifier in an override or a list */
    RULE_DIMENSIONS_MAX = 8,
    RULE_TIERS_MAX = 16,
    RULE_OVERRIDES_MAX = 256,
    RULE_LISTED_MAX = 256,           /* in `allow`, and in `deny` */
    RULE_TEXT_MAX_BYTES = 32 * 1024, /* of one rule's canonical text: it fits any message between peers */
    RULE_OVERSHOOT_MAX = 10000000,   /* millionths of the amount's limit: 1000% */
    RULE_OVERSHOOT_DEFAULT = 1000000,
    RULE_ADAPTIVE_FLOOR_DEFAULT = 100000, /* millionths */
    RULE_LOG_MAX = 10000, /* requests that a sliding log or a concurrency rule remembers for a key */
    RULE_SCALE_ONE = 20,  /* adaptive rules are scaled in steps of one twentieth */
};

#define RULE_WINDOW_MIN_NS 100000000ull /* 100 ms */
#define RULE_DEFAULT_SERVICE "default"
#define RULE_DEFAULT_DIMENSION "user"
#define RULE_DEFAULT_ZONE "UTC"
#define RULE_ANY_ENDPOINT "*"

enum rule_algorithm {
    RULE_TOKEN_BUCKET,
    RULE_LEAKY_BUCKET,
    RULE_FIXED_WINDOW,
    RULE_SLIDING_WINDOW,
    RULE_SLIDING_LOG,
    RULE_QUOTA,
    RULE_CONCURRENCY,
    RULE_ALGORITHMS_END,
};

enum rule_mode { RULE_ENFORCE, RULE_SHADOW, RULE_OFF };
enum rule_sync { RULE_GOSSIP, RULE_BUDGET };

/* What a key that was counted under another version of the rule starts with. */
enum rule_inherit {
    RULE_KEEP,         /* tokens used stay used */
    RULE_PROPORTIONAL, /* the part of the limit that is used stays used */
    RULE_RESET,        /* nothing is used */
};

/* A quota's period. */
enum rule_calendar { RULE_HOUR, RULE_DAY, RULE_WEEK, RULE_MONTH, RULE_YEAR, RULE_CALENDAR_END };

enum rule_priority {
    RULE_PRIORITY_LOW,
    RULE_PRIORITY_NORMAL, /* of requests that do not say */
    RULE_PRIORITY_HIGH,
    RULE_PRIORITY_CRITICAL,
    RULE_PRIORITIES,
};

/* How much a rule lets through, for everybody, a tier or one identifier. All of 0 if it is unlimited. */
struct rule_amount {
    bool unlimited;
    uint64_t limit;          /* buckets: the burst; windows and quotas: of a window; concurrency: at a time */
    uint64_t rate;           /* buckets: tokens per period_ns; else 0 */
    uint64_t period_ns;      /* buckets: of the rate; windows: the window; concurrency: the lease; quotas: 0 */
    enum rule_calendar unit; /* quotas; else 0 */
};

struct rule_tier {
    struct bytes name;
    struct rule_amount amount;
};

/* Which values an entry names: see rule_pattern.h. */
enum rule_form {
    RULE_EXACT,   /* this one */
    RULE_PREFIX,  /* all that begin with it; at most 255 bytes */
    RULE_NETWORK, /* addresses in it, however they are written; its text, as network_text writes it */
    RULE_FORMS,
};

struct rule_override {
    uint8_t dimension; /* an index into `by` */
    uint8_t form;      /* enum rule_form */
    struct bytes value;
    struct rule_amount amount;
    uint64_t until_s; /* seconds since 1970 (UTC) from which on it holds no more; 0: it always holds */
};

/* An identifier whose requests the rule lets through uncounted (allow) or denies (deny). */
struct rule_listed {
    struct bytes dimension; /* any name, not only one of `by` */
    struct bytes value;
    uint8_t form; /* enum rule_form, of the value */
};

/*
 * Views are terminated by a zero behind their last byte, so that .data is also a string; absent ones are "".
 * Names, dimensions and zones are of letters, digits, dot, dash and underscore (zones: also + and /).
 */
struct rule {
    struct bytes id, service;
    struct bytes endpoint;                /* exact; or a prefix, which ends in '*': "/v1/" and '*', or '*' alone */
    uint8_t by_count;                     /* 0: all requests have one key */
    struct bytes by[RULE_DIMENSIONS_MAX]; /* sorted by bytes, each once */
    enum rule_algorithm algorithm;
    struct rule_amount amount;
    struct bytes zone;       /* quotas: a name of the tz database; else "" */
    bool overshoot_relative; /* `overshoot` is millionths of an amount's limit, else tokens */
    uint64_t overshoot;      /* 0 if sync is RULE_BUDGET */
    enum rule_sync sync;
    enum isolation on_isolation;
    enum rule_mode mode;
    enum rule_inherit inherit;
    bool persist;                             /* counters are kept over a restart of everything */
    uint32_t priority_floor[RULE_PRIORITIES]; /* millionths of the limit; falling, 0 for critical */
    uint32_t adaptive_floor;                  /* millionths of the amount, 1..1,000,000; 0: not adaptive */
    uint64_t adaptive_latency_ns;             /* the target of latency samples; 0: none */
    uint16_t tier_count, override_count, allow_count, deny_count;
    const struct rule_tier *tiers;          /* sorted by name, each once */
    const struct rule_override *overrides;  /* sorted by dimension, form, value; each once */
    const struct rule_listed *allow, *deny; /* sorted by dimension, form, value; each once */
};

/* Frees what rule_text.h made; NULL is allowed. */
void rule_destroy(struct rule **rule);

/* Buckets, as opposed to rules that count what was spent within a window. */
bool rule_is_bucket(enum rule_algorithm algorithm);

/*
 * The terms of `amount`, which is the rule's, a tier's or an override's and is not unlimited, at `scale` twentieths
 * (1..RULE_SCALE_ONE) of it: buckets scale their rate, the others their limit; at least 1 is left. A part that
 * `overshoot` names is of the limit that remains.
 */
void rule_terms(const struct rule *rule, const struct rule_amount *amount, uint32_t scale,
                struct limit_terms *terms);

/* What of `scale` an adaptive rule with that floor heeds, 1..RULE_SCALE_ONE; all of it if it is not adaptive (0). */
uint32_t rule_scale(uint32_t adaptive_floor, uint32_t scale);

/* Names as they stand in rules and replies; static. */
const char *rule_algorithm_name(enum rule_algorithm algorithm);
const char *rule_mode_name(enum rule_mode mode);
const char *rule_priority_name(enum rule_priority priority);
/* Case is ignored; false leaves `priority`. */
bool rule_priority_parse(struct bytes text, enum rule_priority *priority);

#endif
