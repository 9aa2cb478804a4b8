/*
 * json_query: what the body of a request says, as a query of the commands.
 *
 * The one idea: one table says which names a body may have; each endpoint takes some of them. A name that it does not
 * take is an error that names it, since it may be a mistyped one. Views are valid as long as the tree.
 */
#ifndef HEADGATE_HTTP_JSON_QUERY_H
#define HEADGATE_HTTP_JSON_QUERY_H

#include "base/bytes.h"
#include "wire/command.h"
#include "wire/command_query.h"
#include "wire/output.h"

#include <jansson.h>
#include <stdbool.h>

enum { JSON_FIELD_BYTES = 80 };

/* What an endpoint takes. */
enum {
    JSON_TAKES_IDS = 1 << 0, /* identifiers (which must be there), service_id, endpoint, tier, priority, rule */
    JSON_TAKES_COST = 1 << 1,
    JSON_TAKES_VERBOSE = 1 << 2,
    JSON_TAKES_TTL = 1 << 3,         /* ttl_ms, which must be there */
    JSON_TAKES_RESERVATION = 1 << 4, /* which must be there */
    JSON_NEEDS_COST = 1 << 5,        /* JSON_TAKES_COST, and it must be there */
    JSON_TAKES_KEY = 1 << 6,         /* idempotency_key */
    JSON_TAKES_DRAIN = 1 << 7,
    JSON_TAKES_PATIENCE = 1 << 8, /* patience_ms */
    JSON_TAKES_COSTS = 1 << 9,    /* costs by name; with JSON_TAKES_COST */
};

struct json_query {
    struct command_query query;
    bool verbose;
    struct bytes reservation, idempotency_key; /* .data NULL: not said */
    char field[JSON_FIELD_BYTES]; /* the one that is wrong: "cost", "identifiers.ip"; "": the body itself */
    char error[COMMAND_ERROR_BYTES];
};

/* `numbers` has room for what is written as a number and read as a text. False: field and error say why. */
bool json_query_read(struct json_query *out, json_t *object, unsigned takes, struct output *numbers);

#endif
