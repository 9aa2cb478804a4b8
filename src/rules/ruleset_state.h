/*
 * ruleset_state: what rules are compiled to. Shared by ruleset*.c and match.c, nobody else's.
 *
 * A service is one arena. Its patterns lead to plans, a plan's steps to variants: one version of one rule each.
 * Steps of a plan stand in groups of one combination of dimensions, within a group in levels of one pattern, the
 * most specific first. A group without a canary ends with the first level that has an enforced rule; with a canary,
 * the next level is there for those keys that the level's version is not for.
 */
#ifndef HEADGATE_RULES_RULESET_STATE_H
#define HEADGATE_RULES_RULESET_STATE_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/network.h"
#include "limit/limit.h"
#include "rules/calendar.h"
#include "rules/ruleset.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    LIMIT_NONE = UINT16_MAX, /* instead of an index: unlimited */
    MILLION = 1000000,
    LINE_BYTES = 64,       /* of memory that is fetched together: what requests need begins with one */
    WINDOWS_MAX = 4096,    /* different kinds in use */
    WINDOW_TICK_BITS = 26, /* expiries are rounded up to whole 2^26 ns, so that there are few of them */
};

/* A short text that is compared often: texts are equal if size and head are, and what is beyond 8 bytes. */
struct word {
    uint64_t head;
    struct bytes text;
};

static inline uint64_t load_32(const char *data)
{
    uint32_t value;
    memcpy(&value, data, sizeof value);
    return value;
}

static inline uint64_t load_64(const char *data)
{
    uint64_t value;
    memcpy(&value, data, sizeof value);
    return value;
}

/* The first 8 bytes, or all there are: distinct for distinct texts of one size up to 8. */
static inline uint64_t text_head(struct bytes text)
{
    if (text.size >= 8)
        return load_64(text.data);
    if (text.size >= 4)
        return load_32(text.data) | load_32(text.data + text.size - 4) << 32;
    if (text.size == 0)
        return 0;
    return (uint64_t)(unsigned char)text.data[0] | (uint64_t)(unsigned char)text.data[text.size / 2] << 8 |
           (uint64_t)(unsigned char)text.data[text.size - 1] << 16;
}

static inline bool word_is(const struct word *word, struct bytes text, uint64_t head)
{
    return word->head == head && word->text.size == text.size &&
           (text.size <= 8 || memcmp(word->text.data, text.data, text.size) == 0);
}

/* The index of that text, e.g. the bit of a dimension or a tier of a service; -1: it is not among them. */
static inline int word_find(const struct word *words, uint32_t count, struct bytes text)
{
    uint64_t head = text_head(text);
    for (uint32_t i = 0; i < count; i++)
        if (word_is(&words[i], text, head))
            return (int)i;
    return -1;
}

/*
 * For tables whose content operators choose; strangers can but ask in vain. Not keyed, unlike the hashes of keys.
 */
static inline uint64_t text_hash(struct bytes text, uint64_t seed)
{
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    uint64_t hash = (text.size + seed) * odd;
    for (; text.size >= 8; text.data += 8, text.size -= 8) {
        hash = (hash ^ load_64(text.data)) * odd;
        hash ^= hash >> 29;
    }
    hash = (hash ^ text_head(text)) * odd;
    return hash ^ hash >> 32;
}
#define SEED_SERVICE 0u
#define SEED_EXACT (1u << 16) /* beyond all sizes */
#define SEED_PREFIX (2u << 16)

/* ---- windows ---- */

/* The present window, as one thread knows it: good while the wall clock is within and the clocks stay together. */
struct present {
    _Alignas(LINE_BYTES) uint64_t wall_start_ns;
    uint64_t wall_length_ns;
    uint64_t offset_ns; /* wall minus monotonic clock, modulo 2^64 */
    uint64_t end_ns, expires_ns, next_expires_ns;
    struct key_id stamp, previous; /* joined to a key, they make it one of this window, or of the one before */
};

/* Rules with windows of one kind share what is known of them. */
struct window {
    uint32_t users;          /* amounts; 0: free */
    uint64_t period_ns;      /* all windows are this long; 0: a calendar's are */
    enum rule_calendar unit; /* of a calendar's */
    char zone[RULE_ZONE_MAX_BYTES + 1];
    struct calendar *calendar; /* NULL if period_ns is given */
    atomic_bool asked;         /* the calendar is: by one thread at a time */
    struct present present[];  /* of each lane */
};

struct windows {
    struct window **window; /* `room` of them; NULL or users 0: free */
    uint32_t count, room, lanes;
    struct hash_key hash_key;
};

void windows_close(struct windows *windows);
/* The window of that kind, with one user more. NULL, with a sentence, without memory or zone. */
struct window *window_obtain(struct windows *windows, uint64_t period_ns, enum rule_calendar unit,
                             struct bytes zone, struct error *error);
void window_release(struct window *window);
/* Works out window->present[lane]. */
void window_renew(const struct windows *windows, struct window *window, uint8_t lane, uint64_t now_ns,
                  uint64_t wall_ns);

/* The clocks may move apart by half a tick before their difference is taken anew. */
static inline bool present_is_current(const struct present *present, uint64_t now_ns, uint64_t wall_ns)
{
    const uint64_t tick_ns = (uint64_t)1 << WINDOW_TICK_BITS;
    return wall_ns - present->wall_start_ns < present->wall_length_ns &&
           wall_ns - now_ns - present->offset_ns + tick_ns / 2 <= tick_ns;
}

/* ---- one version of a rule ---- */

struct amount {
    uint64_t capacity;
    struct window *window; /* NULL: no windows */
    uint16_t limit;        /* LIMIT_NONE: unlimited */
};

enum roster_kind { ROSTER_EMPTY, ROSTER_DENY, ROSTER_ALLOW, ROSTER_OVERRIDE };

/* Identifiers that a version names: an open addressing table, at most half full. */
struct roster_entry {
    struct key_id part;    /* the identifier's: equal parts are the same identifier */
    uint64_t until_s;      /* overrides; UINT64_MAX: for ever */
    struct amount *amount; /* overrides */
    uint8_t kind;
};

struct roster {
    uint32_t dimensions; /* bits: that occur in it */
    uint32_t mask;
    struct roster_entry *entry;             /* mask + 1 */
    const struct roster_patterns *patterns; /* NULL: none */
};

/*
 * ruleset_roster.c. Entries about more than one value: all that begin so, or an address's network. Of each length that
 * occurs one entry is looked up, so that the work is bounded by the number of lengths, whatever the lists' size.
 */
enum {
    ROSTER_LENGTHS_MAX = 40
}; /* of beginnings, of networks of IPv4 and of IPv6, in one rule for one dimension */

enum roster_form { ROSTER_PREFIX, ROSTER_IPV4, ROSTER_IPV6, ROSTER_FORMS };

/* The lengths that occur for one dimension, falling: bytes, or bits. */
struct roster_lengths {
    uint8_t count[ROSTER_FORMS];
    uint8_t length[ROSTER_FORMS][ROSTER_LENGTHS_MAX];
};

struct roster_pattern {
    struct bytes head; /* the beginning, or the network's 16 bytes; NULL: free */
    uint32_t hash;
    uint8_t dimension, form, length;
    struct roster_entry entry;
};

struct roster_patterns {
    uint32_t dimensions; /* bits: that they are about */
    uint32_t mask;
    struct roster_pattern *pattern; /* mask + 1; at most half full */
    struct roster_lengths *lengths; /* of each of the dimensions, in their order */
};

/* Goes through the entries that cover one value: the longest beginning first, then the longest network. */
struct roster_walk {
    const struct roster_patterns *patterns;
    const struct roster_lengths *lengths;
    struct bytes value;
    struct address address; /* as far as lengths were looked at, masked */
    uint8_t dimension, form, index;
};
void roster_walk_begin(struct roster_walk *walk, const struct roster_patterns *patterns, unsigned dimension,
                       struct bytes value);
/* NULL: no further one. */
const struct roster_entry *roster_walk_next(struct roster_walk *walk);

struct slot;

struct variant {
    _Alignas(LINE_BYTES) struct key_id salt;
    struct amount base;
    const struct roster *roster; /* NULL: empty */
    struct amount *tier;         /* in the order of their bits */
    uint64_t tiers;              /* bits: which of the service's tiers it has */
    struct slot *slot;
    struct rule_tally *tally;           /* the slot's */
    uint64_t selector;                  /* makes the canary's choice of keys another one for each rule */
    uint32_t select_from, select_below; /* which millionths of the keys it is for */
    uint32_t dimensions;                /* bits: `by` */
    uint32_t floor[RULE_PRIORITIES];    /* millionths of the amount */
    uint8_t inherit, on_isolation;
    bool sliding, shadow, concurrency, candidate;
    bool plain; /* where no tier of it is the request's, its own amount alone counts: no lists, windows, leases */
    /* What requests do not need: */
    struct ruled_version version;
    uint32_t pattern; /* index */
    uint32_t adaptive_floor;
    uint64_t latency_target_ns;
    uint32_t override_count;
    struct amount *overrides;
    struct rule basis;           /* what rule_terms reads of the rule: no views, no lists */
    struct rule_amount *amounts; /* what the amounts come from: the base, the tiers, the overrides */
};

/* A rule, whatever its versions. */
struct slot {
    _Alignas(LINE_BYTES) struct ruled ruled;
    uint64_t canary;
    struct variant *variant[2]; /* stable, candidate; NULL: none, or off */
};

/* ---- services ---- */

struct step {
    const struct variant *variant;
    uint32_t dimensions; /* the variant's */
    uint16_t group_end;  /* the index of the next group's first step */
    bool level_end;      /* the last step of its level */
};

struct plan {
    uint32_t count;
    bool canaries; /* some step is for a part of the keys; else all count whose dimensions are there */
    struct step *step;
};

struct pattern {
    struct plan plan;
    struct bytes text; /* of a prefix: without its '*' */
    bool prefix;
    uint32_t parent;                       /* index of the longest prefix that covers it; PATTERN_NONE */
    uint32_t variant_first, variant_count; /* in the service's `ordered` */
};
#define PATTERN_NONE UINT32_MAX

/* By hash, open addressing, at most half full; exact patterns and prefixes have different seeds. */
struct pattern_place {
    uint32_t hash; /* the upper half */
    uint32_t pattern;
};

/* What each request needs comes first. */
struct service {
    uint64_t hash;
    struct bytes name; /* of `name_text` */
    struct pattern *pattern;
    struct pattern_place *place; /* place_mask + 1 */
    uint32_t place_mask;
    uint32_t everything;    /* the index of the pattern "*"; PATTERN_NONE */
    uint32_t exact_longest; /* bytes of the longest exact pattern */
    uint16_t tenant;
    uint8_t length_count; /* different lengths of prefixes, but 0 */
    uint8_t dimension_count, tier_count;
    char name_text[RULE_NAME_MAX_BYTES + 1];
    uint8_t length[RULE_ENDPOINT_MAX_BYTES]; /* falling */
    struct word dimension[SERVICE_DIMENSIONS_MAX];
    struct hash_key dimension_key[SERVICE_DIMENSIONS_MAX]; /* of their values' parts */
    struct word tier[SERVICE_TIERS_MAX];
    uint32_t scale;
    bool adaptive;
    uint32_t slot_count, variant_count, pattern_count;
    struct slot *slot; /* sorted by id */
    struct variant *variant;
    struct variant **ordered; /* by pattern, dimensions, id */
    struct arena arena;
    struct service *next_staged, **staged_at;
    bool goes; /* staged: the service has no rule any more */
};

/* By hash, open addressing, at most half full. */
struct service_place {
    uint64_t hash;
    struct service *service; /* NULL: free */
};
struct service_places {
    struct service_place *place; /* mask + 1 */
    uint32_t mask;
};

/* Gives each slot its tallies: those of one thread lie together, apart from those of another. */
bool tallies_take(struct arena *arena, uint32_t lanes, struct slot *slots, uint32_t count);

struct ruleset {
    struct ruleset_options options; /* pointers in it, but for `context`, are NULL */
    struct hash_key hash_key;
    uint64_t edition; /* another one whenever something changes that requests are matched by; never 0 */
    struct windows windows;
    struct service_places places;
    uint32_t service_count, rule_count;
    struct service *by_default; /* the service "default"; NULL: it has no rule */
    struct service **tenant;    /* services_max + 1; [0] is not used */
    uint32_t tenant_last;
    struct service *staged; /* the last one first */
    struct service_places staged_places;
    int64_t staged_services, staged_rules; /* so many more there will be when all of it is committed */
    uint32_t named_count, named_by_default;
    struct slot *named;          /* the config's limits, each with a variant */
    struct hash_key default_key; /* of values of RULE_DEFAULT_DIMENSION */
    struct arena arena;          /* of `named` */
};

/* NULL, with a sentence: it could not be compiled. Uses are one or more. */
struct service *service_compile(struct ruleset *ruleset, struct bytes name, uint32_t scale,
                                const struct rule_use *uses, size_t count, struct error *error);
/* Without rules; NULL when memory is short. */
struct service *service_create(struct bytes name);
void service_destroy(struct service **service);
/* Patterns and plans of a service whose variants are there. */
bool service_plan(struct service *service, struct error *error);

/* Whom the variant's lists and overrides name; its amounts are there. False, with a sentence. */
bool roster_compile(struct service *service, struct variant *variant, const struct rule *rule, struct error *error);

/*
 * One version of a rule; the service has the words that it needs. Fills `variant`, which is zero but for its slot.
 * False, with a sentence that does not name the rule; then variant_close as well.
 */
bool variant_compile(struct ruleset *ruleset, struct service *service, struct variant *variant,
                     const struct rule *rule, uint64_t epoch, struct error *error);
void variant_close(struct variant *variant);
/* Interns its amounts at this scale; those that cannot be stay as they were. True if one is another. */
bool variant_rescale(struct ruleset *ruleset, struct variant *variant, uint32_t scale);
void variant_visit_limits(const struct variant *variant, void (*visit)(void *context, uint16_t limit),
                          void *context);

/* A rule's own 128 bits: of a version's keys. */
struct key_id rule_salt(const struct hash_key *hash_key, struct bytes service, struct bytes id, uint64_t epoch);

struct service *ruleset_service(const struct ruleset *ruleset, struct bytes name);
struct slot *service_slot(const struct service *service, struct bytes id);
/* The plan of the most specific pattern that covers it; NULL: none does. */
const struct plan *service_find_plan(const struct service *service, struct bytes endpoint);
bool pattern_covers(const struct pattern *pattern, struct bytes endpoint);

/* ---- match_config.c ---- */

struct request;
struct match;

/* By the limit `named`, whatever else there is: one charge more. True. */
bool match_config(const struct ruleset *ruleset, const struct request *request, const struct slot *named,
                  struct match *match);

/* Requests of the service "default" that name no rule all come to the config's default limit. */
static inline bool ruleset_is_direct(const struct ruleset *ruleset)
{
    return !ruleset->by_default && ruleset->named_count > 0;
}

#endif
