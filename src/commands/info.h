/*
 * info: the lines of INFO, and its section about rules, which names one rule in a line.
 *
 * The one idea: a section is a head and lines `name:value`, which tools for redis read. Only info*.c include this.
 */
#ifndef HEADGATE_COMMANDS_INFO_H
#define HEADGATE_COMMANDS_INFO_H

#include "commands/call.h"

#include <string.h>

/* Writes a line like "name:12" without a printf format, by the function that writes numbers of the protocol. */
static inline void info_number(struct output *output, const char *name, uint64_t value)
{
    output_append(output, name, strlen(name));
    answer_integer(&(struct answer){.output = output}, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static inline void info_text(struct output *output, const char *name, const char *value)
{
    output_print(output, "%s:%s\r\n", name, value);
}

/* Writes what a section about rules says: their numbers, and what the first rules have decided. */
void info_rules(struct call *call);

#endif
