/*
 * asker: where the words of requests stand, for the names of their keys.
 *
 * The one idea: names cost nothing until somebody wants one. Then the bytes of the request, which are still in the
 * client's input, are read a second time. Internal to the commands.
 */
#ifndef HEADGATE_COMMANDS_ASKER_H
#define HEADGATE_COMMANDS_ASKER_H

#include "base/bytes.h"
#include "rules/match.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command_query;
struct late;

/* All zero: the words are gone. */
struct asker {
    const struct command_query *query;          /* of the one request, unless NULL; else */
    const struct late *late;                    /* keys of CAN_ACCESS that were put off, unless NULL; else */
    struct bytes frames;                        /* RESP, from the first request on */
    struct bytes (*trace)(const void *context); /* traceparent of HTTP; empty: none. NULL: none */
    const void *trace_context;
};

/*
 * Writes the identifiers of request number `index` that the rule counts by, terminated: bytes of a value that are not
 * printable ASCII, blanks and '%' as "%20", and "..." at the end of what is cut for lack of room. False: they are not
 * known.
 */
bool asker_name(const struct asker *asker, uint32_t index, const struct matched *matched, char *name, size_t room);

#endif
