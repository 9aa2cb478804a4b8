/*
 * Parses the arguments of RULE SET, RULE APPLY, RULE LIST and HEALTH.
 */
#include "wire/command_rules.h"

#include "wire/command_words.h"

enum {
    PERCENT_PLACES = 4, /* a millionth is a ten-thousandth of a percent */
    DEFAULT_WATCH_MS = 60000,
    DEFAULT_THRESHOLD_MILLIONTHS = 50000,
};

/* Parses "10%", "10" or "2.5%"; refuses 0. */
static bool parse_percent(const char *what, struct bytes word, uint32_t *millionths, char *error)
{
    uint64_t value;
    struct bytes number = word;
    if (number.size > 0 && number.data[number.size - 1] == '%')
        number.size--;
    if (!word_decimal(number, PERCENT_PLACES, 1000000, &value) || value == 0)
        return word_fail(error, "%s is '%.*s': expected a percentage above 0 and up to 100, e.g. 10%%", what,
                         word_shown(word), word.data);
    *millionths = (uint32_t)value;
    return true;
}

/* Parses milliseconds, or a number with a unit: "60000", "60s", "5m", "1h". */
static bool parse_watch(struct bytes word, uint64_t *watch_ms, char *error)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    struct bytes number = word;
    uint64_t factor = 1;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t size = strlen(units[i].unit);
        if (word.size <= size || !word_is((struct bytes){word.data + word.size - size, size}, units[i].unit))
            continue;
        number.size = word.size - size;
        factor = units[i].ms;
        break;
    }
    if (word_number(number, COMMAND_WATCH_MAX_MS / factor, watch_ms) && *watch_ms > 0) {
        *watch_ms *= factor;
        return true;
    }
    return word_fail(error, "WATCH is '%.*s': expected milliseconds, or a time as 60s or 5m, at most a week",
                     word_shown(word), word.data);
}

static bool parse_note(struct bytes word, struct bytes *note, char *error)
{
    if (word.size > COMMAND_NOTE_MAX_BYTES)
        return word_fail(error, "NOTE of %zu bytes: expected at most %d", word.size, COMMAND_NOTE_MAX_BYTES);
    for (size_t i = 0; i < word.size; i++)
        if ((unsigned char)word.data[i] < ' ' || word.data[i] == 0x7f)
            return word_fail(error, "NOTE has control characters: expected one line of text");
    *note = word;
    return true;
}

bool command_apply_option(struct command_apply *apply, struct bytes word, struct bytes value, char *error)
{
    if (word_is(word, "canary"))
        return parse_percent("CANARY", value, &apply->share_millionths, error);
    if (word_is(word, "threshold"))
        return parse_percent("THRESHOLD", value, &apply->threshold_millionths, error);
    if (word_is(word, "watch"))
        return parse_watch(value, &apply->watch_ms, error);
    if (word_is(word, "note"))
        return parse_note(value, &apply->note, error);
    return word_fail(error,
                     "unknown option '%.*s': expected CANARY, WATCH, THRESHOLD, NOTE, PRUNE, DRYRUN or VERBOSE",
                     word_shown(word), word.data);
}

bool command_apply_end(struct command_apply *apply, char *error)
{
    if (apply->share_millionths == 0 && (apply->watch_ms > 0 || apply->threshold_millionths > 0))
        return word_fail(error,
                         "WATCH and THRESHOLD are about a canary: expected CANARY and a percentage with them");
    if (apply->share_millionths > 0 && apply->prune)
        return word_fail(error, "PRUNE removes rules at once: expected it without CANARY");
    if (apply->share_millionths > 0 && apply->watch_ms == 0)
        apply->watch_ms = DEFAULT_WATCH_MS;
    if (apply->share_millionths > 0 && apply->threshold_millionths == 0)
        apply->threshold_millionths = DEFAULT_THRESHOLD_MILLIONTHS;
    return true;
}

bool command_parse_apply(const struct resp_command *command, struct command_apply *apply, char *error)
{
    *apply = (struct command_apply){.text = command->args[2]};
    for (uint32_t i = 3; i < command->count; i += 2) {
        struct bytes word = command->args[i];
        bool *flag = word_is(word, "verbose")  ? &apply->verbose
                     : word_is(word, "prune")  ? &apply->prune
                     : word_is(word, "dryrun") ? &apply->dry_run
                                               : NULL;
        if (flag) {
            *flag = true;
            i--;
            continue;
        }
        if (i + 1 == command->count)
            return word_fail(error, "nothing after '%.*s': expected its value", word_shown(word), word.data);
        if (!command_apply_option(apply, word, command->args[i + 1], error))
            return false;
    }
    if (!command_apply_end(apply, error))
        return false;
    if (word_is(apply->text, "staged")) {
        apply->staged = true;
        apply->text = (struct bytes){0};
    }
    return true;
}

bool command_parse_list(const struct resp_command *command, struct command_list *list, char *error)
{
    uint32_t count = command->count;
    *list = (struct command_list){0};
    if (count >= 5 && word_is(command->args[count - 3], "after")) {
        list->after = true;
        list->after_service = command->args[count - 2];
        list->after_id = command->args[count - 1];
        count -= 3;
    }
    if (count > 3)
        return word_fail(error, "too many words: expected RULE LIST [service] [AFTER service id]");
    if (count == 3)
        list->service = command->args[2];
    return true;
}

static bool parse_latencies(const struct resp_command *command, struct command_health *health, char *error)
{
    health->kind = HEALTH_LATENCIES;
    for (uint32_t i = 3; i < command->count; i++) {
        struct bytes word = command->args[i];
        if (health->sample_count == COMMAND_SAMPLES_MAX)
            return word_fail(error, "too many samples: expected at most %d", COMMAND_SAMPLES_MAX);
        if (!word_decimal(word, 6, COMMAND_LATENCY_MAX_NS, &health->latency_ns[health->sample_count]))
            return word_fail(error, "latency '%.*s': expected milliseconds, e.g. 12 or 12.5", word_shown(word),
                             word.data);
        health->sample_count++;
    }
    if (health->sample_count == 0)
        return word_fail(error, "nothing after LATENCY: expected milliseconds, e.g. 12 or 12.5");
    return true;
}

bool command_parse_health(const struct resp_command *command, struct command_health *health, char *error)
{
    uint64_t value;
    *health = (struct command_health){.kind = HEALTH_ASKED, .service = command->args[1]};
    if (health->service.size == 0)
        return word_fail(error, "empty service: expected its name");
    if (command->count == 2)
        return true;
    if (word_is(command->args[2], "latency"))
        return parse_latencies(command, health, error);
    if (command->count > 3)
        return word_fail(error, "too many words: expected one health, or LATENCY and milliseconds");
    if (!word_decimal(command->args[2], 6, 1000000, &value))
        return word_fail(error, "health '%.*s': expected a number from 0.0 to 1.0, or LATENCY and milliseconds",
                         word_shown(command->args[2]), command->args[2].data);
    health->kind = HEALTH_GIVEN;
    health->health_millionths = (uint32_t)value;
    return true;
}
