/*
 * rule: one rule as a value: the requests that it counts, its algorithm, its amounts, and the
 * tiers, overrides and lists that change them.
 *
 * The one idea: a rule is read whole from its text (rule_text.h), is valid from then on, and never
 * changes; another version is another value. A rule is one block of memory, and its views point
 * into that block. A rule knows nothing of keys, of other rules, or of its own history.
 */
#ifndef HEADGATE_RULES_RULE_H
#define HEADGATE_RULES_RULE_H

#include "base/bytes.h"
#include "base/error.h"
#include "limit/charge.h"
#include "limit/key.h"
#include "rules/algorithm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limit_terms;
struct limit_weight;

enum {
    RULE_NAME_MAX_BYTES = 63, /* for ids, services and tiers */
    RULE_HOME_MAX_BYTES = 2 * RULE_NAME_MAX_BYTES + 1,
    RULE_ENDPOINT_MAX_BYTES = 255,
    RULE_ZONE_MAX_BYTES = 63,
    RULE_VALUE_MAX_BYTES = KEY_VALUE_MAX_BYTES, /* for identifiers in overrides and lists */
    RULE_DIMENSIONS_MAX = 8,
    RULE_TIERS_MAX = 16,
    RULE_OVERRIDES_MAX = 256,       /* of one text */
    RULE_OVERRIDES_ALL_MAX = 10000, /* of a rule, with those of its sheets (`overrides_of`) */
    RULE_FILE_MAX_BYTES = 255,
    RULE_LISTED_MAX = 256, /* for `allow`, again for `deny`, and again for `when` */
    RULE_REPLACES_MAX = 16,
    RULE_TEXT_MAX_BYTES = 32 * 1024, /* the canonical text of one rule; it fits into any message between peers */
    RULE_OVERSHOOT_MAX = 10000000,   /* millionths of the amount's limit: 1000% */
    RULE_OVERSHOOT_DEFAULT = 1000000,
    RULE_ADAPTIVE_FLOOR_DEFAULT = 100000, /* millionths */
    RULE_LOG_MAX = 10000, /* requests that a sliding log or a concurrency rule remembers for each key */
    RULE_SCALE_ONE = 20,  /* adaptive rules are scaled in steps of one twentieth */
};

#define RULE_WINDOW_MIN_NS 100000000ull /* 100 ms */
#define RULE_DEFAULT_SERVICE "default"
#define RULE_DEFAULT_DIMENSION "user"
#define RULE_DEFAULT_ZONE "UTC"
#define RULE_ANY_ENDPOINT "*"

/* When a fixed window begins. */
enum rule_begins {
    RULE_BEGINS_CLOCK,         /* at multiples of its length since 1970 */
    RULE_BEGINS_FIRST_REQUEST, /* of each key: with the first request that takes something; RULE_CENTRAL only */
};

enum rule_mode {
    RULE_ENFORCE,
    RULE_SOFT,   /* in force, but allows what is over the limit, and says so */
    RULE_SHADOW, /* not in force: it only counts */
    RULE_OFF,
};
enum rule_sync {
    RULE_GOSSIP,
    RULE_BUDGET,
    RULE_CENTRAL, /* the central store of the config decides, and `when_down` where it does not answer */
};

/* The state in which a key starts that was counted under another version of the rule. */
enum rule_inherit {
    RULE_KEEP,         /* used tokens stay used */
    RULE_PROPORTIONAL, /* the used part of the limit stays used */
    RULE_RESET,        /* no token is used */
};

/* A quota's period. */
enum rule_calendar { RULE_HOUR, RULE_DAY, RULE_WEEK, RULE_MONTH, RULE_YEAR, RULE_CALENDAR_END };

enum rule_priority {
    RULE_PRIORITY_LOW,
    RULE_PRIORITY_NORMAL, /* the priority of requests that name none */
    RULE_PRIORITY_HIGH,
    RULE_PRIORITY_CRITICAL,
    RULE_PRIORITIES,
};

/* How many tokens a rule admits for everybody, for a tier or for one identifier. All other fields
 * of an unlimited amount are 0. A limit of 0 admits nothing; its rate is 0. */
struct rule_amount {
    bool unlimited;
    uint64_t limit; /* buckets: the burst; windows and quotas: tokens per window; concurrency: holders at a time */
    uint64_t rate;  /* buckets: tokens per period_ns; others: 0 */
    uint64_t period_ns;      /* buckets: of the rate; windows: the window; concurrency: the lease; quotas: 0 */
    enum rule_calendar unit; /* of quotas; others: 0 */
};

/* True if the amount is counted: it is neither unlimited nor 0. */
static inline bool rule_amount_counts(const struct rule_amount *amount)
{
    return !amount->unlimited && amount->limit > 0;
}

struct rule_tier {
    struct bytes name;
    struct rule_amount amount;
};

/* How an entry names values: see rule_pattern.h. */
enum rule_form {
    RULE_EXACT,   /* one value */
    RULE_PREFIX,  /* all values that begin with this text, which has at most 255 bytes */
    RULE_NETWORK, /* all addresses of a network, in any spelling; the text is network_text's */
    RULE_FORMS,
};

struct rule_override {
    uint8_t dimension; /* an index into `by` */
    uint8_t form;      /* enum rule_form */
    struct bytes value;
    struct rule_amount amount;
    uint64_t until_s; /* seconds since 1970 (UTC) at which the override ends; 0: it never ends */
};

/* An identifier whose requests the rule admits uncounted (allow), denies (deny), or is about (when). */
struct rule_listed {
    struct bytes dimension; /* any name, not only one of `by` */
    struct bytes value;
    uint8_t form; /* enum rule_form of the value */
};

/*
 * A zero follows the last byte of each view, so that .data is also a C string; absent views are "".
 * Names, dimensions and zones consist of letters, digits, dot, dash and underscore (zones: also +
 * and /).
 */
struct rule {
    struct bytes id, service;
    struct bytes endpoint;                /* exact; or a prefix, which ends in '*': "/v1/" and '*', or '*' alone */
    struct bytes by[RULE_DIMENSIONS_MAX]; /* sorted by bytes, without duplicates */
    uint8_t by_count;                     /* 0: all requests have one key */
    struct bytes counts;                  /* the named cost whose tokens the rule counts; "": it counts requests */
    bool overshoot_relative;              /* true: `overshoot` is millionths of an amount's limit; false: tokens */
    bool persist;                         /* counters survive a restart of the whole cluster */
    enum rule_algorithm algorithm;
    struct rule_amount amount;
    struct bytes zone; /* quotas: a name of the tz database; else "" */
    enum rule_begins begins;
    uint64_t overshoot; /* 0 if sync is RULE_BUDGET or RULE_CENTRAL */
    enum rule_sync sync;
    enum isolation on_isolation;
    enum isolation when_down; /* of RULE_CENTRAL */
    enum rule_mode mode;
    enum rule_inherit inherit;
    /*
     * REGION or REGION/DAEMON, which has the whole share; HOME_BY_KEY, or a list with HOME_COMMA between and sorted by
     * bytes: each key has one of them; "": all have a share, by their weights.
     */
    struct bytes home;
    bool home_none;  /* the text says `home: none`: whoever sets the rule gives it no home; never in a version */
    bool home_given; /* who set the rule gave it its home; only known there */
    uint64_t weights_number; /* limit_weights_number() of `weights`; 0: it has none */
    uint64_t patience_ns;    /* how long a request waits that only a share refuses; 0: it is refused at once */
    uint32_t priority_floor[RULE_PRIORITIES]; /* millionths of the limit, falling; 0 for critical */
    uint32_t adaptive_floor;      /* millionths of the amount, 1..1,000,000; 0: the rule is not adaptive */
    uint64_t adaptive_latency_ns; /* the target of latency samples; 0: none */
    uint16_t tier_count, override_count, allow_count, deny_count, when_count, replaces_count, weights_count;
    const struct rule_tier *tiers;          /* sorted by name, without duplicates */
    const struct rule_override *overrides;  /* sorted by dimension, form and value, without duplicates */
    const struct rule_listed *allow, *deny; /* sorted by dimension, form and value, without duplicates */
    /*
     * Sorted likewise. The rule is about requests that name each dimension which is listed here, with a value that one
     * of the dimension's entries covers. Empty: the rule is about all requests.
     */
    const struct rule_listed *when;
    /* The part of each region; sorted by region, without duplicates, each above 0. Empty: as all weights say. */
    const struct limit_weight *weights;
    const struct bytes *replaces; /* ids of rules of the service; sorted by bytes, without duplicates */
    /*
     * Not "": the rule is a sheet. Its overrides are those of the rule with this id, which has the same dimensions and
     * algorithm. A sheet is off: it counts nothing by itself, and has no other fields.
     */
    struct bytes overrides_of;
    struct bytes overrides_file; /* not "": where operators' programs find more overrides */
};

/*
 * Fills *joined: `base` with the overrides of the sheet instead of its own amounts, under the sheet's name; to be asked
 * about these overrides alone. False: the sheet is not one of `base`.
 */
bool rule_of_sheet(const struct rule *sheet, const struct rule *base, struct rule *joined);

/* What a rule is known by. */
struct rule_name {
    struct bytes service, id;
};
/* The order of rules in books and lists: by service, then by id. */
int rule_name_compare(struct rule_name a, struct rule_name b);
/* The same of two `struct rule *`, for qsort and bsearch. */
int rule_by_name(const void *a, const void *b);
/* The order of overrides in a rule: by dimension, form and value. */
int rule_override_compare(const struct rule_override *a, const struct rule_override *b);
bool rule_same_dimensions(const struct rule *a, const struct rule *b);

/* Frees a rule that rule_text.h made; *rule may be NULL. */
void rule_destroy(struct rule **rule);

/* An amount of a rule, and whose it is in words of people: "rate" or "limit", or a field and a name in it. */
struct rule_amount_of {
    const char *field, *name; /* name "": the rule's own */
    const struct rule_amount *amount;
};

/* The rule's own amount, then those of its tiers, then those of its overrides. False: there are fewer. */
bool rule_amount_at(const struct rule *rule, size_t index, struct rule_amount_of *found);
/*
 * The terms of `amount` at `scale` twentieths of it (1..RULE_SCALE_ONE). The amount must belong to
 * the rule, one of its tiers or one of its overrides, and must count (rule_amount_counts). A bucket scales
 * its rate, other algorithms scale their limit; at least 1 remains. A relative overshoot is a part
 * of the scaled limit.
 */
void rule_terms(const struct rule *rule, const struct rule_amount *amount, uint32_t scale,
                struct limit_terms *terms);

/* The part of `scale` that an adaptive rule with this floor applies, 1..RULE_SCALE_ONE. Floor 0
 * (not adaptive) gives RULE_SCALE_ONE. */
uint32_t rule_scale(uint32_t adaptive_floor, uint32_t scale);

/* Names as rules and replies spell them; static. */
const char *rule_mode_name(enum rule_mode mode);
const char *rule_priority_name(enum rule_priority priority);
/* Ignores case; leaves `priority` unchanged if it returns false. */

#endif
