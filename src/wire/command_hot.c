#include "wire/command_hot.h"

#include "wire/command_words.h"

enum { DEFAULT_COUNT = 10 };

void command_hot_clear(struct command_hot *hot)
{
    *hot = (struct command_hot){.count = DEFAULT_COUNT};
}

static bool is_option(struct bytes word)
{
    return word_is(word, "count") || word_is(word, "by") || word_is(word, "over");
}

static bool set_either(bool *is_second, const char *name, const char *first, const char *second, struct bytes value,
                       char *error)
{
    *is_second = word_is(value, second);
    return *is_second || word_is(value, first) ||
           word_fail(error, "%s '%.*s': expected %s or %s", name, word_shown(value), value.data, first, second);
}

bool command_hot_set(struct command_hot *hot, struct bytes name, struct bytes value, char *error)
{
    uint64_t count;
    if (word_is(name, "by"))
        return set_either(&hot->asked, "BY", "refused", "asked", value, error);
    if (word_is(name, "over"))
        return set_either(&hot->hours, "OVER", "minutes", "hours", value, error);
    if (!word_is(name, "count"))
        return word_fail(error, "unknown option '%.*s': expected COUNT, BY or OVER", word_shown(name), name.data);
    if (!word_number(value, COMMAND_HOT_COUNT_MAX, &count) || count == 0)
        return word_fail(error, "COUNT '%.*s': expected a number from 1 to %d", word_shown(value), value.data,
                         COMMAND_HOT_COUNT_MAX);
    hot->count = (uint32_t)count;
    return true;
}

bool command_parse_hot(const struct resp_command *command, struct command_hot *hot, char *error)
{
    uint32_t i = 1;
    command_hot_clear(hot);
    if (i < command->count && !is_option(command->args[i]))
        hot->service = command->args[i++];
    if (i > 1 && i < command->count && !is_option(command->args[i]))
        hot->rule = command->args[i++];
    for (; i < command->count; i += 2) {
        const struct bytes name = command->args[i];
        if (is_option(name) && i + 1 == command->count)
            return word_fail(error, "nothing after '%.*s': expected its value", word_shown(name), name.data);
        if (!command_hot_set(hot, name, i + 1 < command->count ? command->args[i + 1] : name, error))
            return false;
    }
    return true;
}
