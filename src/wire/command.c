#include "wire/command.h"

#include <stdarg.h>
#include <stdio.h>

const struct command_spec command_table[COMMAND_ID_COUNT] = {
#define X(id, name, arity, flags, group, syntax, summary)                                                          \
    [COMMAND_##id] = {name, sizeof name - 1, arity, flags, group, syntax, summary},
    COMMANDS(X)
#undef X
};

const struct subcommand_spec subcommand_table[SUBCOMMAND_ID_COUNT] = {
#define X(parent, id, name, arity, syntax, summary)                                                                \
    [SUBCOMMAND_##id] = {COMMAND_##parent, {name, sizeof name - 1, arity, 0, "", syntax, summary}},
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

/* CAN_ACCESS stands first in the table, and a length rules out most others: the usual search ends at once. */
enum command_id command_find(struct bytes name)
{
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

/* Fills `error` and returns false. */
__attribute__((format(printf, 2, 3))) static bool fail(char *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, COMMAND_ERROR_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

/* What of a word goes into an error: enough to recognise it. */
static int shown(struct bytes word)
{
    return (int)(word.size < 40 ? word.size : 40);
}

static bool parse_cost(struct bytes word, uint64_t *cost, char *error)
{
    if (word_number(word, COMMAND_COST_MAX, cost))
        return true;
    return fail(error, "cost '%.*s' is out of range: expected a whole number of tokens from 0 to 1000000000000",
                shown(word), word.data);
}

static bool check_value(struct bytes value, char *error)
{
    if (value.size == 0)
        return fail(error, "empty key: expected 1 to %d bytes", COMMAND_VALUE_MAX_BYTES);
    if (value.size > COMMAND_VALUE_MAX_BYTES)
        return fail(error, "key of %zu bytes: expected at most %d", value.size, COMMAND_VALUE_MAX_BYTES);
    return true;
}

bool command_parse_can_access(const struct resp_command *command, struct bytes *key, uint64_t *cost, char *error)
{
    *key = command->args[1];
    *cost = 1;
    if (command->count > 3)
        return fail(error, "too many words: expected CAN_ACCESS key [cost]");
    if (!check_value(*key, error))
        return false;
    return command->count == 2 || parse_cost(command->args[2], cost, error);
}

static bool is_dimension_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
}

static bool parse_id(struct bytes word, struct command_id_words *id, char *error)
{
    const char *equals = word.size > 0 ? memchr(word.data, '=', word.size) : NULL;
    id->dimension = bytes_of("user");
    id->value = word;
    if (equals != NULL) {
        size_t size = (size_t)(equals - word.data);
        id->dimension = (struct bytes){word.data, size};
        id->value = (struct bytes){equals + 1, word.size - size - 1};
        if (size == 0)
            return fail(error, "nothing before '=' in the id: expected dimension=value, e.g. user=alice");
        if (size > COMMAND_DIMENSION_MAX_BYTES)
            return fail(error, "dimension of %zu bytes: expected at most %d", size, COMMAND_DIMENSION_MAX_BYTES);
        for (size_t i = 0; i < size; i++)
            if (!is_dimension_character(word.data[i]))
                return fail(
                    error,
                    "dimension '%.*s' has characters other than letters, digits, '_', '-' and '.': expected "
                    "dimension=value, e.g. user=a=b for the user a=b",
                    shown(id->dimension), id->dimension.data);
    }
    return check_value(id->value, error);
}

/*
 * The id comes first; options follow. Further ids would stand between them, and need a '=' to be told from
 * options: such words are refused, not ignored.
 */
bool command_parse_check(const struct resp_command *command, bool takes_cost, struct command_check *check,
                         char *error)
{
    const char *expected = takes_cost ? "COST n or RULE name" : "RULE name";
    bool has_cost = false, has_rule = false;
    *check = (struct command_check){.cost = 1};
    if (!parse_id(command->args[1], &check->id, error))
        return false;
    for (uint32_t i = 2; i < command->count; i += 2) {
        struct bytes word = command->args[i];
        bool is_cost = takes_cost && word_is(word, "cost"), is_rule = word_is(word, "rule");
        if (!is_cost && !is_rule && memchr(word.data, '=', word.size) != NULL)
            return fail(error, "a second id '%.*s': expected one id, then %s", shown(word), word.data, expected);
        if (!is_cost && !is_rule)
            return fail(error, "unknown option '%.*s': expected %s", shown(word), word.data, expected);
        if (i + 1 == command->count)
            return fail(error, "nothing after %s: expected %s", is_cost ? "COST" : "RULE", expected);
        if (is_cost ? has_cost : has_rule)
            return fail(error, "%s twice: expected it once", is_cost ? "COST" : "RULE");
        has_cost |= is_cost;
        has_rule |= is_rule;
        if (is_rule)
            check->rule = command->args[i + 1];
        else if (!parse_cost(command->args[i + 1], &check->cost, error))
            return false;
    }
    if (has_rule && check->rule.size == 0)
        return fail(error, "empty rule: expected the name of a limit");
    return true;
}
