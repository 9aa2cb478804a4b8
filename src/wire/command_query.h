/*
 * command_query: the arguments of CHECK, PEEK, EXPLAIN, REFUND, RESET and RESERVE.
 *
 *     query := id [id ...] [option ...]
 *     id    := [dimension "="] value        a word without "=" means user=
 *
 * The one idea: the first word is always an id; after it, the first word that names an option ends
 * the ids. A dimension may stand once only, so that a mistyped option after user=alice is not taken
 * for another user. Pure.
 */
#ifndef HEADGATE_WIRE_COMMAND_QUERY_H
#define HEADGATE_WIRE_COMMAND_QUERY_H

#include "base/bytes.h"
#include "base/hash.h"
#include "wire/resp.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    COMMAND_IDS_MAX = 8,
    COMMAND_COSTS_MAX = 4,                                             /* of names */
    COMMAND_SELECTOR_MAX_BYTES = 256,                                  /* of each: service, endpoint, tier, rule */
    COMMAND_HASHED_BYTES = sizeof "hash:" + 2 * sizeof(struct key_id), /* of a value that stands for a long one */
};

#define COMMAND_TTL_MAX_MS ((uint64_t)1000000000000) /* that can be said; the config says how much may be */

enum command_priority { PRIORITY_LOW, PRIORITY_NORMAL, PRIORITY_HIGH, PRIORITY_CRITICAL };

/* Options beyond the selectors of rules. */
enum {
    QUERY_COST = 1 << 0,
    QUERY_WAIT = 1 << 1,
    QUERY_VERBOSE = 1 << 2,
    QUERY_TTL = 1 << 3, /* required where it is allowed */
    QUERY_DRAIN = 1 << 4,
    QUERY_PATIENCE = 1 << 5,
    QUERY_COSTS = 1 << 6, /* with QUERY_COST: also COST name=n, which may stand there for several names */
    QUERY_KEY = 1 << 7,   /* IDEMPOTENCY_KEY */
};

struct command_id_words {
    struct bytes dimension, value; /* within their limits, not empty */
};

/* What a request costs of something that rules count by its name (`counts`), e.g. bytes. */
struct command_cost {
    struct bytes name; /* 1 to COMMAND_DIMENSION_MAX_BYTES */
    uint64_t tokens;
};

struct command_query {
    uint32_t id_count; /* at least 1, without a dimension twice; further elements of `id` are not written */
    /* The parser may write one id beyond the limit before it refuses it. */
    struct command_id_words id[COMMAND_IDS_MAX + 1];
    /* Empty: not given. Of a longer endpoint or tier the first COMMAND_SELECTOR_MAX_BYTES: rules have shorter ones. */
    struct bytes service, endpoint, tier, rule;
    struct bytes idempotency_key;   /* as it is written; .data NULL: not given */
    enum command_priority priority; /* normal unless given */
    uint32_t cost_count;            /* of names, without a name twice; 0 unless given */
    uint64_t cost;                  /* 1 unless given */
    struct command_cost named_cost[COMMAND_COSTS_MAX];
    uint64_t ttl_ms;
    int32_t patience_ms; /* COMMAND_PATIENCE_NONE unless given */
    bool wait, verbose, drain;
    bool any_cost; /* for callers to set: the query is about all rules, whatever they count */
};

/*
 * Parses a command of at least two words, with the options `takes`. On failure returns false, with
 * a sentence for the client in `error` (COMMAND_ERROR_BYTES).
 */
bool command_parse_query(const struct resp_command *command, unsigned takes, struct command_query *query,
                         char *error);

/*
 * The same piece by piece, for protocols that name each piece. After command_query_clear the query
 * has no id; ids are added, and options set by their names ("service", "cost", ...; options without
 * a value are not). False, with a sentence, as above.
 */
void command_query_clear(struct command_query *query);
bool command_query_add_id(struct command_query *query, struct bytes dimension, struct bytes value, char *error);
bool command_query_add_cost(struct command_query *query, struct bytes name, struct bytes tokens, char *error);
bool command_query_set(struct command_query *query, struct bytes name, struct bytes value, unsigned takes,
                       char *error);
/*
 * For values that a gateway's client chooses, which must not make the gateway's request wrong: a value that is too long
 * becomes "hash:" and 32 digits in `room`. Equal values stay equal, and others differ.
 */
void command_value_shorten(struct bytes *value, const struct hash_key *hash_key, char room[COMMAND_HASHED_BYTES]);

#endif
