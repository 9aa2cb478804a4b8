#include "wire/command_throttle.h"

#include "wire/command_words.h"

enum { FIELDS = 4 };
static const char *const field_names[FIELDS] = {"max_burst", "count_per_period", "period", "quantity"};

bool word_signed(struct bytes word, int64_t *number)
{
    size_t i = word.size > 0 && (word.data[0] == '+' || word.data[0] == '-');
    bool negative = i == 1 && word.data[0] == '-';
    int64_t value = 0;
    if (i == word.size)
        return false;
    for (; i < word.size; i++) {
        int digit = word.data[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return false;
    }
    *number = value;
    return true;
}

/* Returns the index of the first word that is no number; FIELDS: all are numbers. */
static unsigned parse_fields(const struct resp_command *command, struct command_throttle *throttle)
{
    int64_t *const fields[FIELDS] = {&throttle->max_burst, &throttle->count, &throttle->period_s,
                                     &throttle->quantity};
    *throttle = (struct command_throttle){.key = command->args[1], .quantity = 1};
    for (unsigned i = 0; i < FIELDS && i + 2 < command->count; i++)
        if (!word_signed(command->args[i + 2], fields[i]))
            return i;
    return FIELDS;
}

bool command_parse_cl_throttle(const struct resp_command *command, struct command_throttle *throttle, char *error)
{
    if (command->count > 6)
        return word_fail(error, "Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]");
    unsigned wrong = parse_fields(command, throttle);
    if (wrong == FIELDS)
        return true;
    struct bytes word = command->args[wrong + 2];
    return word_fail(error, "Couldn't parse as integer: '%.*s', expected %s as a whole number of at most 64 bits",
                     word_shown(word), word.data, field_names[wrong]);
}

bool command_parse_throttle(const struct resp_command *command, struct command_throttle *throttle, char *error)
{
    if (command->count > 6)
        return word_fail(error, "wrong number of arguments for 'throttle' command: expected throttle key max_burst "
                                "count period [quantity]");
    unsigned wrong = parse_fields(command, throttle);
    if (wrong == FIELDS)
        return true;
    struct bytes word = command->args[wrong + 2];
    return word_fail(error, "invalid %s '%.*s': expected a whole number of at most 64 bits", field_names[wrong],
                     word_shown(word), word.data);
}
