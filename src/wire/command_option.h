/*
 * command_option: the names of options behind the ids of a request.
 *
 * The one idea: a command says which options it takes, and a word is one of them in any case of its letters, or none.
 * Only the parsers of commands in src/wire may include this header. Pure.
 */
#ifndef HEADGATE_WIRE_COMMAND_OPTION_H
#define HEADGATE_WIRE_COMMAND_OPTION_H

#include "base/bytes.h"

#include <stdbool.h>

enum option {
    OPTION_SERVICE,
    OPTION_ENDPOINT,
    OPTION_TIER,
    OPTION_PRIORITY,
    OPTION_RULE,
    OPTION_COST,
    OPTION_TTL,
    OPTION_PATIENCE,
    OPTION_WAIT,
    OPTION_VERBOSE,
    OPTION_DRAIN,
    OPTION_KEY,
    OPTION_COUNT,
};

/* The option among those that a command takes (QUERY_COST and its like); OPTION_COUNT: none. */
enum option option_find(struct bytes word, unsigned takes);
/* Its name as sentences show it. */
const char *option_shown(enum option option);
/* True: the word after it is its value. */
bool option_has_value(enum option option);
/* False, with the sentence "unknown option 'b': expected one of SERVICE, ENDPOINT, ...". */
bool option_fail_unknown(struct bytes word, unsigned takes, char *error);

#endif
