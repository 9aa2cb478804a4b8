/*
 * command_words: single words of commands, and the sentences about wrong ones.
 *
 * For the parsers of commands: those in src/wire, and commands that read words of their own. Pure.
 */
#ifndef HEADGATE_WIRE_COMMAND_WORDS_H
#define HEADGATE_WIRE_COMMAND_WORDS_H

#include "wire/command.h"

/* Fills `error` (COMMAND_ERROR_BYTES), printf style, and returns false. */
bool word_fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The number of bytes of a word that an error shows, for "%.*s". */
static inline int word_shown(struct bytes word)
{
    return (int)(word.size < 40 ? word.size : 40);
}

/* Parses a number of tokens. */
bool word_cost(struct bytes word, uint64_t *cost, char *error);
/* Parses milliseconds, 0 to COMMAND_PATIENCE_MAX_MS. */
bool word_patience(struct bytes word, int32_t *patience_ms, char *error);
/* Checks a key: 1 to COMMAND_VALUE_MAX_BYTES. */
bool word_key(struct bytes word, char *error);

/* Parses a decimal without sign, "12" or "12.5", times 10^places, at most `max`; drops finer
 * digits. */
bool word_decimal(struct bytes word, unsigned places, uint64_t max, uint64_t *value);

#endif
