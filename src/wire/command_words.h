/*
 * command_words: what the parsers of commands share: single words, and sentences about them.
 *
 * Internal to the commands' grammar. Pure.
 */
#ifndef HEADGATE_WIRE_COMMAND_WORDS_H
#define HEADGATE_WIRE_COMMAND_WORDS_H

#include "wire/command.h"

/* Fills `error` (COMMAND_ERROR_BYTES), printf style, and returns false. */
bool word_fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What of a word goes into an error, for "%.*s": enough to recognise it. */
static inline int word_shown(struct bytes word)
{
    return (int)(word.size < 40 ? word.size : 40);
}

/* A number of tokens. */
bool word_cost(struct bytes word, uint64_t *cost, char *error);
/* What is limited: 1 to COMMAND_VALUE_MAX_BYTES. */
bool word_key(struct bytes word, char *error);

/* A decimal without sign, "12" or "12.5", times 10^places (what is finer is cut), at most `max`. */
bool word_decimal(struct bytes word, unsigned places, uint64_t max, uint64_t *value);

#endif
