/*
 * The tables of commands and subcommands, and the words that several parsers read.
 */
#include "wire/command_words.h"

#include <stdarg.h>
#include <stdio.h>

const struct command_spec command_table[COMMAND_ID_COUNT] = {
#define X(id, name, arity, work, flags, roles, group, syntax, summary)                                             \
    [COMMAND_##id] = {name, sizeof name - 1, arity, work, flags, roles, group, syntax, summary},
    COMMANDS(X)
#undef X
};

const struct subcommand_spec subcommand_table[SUBCOMMAND_ID_COUNT] = {
#define X(parent, id, name, arity, roles, syntax, summary)                                                         \
    [SUBCOMMAND_##id] = {COMMAND_##parent, {name, sizeof name - 1, arity, 0, 0, roles, "", syntax, summary}},
    SUBCOMMANDS(X)
#undef X
};

static char lower_of(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool equal_ignoring_case(struct bytes word, const char *lower)
{
    for (size_t i = 0; i < word.size; i++)
        if (lower_of(word.data[i]) != lower[i])
            return false;
    return true;
}

bool word_is(struct bytes word, const char *lower)
{
    return word.size == strlen(lower) && equal_ignoring_case(word, lower);
}

enum command_id command_find(struct bytes name)
{
    /* Nearly all requests are one of these commands in this spelling; a comparison spares the
     * search. */
    if (name.size == 10 && memcmp(name.data, "CAN_ACCESS", 10) == 0)
        return COMMAND_CAN_ACCESS;
    if (name.size == 5 && memcmp(name.data, "CHECK", 5) == 0)
        return COMMAND_CHECK;
    if (name.size == 11 && memcmp(name.data, "CL.THROTTLE", 11) == 0)
        return COMMAND_CL_THROTTLE;
    for (unsigned i = 0; i < COMMAND_ID_COUNT; i++)
        if (name.size == command_table[i].name_size && equal_ignoring_case(name, command_table[i].name))
            return (enum command_id)i;
    return COMMAND_ID_COUNT;
}

enum subcommand_id subcommand_find(enum command_id parent, struct bytes name)
{
    for (unsigned i = 0; i < SUBCOMMAND_ID_COUNT; i++)
        if (subcommand_table[i].parent == parent && word_is(name, subcommand_table[i].spec.name))
            return (enum subcommand_id)i;
    return SUBCOMMAND_ID_COUNT;
}

bool word_number(struct bytes word, uint64_t max, uint64_t *number)
{
    if (word.size == 0 || word.size > 19)
        return false;
    uint64_t value = 0;
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] < '0' || word.data[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(word.data[i] - '0');
    }
    *number = value;
    return value <= max;
}

bool word_fail(char *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, COMMAND_ERROR_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

bool word_cost(struct bytes word, uint64_t *cost, char *error)
{
    if (word_number(word, COMMAND_COST_MAX, cost))
        return true;
    return word_fail(error,
                     "cost '%.*s' is out of range: expected a whole number of tokens from 0 to 1000000000000",
                     word_shown(word), word.data);
}

bool word_patience(struct bytes word, int32_t *patience_ms, char *error)
{
    uint64_t value;
    if (!word_number(word, COMMAND_PATIENCE_MAX_MS, &value))
        return word_fail(error, "PATIENCE is '%.*s': expected milliseconds from 0 to %d", word_shown(word),
                         word.data, COMMAND_PATIENCE_MAX_MS);
    *patience_ms = (int32_t)value;
    return true;
}

bool word_key(struct bytes word, char *error)
{
    if (word.size == 0)
        return word_fail(error, "empty key: expected 1 to %d bytes", COMMAND_VALUE_MAX_BYTES);
    if (word.size > COMMAND_VALUE_MAX_BYTES)
        return word_fail(error, "key of %zu bytes: expected at most %d", word.size, COMMAND_VALUE_MAX_BYTES);
    return true;
}

/* Counts at most as many digits as change a double's worth of percents or milliseconds. */
bool word_decimal(struct bytes word, unsigned places, uint64_t max, uint64_t *value)
{
    uint64_t number = 0;
    size_t digits = 0, fraction = 0;
    bool point = false;
    for (size_t i = 0; i < word.size; i++) {
        char c = word.data[i];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9' || number > UINT64_MAX / 100)
            return false;
        digits++;
        fraction += point;
        if (fraction > places)
            continue; /* drop digits beyond the places */
        number = number * 10 + (uint64_t)(c - '0');
    }
    for (size_t i = fraction < places ? fraction : places; i < places; i++)
        if (__builtin_mul_overflow(number, 10, &number))
            return false;
    *value = number;
    return digits > 0 && number <= max;
}

bool command_parse_can_access(const struct resp_command *command, struct command_access *access, char *error)
{
    uint32_t i = 2;
    *access = (struct command_access){.key = command->args[1], .cost = 1, .patience_ms = COMMAND_PATIENCE_NONE};
    if (!word_key(access->key, error))
        return false;
    if (i < command->count && !word_is(command->args[i], "patience") &&
        !word_cost(command->args[i++], &access->cost, error))
        return false;
    if (i == command->count)
        return true;
    if (command->count != i + 2 || !word_is(command->args[i], "patience"))
        return word_fail(error, "wrong words: expected CAN_ACCESS key [cost] [PATIENCE ms]");
    return word_patience(command->args[i + 1], &access->patience_ms, error);
}
