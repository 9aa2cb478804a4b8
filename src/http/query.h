/*
 * query: the names and values behind the '?' of a target.
 *
 * The one idea: a query is read pair by pair, without a list of pairs in memory. What names mean is not its business.
 */
#ifndef HEADGATE_HTTP_QUERY_H
#define HEADGATE_HTTP_QUERY_H

#include "base/bytes.h"
#include "wire/output.h"

#include <stdbool.h>

/* The target of a request is a path, and a query if there is a '?'; else `query` stays as it is. */
void http_query_split(struct bytes target, struct bytes *path, struct bytes *query);

struct http_pair {
    struct bytes name, value; /* decoded: views of the query, or of the output where something had to be decoded */
    const char *error; /* what is wrong with the pair, whose name is there as far as it was read; NULL: nothing */
};

/* Takes the next pair off the front of `query`; empty ones are passed over. False: there is none. */
bool http_query_next(struct bytes *query, struct output *decoded, struct http_pair *pair);

#endif
