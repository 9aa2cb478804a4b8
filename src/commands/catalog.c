/*
 * Answers what client libraries ask about the server before they use it: COMMAND and CONFIG GET, DBSIZE and TIME.
 */
#include "base/units.h"
#include "commands/call.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static void answer_flags(struct answer *answer, unsigned flags)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {
        {COMMAND_WRITE, "write"},     {COMMAND_READ, "readonly"}, {COMMAND_FAST, "fast"},
        {COMMAND_NO_AUTH, "no_auth"}, {COMMAND_ADMIN, "admin"},
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        count += (flags & names[i].flag) != 0;
    answer_set(answer, count);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if ((flags & names[i].flag) != 0)
            answer_simple(answer, names[i].name);
}

/* Writes the ten fields that redis 7 gives for a command. */
static void answer_fields(struct answer *answer, const struct command_spec *spec, const char *name,
                          size_t subcommand_count)
{
    int key = (spec->flags & COMMAND_KEY) != 0 ? 1 : 0;
    answer_array(answer, 10);
    answer_text(answer, name);
    answer_integer(answer, spec->arity);
    answer_flags(answer, spec->flags);
    answer_integer(answer, key);
    answer_integer(answer, key);
    answer_integer(answer, key);
    answer_set(answer, 0);   /* access categories */
    answer_array(answer, 0); /* tips */
    answer_array(answer, 0); /* key specifications */
    answer_array(answer, subcommand_count);
}

static size_t count_subcommands(enum command_id parent)
{
    size_t count = 0;
    for (unsigned i = 0; i < SUBCOMMAND_ID_COUNT; i++)
        count += subcommand_table[i].parent == parent;
    return count;
}

static void answer_info(struct answer *answer, enum command_id id)
{
    answer_fields(answer, &command_table[id], command_table[id].name, count_subcommands(id));
    for (unsigned i = 0; i < SUBCOMMAND_ID_COUNT; i++) {
        const struct subcommand_spec *sub = &subcommand_table[i];
        char name[64] = "";
        struct output full = output_over(name, sizeof name - 1);
        if (sub->parent != id)
            continue;
        output_print(&full, "%s|%s", command_table[id].name, sub->spec.name);
        answer_fields(answer, &sub->spec, name, 0);
    }
}

/* Writes the syntax as one argument: redis-cli shows the name of that argument as a hint while the user types. */
static void answer_doc(struct answer *answer, const struct command_spec *spec, const char *group, size_t further)
{
    bool has_arguments = spec->syntax[0] != '\0';
    answer_map(answer, 3 + has_arguments + further);
    answer_pair_text(answer, "summary", spec->summary);
    answer_pair_text(answer, "since", "0.1.0");
    answer_pair_text(answer, "group", group);
    if (!has_arguments)
        return;
    answer_pair_array(answer, "arguments", 1);
    answer_map(answer, 2);
    answer_pair_text(answer, "name", spec->syntax);
    answer_pair_text(answer, "type", "string");
}

static void answer_docs(struct answer *answer, enum command_id id)
{
    const struct command_spec *spec = &command_table[id];
    size_t subcommand_count = count_subcommands(id);
    answer_text(answer, spec->name);
    answer_doc(answer, spec, spec->group, subcommand_count > 0);
    if (subcommand_count == 0)
        return;
    answer_text(answer, "subcommands");
    answer_map(answer, subcommand_count);
    for (unsigned i = 0; i < SUBCOMMAND_ID_COUNT; i++) {
        const struct subcommand_spec *sub = &subcommand_table[i];
        char name[64] = "";
        struct output full = output_over(name, sizeof name - 1);
        if (sub->parent != id)
            continue;
        output_print(&full, "%s|%s", spec->name, sub->spec.name);
        answer_text(answer, name);
        answer_doc(answer, &sub->spec, spec->group, 0);
    }
}

/*
 * Answers COMMAND INFO and COMMAND DOCS for the given names, or for all commands. An unknown name
 * is null in INFO and absent from DOCS.
 */
static void answer_about(struct call *call, bool docs)
{
    struct answer *answer = &call->answer;
    const struct resp_command *words = call->words;
    if (words->count <= 2) {
        docs ? answer_map(answer, COMMAND_ID_COUNT) : answer_array(answer, COMMAND_ID_COUNT);
        for (unsigned i = 0; i < COMMAND_ID_COUNT; i++)
            docs ? answer_docs(answer, (enum command_id)i) : answer_info(answer, (enum command_id)i);
        return;
    }
    size_t known = 0;
    for (uint32_t i = 2; i < words->count; i++)
        known += command_find(words->args[i]) != COMMAND_ID_COUNT;
    docs ? answer_map(answer, known) : answer_array(answer, words->count - 2);
    for (uint32_t i = 2; i < words->count; i++) {
        enum command_id id = command_find(words->args[i]);
        if (id == COMMAND_ID_COUNT && !docs)
            answer_null(answer);
        else if (id != COMMAND_ID_COUNT)
            docs ? answer_docs(answer, id) : answer_info(answer, id);
    }
}

void call_command(struct call *call)
{
    struct answer *answer = &call->answer;
    if (call->words->count == 1) {
        answer_about(call, false);
        return;
    }
    enum subcommand_id id = call_subcommand(call, COMMAND_COMMAND);
    if (id == SUBCOMMAND_COMMAND_COUNT) {
        answer_integer(answer, COMMAND_ID_COUNT);
    } else if (id == SUBCOMMAND_COMMAND_DOCS || id == SUBCOMMAND_COMMAND_INFO) {
        answer_about(call, id == SUBCOMMAND_COMMAND_DOCS);
    } else if (id == SUBCOMMAND_COMMAND_LIST) {
        answer_array(answer, COMMAND_ID_COUNT);
        for (unsigned i = 0; i < COMMAND_ID_COUNT; i++)
            answer_text(answer, command_table[i].name);
    } else {
        assert(id == SUBCOMMAND_ID_COUNT);
    }
}

/* redis-benchmark asks for these two settings and warns if they are missing. Both answers are true. */
static const char *setting(struct bytes name)
{
    if (word_is(name, "save"))
        return "";
    return word_is(name, "appendonly") ? "no" : NULL;
}

void call_config(struct call *call)
{
    const struct resp_command *words = call->words;
    enum subcommand_id id = call_subcommand(call, COMMAND_CONFIG);
    if (id == SUBCOMMAND_ID_COUNT)
        return;
    assert(id == SUBCOMMAND_CONFIG_GET);
    size_t known = 0;
    for (uint32_t i = 2; i < words->count; i++)
        known += setting(words->args[i]) != NULL;
    answer_map(&call->answer, known);
    for (uint32_t i = 2; i < words->count; i++) {
        const char *value = setting(words->args[i]);
        if (value == NULL)
            continue;
        answer_bulk(&call->answer, words->args[i]);
        answer_text(&call->answer, value);
    }
}

void call_dbsize(struct call *call)
{
    struct table_stats table;
    node_table_stats(call->commands->node, &table);
    answer_integer(&call->answer, (int64_t)table.used_keys);
}

void call_time(struct call *call)
{
    char text[UNITS_TEXT_BYTES];
    answer_array(&call->answer, 2);
    (void)snprintf(text, sizeof text, "%" PRIu64, call->wall_ns / 1000000000u);
    answer_text(&call->answer, text);
    (void)snprintf(text, sizeof text, "%" PRIu64, call->wall_ns / 1000u % 1000000u);
    answer_text(&call->answer, text);
}
