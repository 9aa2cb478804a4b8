#include "wire/command.h"

#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>

static struct resp_command command;

/* Parses an inline line into `command`. */
static void words(const char *line)
{
    size_t consumed;
    const char *error;
    enum resp_status status = resp_parse(bytes_of(line), &command, &consumed, &error);
    assert(status == RESP_COMMAND);
}

static const char *text_of(struct bytes bytes)
{
    static char text[RESP_BULK_MAX_BYTES + 1];
    memcpy(text, bytes.data != NULL ? bytes.data : "", bytes.size);
    text[bytes.size] = '\0';
    return text;
}

static void test_table(void)
{
    OK(command_find(bytes_of("CAN_ACCESS")) == COMMAND_CAN_ACCESS, "a command is found in capitals");
    OK(command_find(bytes_of("can_access")) == COMMAND_CAN_ACCESS, "in small letters");
    OK(command_find(bytes_of("Can_Access")) == COMMAND_CAN_ACCESS, "in both");
    OK(command_find(bytes_of("CAN_ACCESS ")) == COMMAND_ID_COUNT, "not with more behind it");
    OK(command_find(bytes_of("CAN_ACCES")) == COMMAND_ID_COUNT, "not with less");
    OK(command_find(bytes_of("")) == COMMAND_ID_COUNT, "nothing is no command");
    OK(command_find(bytes_of("CAN\x1f"
                             "ACCESS")) == COMMAND_ID_COUNT,
       "characters that differ by the case bit are not letters");
    bool found = true, listed = true;
    for (unsigned i = 0; i < COMMAND_ID_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        found &= command_find(bytes_of(spec->name)) == (enum command_id)i;
        listed &= strlen(spec->name) == spec->name_size && spec->arity != 0 && spec->summary[0] != '\0';
    }
    OK(found, "every command is found by its name");
    OK(listed, "every command has an arity and a summary");
    found = true;
    for (unsigned i = 0; i < SUBCOMMAND_ID_COUNT; i++) {
        const struct subcommand_spec *sub = &subcommand_table[i];
        found &= subcommand_find(sub->parent, bytes_of(sub->spec.name)) == (enum subcommand_id)i;
        found &= command_arity_fits(command_table[sub->parent].arity, 2);
    }
    OK(found, "every subcommand is found by its parent and name");
    OK(subcommand_find(COMMAND_DEBUG, bytes_of("setname")) == SUBCOMMAND_ID_COUNT, "and not by another parent");
    OK(command_arity_fits(-2, 2) && command_arity_fits(-2, 9) && !command_arity_fits(-2, 1), "arity: at least");
    OK(command_arity_fits(2, 2) && !command_arity_fits(2, 1) && !command_arity_fits(2, 3), "arity: exactly");
}

static void test_numbers(void)
{
    uint64_t number = 0;
    OK(word_number(bytes_of("0"), 0, &number) && number == 0, "0");
    OK(word_number(bytes_of("1000000000000"), COMMAND_COST_MAX, &number), "the largest cost");
    OK(!word_number(bytes_of("1000000000001"), COMMAND_COST_MAX, &number), "one more");
    OK(!word_number(bytes_of("99999999999999999999999"), UINT64_MAX, &number), "too long to be a number");
    OK(!word_number(bytes_of("-1"), 9, &number), "a sign");
    OK(!word_number(bytes_of("1.5"), 9, &number), "a fraction");
    OK(!word_number(bytes_of(""), 9, &number), "nothing");
    OK(!word_number(bytes_of("1x"), 9, &number), "letters");
}

static void test_can_access(void)
{
    char error[COMMAND_ERROR_BYTES], line[400];
    struct command_access access;
    words("CAN_ACCESS alice\n");
    OK(command_parse_can_access(&command, &access, error) && access.cost == 1, "CAN_ACCESS key costs 1");
    OK_STRING(text_of(access.key), "alice", "its key");
    words("CAN_ACCESS a=b=c 25\n");
    OK(command_parse_can_access(&command, &access, error) && access.cost == 25, "CAN_ACCESS key cost");
    OK_STRING(text_of(access.key), "a=b=c", "its key is taken verbatim");
    words("CAN_ACCESS alice 0\n");
    OK(command_parse_can_access(&command, &access, error) && access.cost == 0,
       "a cost of 0 asks whether debt stands");

    OK_I64(access.patience_ms, COMMAND_PATIENCE_NONE, "it says nothing of its patience");
    words("CAN_ACCESS alice 2 patience 5000\n");
    OK(command_parse_can_access(&command, &access, error) && access.cost == 2 && access.patience_ms == 5000,
       "CAN_ACCESS key cost PATIENCE ms");
    words("CAN_ACCESS alice PATIENCE 0\n");
    OK(command_parse_can_access(&command, &access, error) && access.cost == 1 && access.patience_ms == 0,
       "CAN_ACCESS key PATIENCE ms");
    words("CAN_ACCESS alice PATIENCE 5001\n");
    OK(!command_parse_can_access(&command, &access, error), "nobody waits for longer than 5 s");
    OK_STRING(error, "PATIENCE is '5001': expected milliseconds from 0 to 5000", "why");
    words("CAN_ACCESS alice 2 PATIENCE\n");
    OK(!command_parse_can_access(&command, &access, error), "nor for nothing");

    words("CAN_ACCESS alice -1\n");
    OK(!command_parse_can_access(&command, &access, error), "a negative cost is refused");
    OK_STRING(error, "cost '-1' is out of range: expected a whole number of tokens from 0 to 1000000000000", "why");
    words("CAN_ACCESS alice 1000000000001\n");
    OK(!command_parse_can_access(&command, &access, error), "so is an absurd one");
    words("CAN_ACCESS alice lots\n");
    OK(!command_parse_can_access(&command, &access, error), "so is a word");
    words("CAN_ACCESS alice 1 1\n");
    OK(!command_parse_can_access(&command, &access, error), "so are further words");
    words("CAN_ACCESS \"\"\n");
    OK(!command_parse_can_access(&command, &access, error), "so is an empty key");
    memset(line, 'k', sizeof line);
    memcpy(line, "CAN_ACCESS ", 11);
    memcpy(line + 11 + 256, "\n", 2);
    words(line);
    OK(command_parse_can_access(&command, &access, error) && access.key.size == 256, "a key of 256 bytes is taken");
    memcpy(line + 11 + 256, "k\n", 3);
    words(line);
    OK(!command_parse_can_access(&command, &access, error), "one of 257 is not");
    OK_STRING(error, "key of 257 bytes: expected at most 256", "why");
}

int main(void)
{
    test_table();
    test_numbers();
    test_can_access();
    return tap_done();
}
