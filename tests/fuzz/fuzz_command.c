/*
 * Any words: the grammar of commands must say yes within its limits, or no with a sentence.
 */
#include "wire/command.h"
#include "wire/command_query.h"
#include "wire/command_rules.h"
#include "wire/command_throttle.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool told(const char *error)
{
    return error[0] != '\0' && memchr(error, '\0', COMMAND_ERROR_BYTES) != NULL;
}

static void check_query(const struct resp_command *command, unsigned takes)
{
    char error[COMMAND_ERROR_BYTES] = "";
    struct command_query query;
    if (!command_parse_query(command, takes, &query, error)) {
        assert(told(error));
        return;
    }
    assert(query.id_count >= 1 && query.id_count <= COMMAND_IDS_MAX && query.cost <= COMMAND_COST_MAX);
    assert((query.ttl_ms > 0) == ((takes & QUERY_TTL) != 0) && query.ttl_ms <= COMMAND_TTL_MAX_MS);
    assert(query.service.size <= COMMAND_SELECTOR_MAX_BYTES && query.tier.size <= COMMAND_SELECTOR_MAX_BYTES);
    for (uint32_t i = 0; i < query.id_count; i++) {
        assert(query.id[i].value.size >= 1 && query.id[i].value.size <= COMMAND_VALUE_MAX_BYTES);
        assert(query.id[i].dimension.size >= 1 && query.id[i].dimension.size <= COMMAND_DIMENSION_MAX_BYTES);
    }
}

static void check_rules(const struct resp_command *command)
{
    char error[COMMAND_ERROR_BYTES] = "";
    struct command_apply apply;
    struct command_list list;
    struct command_health health;
    if (command->count >= 3 && command_parse_apply(command, &apply, error)) {
        assert(apply.share_millionths <= 1000000 && apply.watch_ms <= COMMAND_WATCH_MAX_MS);
        assert((apply.share_millionths > 0) == (apply.watch_ms > 0) && apply.note.size <= COMMAND_NOTE_MAX_BYTES);
    } else if (command->count >= 3) {
        assert(told(error));
    }
    error[0] = '\0';
    assert(command_parse_list(command, &list, error) || told(error));
    error[0] = '\0';
    assert(command_parse_health(command, &health, error) || told(error));
}

static void check_throttle(const struct resp_command *command)
{
    char error[COMMAND_ERROR_BYTES] = "";
    struct command_throttle throttle;
    assert(command_parse_cl_throttle(command, &throttle, error) || told(error));
    error[0] = '\0';
    assert(command_parse_throttle(command, &throttle, error) || told(error));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct resp_command command;
    const char *data = (const char *)bytes, *error;
    size_t consumed;
    for (size_t at = 0; at < size; at += consumed) {
        if (resp_parse((struct bytes){data + at, size - at}, &command, &consumed, &error) != RESP_COMMAND)
            break;
        if (command.count < 2)
            continue;
        (void)subcommand_find(command_find(command.args[0]), command.args[1]);
        check_query(&command, 0);
        check_query(&command, QUERY_COST | QUERY_WAIT | QUERY_VERBOSE);
        check_query(&command, QUERY_COST | QUERY_TTL);
        check_rules(&command);
        if (command.count >= 5)
            check_throttle(&command);
    }
    return 0;
}
