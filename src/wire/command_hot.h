/*
 * command_hot: the arguments of HOT.
 *
 *     HOT [service [rule]] [COUNT n] [BY refused|asked] [OVER minutes|hours]
 *
 * The one idea: the first word that names an option ends the service and the rule. The options can be set by their
 * names as well, for protocols that name each. Pure.
 */
#ifndef HEADGATE_WIRE_COMMAND_HOT_H
#define HEADGATE_WIRE_COMMAND_HOT_H

#include "base/bytes.h"
#include "wire/resp.h"

#include <stdbool.h>
#include <stdint.h>

enum { COMMAND_HOT_COUNT_MAX = 64 };

struct command_hot {
    struct bytes service, rule; /* empty: all */
    uint32_t count;             /* of keys of each rule; 10 unless given */
    bool asked;                 /* by what was asked, not by what was refused */
    bool hours;                 /* over hours, not minutes */
};

/* All functions return false with a sentence for the client in `error` (COMMAND_ERROR_BYTES). */
bool command_parse_hot(const struct resp_command *command, struct command_hot *hot, char *error);
void command_hot_clear(struct command_hot *hot);
/* "count", "by" or "over", in any case. */
bool command_hot_set(struct command_hot *hot, struct bytes name, struct bytes value, char *error);

#endif
