/*
 * command_query: requests about ids: CHECK, PEEK, EXPLAIN, REFUND, RESET and RESERVE.
 *
 *     query := id [id ...] [option ...]
 *     id    := [dimension "="] value        a word without "=" means user=
 *
 * The one idea: the first word is an id whatever it looks like; after it, the first word that names an option ends
 * the ids. A dimension may stand once, so that a mistyped option after user=alice is not taken for another user.
 * Pure.
 */
#ifndef HEADGATE_WIRE_COMMAND_QUERY_H
#define HEADGATE_WIRE_COMMAND_QUERY_H

#include "base/bytes.h"
#include "wire/resp.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    COMMAND_IDS_MAX = 8,
    COMMAND_SELECTOR_MAX_BYTES = 256, /* of a service, an endpoint, a tier, a rule */
};

#define COMMAND_TTL_MAX_MS 86400000u /* a day */

enum command_priority { PRIORITY_LOW, PRIORITY_NORMAL, PRIORITY_HIGH, PRIORITY_CRITICAL };

/* Options beyond those that say which rules are meant. */
enum {
    QUERY_COST = 1 << 0,
    QUERY_WAIT = 1 << 1,
    QUERY_VERBOSE = 1 << 2,
    QUERY_TTL = 1 << 3, /* has to be there */
};

struct command_id_words {
    struct bytes dimension, value; /* within their limits, not empty */
};

struct command_query {
    uint32_t id_count;                               /* >= 1, no dimension twice; no more of `id` is written */
    struct command_id_words id[COMMAND_IDS_MAX + 1]; /* the last one is never counted: one too many is read there */
    struct bytes service, endpoint, tier, rule;      /* empty: not said */
    enum command_priority priority;                  /* normal unless said otherwise */
    uint64_t cost;                                   /* 1 unless said otherwise */
    uint64_t ttl_ms;
    bool wait, verbose;
};

/*
 * A command of two words at least that takes the options `takes`. False, with a sentence for the client in `error`
 * (COMMAND_ERROR_BYTES).
 */
bool command_parse_query(const struct resp_command *command, unsigned takes, struct command_query *query,
                         char *error);

#endif
