/*
 * ruleset_state: the compiled form of rules. Only ruleset*.c and match*.c may include this header.
 *
 * The one idea: a service is one arena. Its patterns lead to plans; a step of a plan leads to a variant, which
 * is one version of one rule. The steps with one combination of dimensions form a group. Within a group the
 * steps of one pattern form a level, and the most specific level comes first. A group ends with the first level
 * that has a rule in force. With a canary the next level follows as well: it serves the keys that the level's
 * version does not cover.
 */
#ifndef HEADGATE_RULES_RULESET_STATE_H
#define HEADGATE_RULES_RULESET_STATE_H

#include "base/arena.h"
#include "base/hash.h"
#include "limit/limit.h"
#include "rules/homes.h"
#include "rules/ruleset.h"
#include "rules/ruleset_roster.h"
#include "rules/ruleset_window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    LIMIT_NONE = UINT16_MAX,     /* stands for an index: unlimited */
    LIMIT_ZERO = UINT16_MAX - 1, /* stands for an index: the amount admits nothing */
    MILLION = 1000000,
};

/* A short text for fast comparison. Texts are equal if sizes and heads are equal and, beyond 8 bytes, the rest
 * is. */
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

/* The first 8 bytes, or all bytes of a shorter text. Different texts of one size up to 8 have different heads. */
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

/* The index of a text, for instance the bit of a dimension or a tier of a service; -1: it is absent. */
static inline int word_find(const struct word *words, uint32_t count, struct bytes text)
{
    uint64_t head = text_head(text);
    for (uint32_t i = 0; i < count; i++)
        if (word_is(&words[i], text, head))
            return (int)i;
    return -1;
}

/*
 * An unkeyed hash, for tables whose content operators choose; strangers can only look up in vain. Hashes of
 * keys are keyed.
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
#define SEED_EXACT (1u << 16) /* above all sizes of prefixes */
#define SEED_PREFIX (2u << 16)

/* ---- one version of a rule ---- */

struct amount {
    uint64_t capacity;
    struct window *window; /* NULL: the amount has no window */
    uint16_t limit;        /* or LIMIT_NONE, or LIMIT_ZERO */
};

/* True if a limit of the set counts the amount. */
static inline bool amount_counts(const struct amount *amount)
{
    return amount->limit < LIMIT_ZERO;
}

struct slot;

struct variant {
    _Alignas(LINE_BYTES) struct key_id salt;
    struct amount base;
    const struct roster *roster; /* NULL: no list or override */
    const struct roster *when;   /* the conditions; NULL: the variant is about all requests */
    struct amount *tier;         /* one for each bit of `tiers`, in the order of bits */
    uint64_t tiers;              /* bits: the tiers of the service that the variant has */
    struct slot *slot;
    struct rule_counter *counter;       /* the counter of the slot */
    uint64_t selector;                  /* gives each rule its own choice of canary keys */
    uint32_t select_from, select_below; /* the range of millionths of the keys that the variant covers */
    uint32_t dimensions;                /* bits: the dimensions of `by`, and what the variant counts */
    uint32_t floor[RULE_PRIORITIES];    /* millionths of the amount */
    uint8_t inherit, on_isolation;
    uint8_t central; /* as of a charge */
    uint16_t patience_ms;
    int8_t counts; /* the bit of the named cost that the variant counts; -1: it counts requests */
    bool
        hides_config; /* where the variant applies, limits of the config do not: it is in force and counts requests */
    bool sliding, concurrency;
    bool from_first;                          /* its windows begin with the first request */
    bool candidate, shadow, soft, has_canary; /* as in struct matched */
    /* Only the variant's own amount can apply unless the request has one of its tiers: no lists, windows or
     * leases, and it counts requests. The variant may have conditions: its plan is then partial. */
    bool plain;
    /* Requests do not need the following fields. */
    struct ruled_version version;
    uint32_t replaces_count;
    const struct slot **replaces; /* rules of the service that do not apply where the variant does */
    uint32_t pattern;             /* an index into the service's patterns */
    uint32_t adaptive_floor;
    uint64_t latency_target_ns;
    uint32_t override_count;
    struct amount *overrides;
    const struct homes *homes;   /* among which keys choose, of a rule whose home is by_key or a list; else NULL */
    uint16_t *home_limits;       /* for each amount one limit for each of the homes */
    struct limit_span span;      /* of the rule's own amount and its tiers' */
    struct rule basis;           /* the fields of the rule that rule_terms reads; its views and lists are empty */
    struct rule_amount *amounts; /* the sources of the amounts: the base, the tiers, the overrides */
};

/* The limit of the variant's amount that counts the key, by the home of the key. The variant must have homes. */
uint16_t variant_limit_at_home(const struct variant *variant, const struct amount *amount, struct key_id id);

/* The variant that a match has found, by the version that it names. */
static inline const struct variant *variant_of_version(const struct ruled_version *version)
{
    return (const void *)((const char *)version - offsetof(struct variant, version));
}

/* True: the variant hides less specific ones. */
static inline bool variant_is_in_force(const struct variant *variant)
{
    return !variant->shadow || variant->soft;
}

/* A rule with its versions. */
struct slot {
    _Alignas(LINE_BYTES) struct ruled ruled;
    uint64_t canary;
    struct variant *variant[2]; /* stable, candidate; NULL: absent or off */
};

/* ---- services ---- */

struct step {
    const struct variant *variant;
    uint32_t dimensions; /* the dimensions of the variant */
    uint16_t group_end;  /* the index of the next group's first step */
    bool level_end;      /* true for the last step of its level */
};

struct plan {
    uint32_t count;
    /*
     * True if some step is about a part of the requests: a canary's or a stable version's keys, or the requests that
     * its conditions name. Otherwise a step applies if its dimensions are given.
     */
    bool partial;
    struct step *step;
    uint32_t *replaces; /* for each step, the steps that it replaces, as bits; NULL: no step replaces any */
};

struct pattern {
    struct plan plan;
    struct bytes text; /* a prefix without its '*' */
    bool prefix;
    uint32_t parent; /* index of the longest other prefix that covers this pattern; PATTERN_NONE: there is none */
    uint32_t variant_first, variant_count; /* a range of the service's `ordered` */
};
#define PATTERN_NONE UINT32_MAX

/* The index of patterns by hash: open addressing, at most half full. Exact patterns and prefixes have different
 * seeds. */
struct pattern_place {
    uint32_t hash; /* the upper half of the hash */
    uint32_t pattern;
};

/* The fields that each request needs come first. */
struct service {
    uint64_t hash;
    struct bytes name; /* points to `name_text` */
    struct pattern *pattern;
    struct pattern_place *place; /* place_mask + 1 entries */
    uint32_t place_mask;
    uint32_t everything;    /* the index of the pattern "*"; PATTERN_NONE: there is none */
    uint32_t exact_longest; /* size in bytes of the longest exact pattern */
    uint16_t tenant;
    uint8_t length_count; /* the number of different lengths of prefixes, 0 excluded */
    uint8_t dimension_count, tier_count, cost_count;
    char name_text[RULE_NAME_MAX_BYTES + 1];
    uint8_t length[RULE_ENDPOINT_MAX_BYTES]; /* the different lengths, falling */
    struct word dimension[SERVICE_DIMENSIONS_MAX];
    struct hash_key dimension_key[SERVICE_DIMENSIONS_MAX]; /* the keys that hash the values of each dimension */
    struct word tier[SERVICE_TIERS_MAX];
    /*
     * The named costs that rules count. Each has the bit of a dimension without a name (cost_bit): so rules that count
     * different things are of different groups, and concern requests that name the cost.
     */
    struct word cost[SERVICE_COSTS_MAX];
    uint8_t cost_bit[SERVICE_COSTS_MAX];
    uint32_t scale;
    bool adaptive;
    uint32_t slot_count, variant_count, pattern_count;
    struct slot *slot; /* sorted by id */
    struct variant *variant;
    struct variant **ordered; /* sorted by pattern, dimensions and id */
    struct arena arena;
    struct service *next_staged, **staged_at;
    bool removed;             /* staged: the service is to be removed */
    uint32_t doubt_count;     /* what ruleset_find_doubt speaks of */
    enum ruleset_doubt doubt; /* the kind of the first, or a circle if there is one */
    const char *doubt_text;
};

/* The index of services by hash: open addressing, at most half full. */
struct service_place {
    uint64_t hash;
    struct service *service; /* NULL: free */
};
struct service_places {
    struct service_place *place; /* mask + 1 entries */
    uint32_t mask;
};

/* Gives each slot a counter per thread. The counters of one thread lie together, apart from those of other
 * threads. */
bool counters_take(struct arena *arena, uint32_t threads, struct slot *slots, uint32_t count);

struct ruleset {
    struct ruleset_options options; /* all its pointers but `context` and `homes` are NULL */
    struct hash_key hash_key;
    uint64_t edition; /* changes with every change of data that matching reads; never 0 */
    struct windows windows;
    struct service_places places;
    uint32_t service_count, rule_count;
    struct service *by_default; /* the service "default"; NULL: it has no rule */
    struct service **tenant;    /* services_max + 1 entries; [0] stays unused */
    uint32_t tenant_last;
    struct service *staged; /* a list, the last staged service first */
    struct service_places staged_places;
    int64_t staged_services, staged_rules; /* what the commit will add to the counts; may be negative */
    uint32_t named_count, named_by_default;
    struct slot *named;          /* the limits of the config, one variant each */
    struct hash_key default_key; /* hashes values of RULE_DEFAULT_DIMENSION */
    struct arena arena;          /* holds `named` */
};

/* Compiles at least one use. NULL, with a sentence: compilation failed. */
struct service *service_compile(struct ruleset *ruleset, struct bytes name, uint32_t scale,
                                const struct rule_use *uses, size_t count, struct error *error);
/* A service without rules. NULL: memory is short. */
struct service *service_create(struct bytes name);
void service_destroy(struct service **service);
/*
 * Finds the rules that rules replace (`replaces`), once all slots and variants are there. What names no rule of the
 * service, and what is part of a circle, is left out and noted as a doubt. False: memory is short.
 */
bool service_link(struct service *service, const struct rule_use *const *uses, size_t count);
/* Notes that something is left out: see ruleset_find_doubt. False: memory is short. */
bool service_doubt(struct service *service, enum ruleset_doubt kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The sheets of a service (`overrides_of`), in the order of their ids. */
struct sheets {
    const struct rule **rule;
    uint32_t count;
};
/* A rule with the overrides of its sheets. */
struct joined {
    struct rule rule;
    struct rule_override *overrides; /* NULL: the rule has no sheets */
};
/* False: memory is short. The caller frees joined->overrides. */
bool sheets_join(const struct sheets *sheets, struct service *service, const struct rule *rule,
                 struct joined *joined);
/* Notes the sheets that are of no rule. All slots must be there. False: memory is short. */
bool sheets_check(const struct sheets *sheets, struct service *service);

/* Builds the patterns and plans of a service. All variants must be compiled. */
bool service_plan(struct service *service, struct error *error);

/* Builds the rosters of a variant. Its amounts must be compiled. False, with a sentence. */
bool roster_compile(struct service *service, struct variant *variant, const struct rule *rule, struct error *error);

/*
 * Compiles one version of a rule into `variant`, which must be zero but for its slot. The service must have all
 * words that the rule uses. On failure returns false with a sentence that does not name the rule; the caller
 * must then call variant_close.
 */
bool variant_compile(struct ruleset *ruleset, struct service *service, struct variant *variant,
                     const struct rule *rule, uint64_t epoch, struct error *error);
void variant_close(struct variant *variant);
/* Interns the amounts at this scale. An amount that cannot be interned stays unchanged. Returns true if an
 * amount changed. */
bool variant_rescale(struct ruleset *ruleset, struct variant *variant, uint32_t scale);
void variant_visit_limits(const struct variant *variant, void (*visit)(void *context, uint16_t limit),
                          void *context);

struct service *ruleset_service(const struct ruleset *ruleset, struct bytes name);
struct slot *service_slot(const struct service *service, struct bytes id);
/* The plan of the most specific pattern that covers the endpoint; NULL: no pattern covers it. */
const struct plan *service_find_plan(const struct service *service, struct bytes endpoint);
bool pattern_covers(const struct pattern *pattern, struct bytes endpoint);

/* ---- match_config.c ---- */

struct request;
struct match;

/* Adds one charge by the limit `named`, without looking at rules. Returns true. */
bool match_config(const struct ruleset *ruleset, const struct request *request, const struct slot *named,
                  struct match *match);

#endif
