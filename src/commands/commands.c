#include "commands/commands.h"

#include "commands/call.h"
#include "limit/key.h"

#include <assert.h>
#include <stdlib.h>

_Static_assert((int)COMMAND_VALUE_MAX_BYTES == (int)KEY_VALUE_MAX_BYTES, "what clients may name is a key");
_Static_assert((int)COMMAND_DIMENSION_MAX_BYTES == (int)KEY_DIMENSION_MAX_BYTES, "what clients may name is a key");
_Static_assert(COMMAND_COST_MAX == LIMIT_CAPACITY_MAX, "a cost is absurd above the largest capacity");

void commands_init(struct commands *commands)
{
    assert(commands->node != NULL && commands->limits != NULL && commands->submit != NULL);
    commands->stats = (struct commands_stats){0};
    commands->staged = (struct staged){0};
    commands->group_request = (struct request){.priority = RULE_PRIORITY_NORMAL,
                                               .id_count = 1,
                                               .id[0].dimension = bytes_of(RULE_DEFAULT_DIMENSION)};
}

void commands_close(struct commands *commands)
{
    free(commands->staged.text);
    commands->staged = (struct staged){0};
}

void session_open(struct session *session, const struct commands *commands, uint64_t id, const char *address)
{
    size_t size = strnlen(address, sizeof session->address - 1);
    memcpy(session->address, address, size);
    session->address[size] = '\0';
    session->id = id;
    session_reset(session, commands);
}

/* ---- single commands ---- */

void call_wrong_arity(struct call *call, const struct command_spec *parent, const struct command_spec *spec)
{
    const char *first = parent != NULL ? parent->name : "", *between = parent != NULL ? " " : "";
    answer_error(&call->answer, "ERR wrong number of arguments for '%s%s%s' command: expected %s%s%s%s%s", first,
                 between, spec->name, first, between, spec->name, spec->syntax[0] != '\0' ? " " : " alone",
                 spec->syntax);
}

enum subcommand_id call_subcommand(struct call *call, enum command_id parent)
{
    const struct resp_command *words = call->words;
    enum subcommand_id id = subcommand_find(parent, words->args[1]);
    if (id == SUBCOMMAND_ID_COUNT) {
        struct bytes word = words->args[1];
        char known[COMMAND_ERROR_BYTES] = "";
        struct output list = output_over(known, sizeof known - 1);
        for (unsigned i = 0; i < SUBCOMMAND_ID_COUNT; i++)
            if (subcommand_table[i].parent == parent)
                output_print(&list, "%s%s", list.size > 0 ? ", " : "", subcommand_table[i].spec.name);
        answer_error(&call->answer, "ERR unknown subcommand '%.*s' of %s: expected one of %s", call_shown(word),
                     word.data, command_table[parent].name, known);
        return id;
    }
    const struct command_spec *spec = &subcommand_table[id].spec;
    if (command_arity_fits(spec->arity, words->count))
        return id;
    call_wrong_arity(call, &command_table[parent], spec);
    return SUBCOMMAND_ID_COUNT;
}

int64_t call_ms(uint64_t ns)
{
    return ns == UINT64_MAX ? -1 : (int64_t)(ns / 1000000 + (ns % 1000000 != 0));
}

static void call_echo(struct call *call)
{
    answer_bulk(&call->answer, call->words->args[1]);
}

static void call_quit(struct call *call)
{
    answer_simple(&call->answer, "OK");
    call->close = true;
}

/* Of a key, or of the connection. */
static void call_reset_either(struct call *call)
{
    if (call->words->count > 1)
        call_reset_keys(call);
    else
        call_reset(call);
}

static void (*const calls[COMMAND_ID_COUNT])(struct call *call) = {
    [COMMAND_CAN_ACCESS] = call_can_access,
    [COMMAND_CHECK] = call_check,
    [COMMAND_PEEK] = call_peek,
    [COMMAND_EXPLAIN] = call_explain,
    [COMMAND_REFUND] = call_refund,
    [COMMAND_RESERVE] = call_reserve,
    [COMMAND_COMMIT] = call_commit,
    [COMMAND_CANCEL] = call_cancel,
    [COMMAND_RENEW] = call_renew,
    [COMMAND_CL_THROTTLE] = call_cl_throttle,
    [COMMAND_THROTTLE] = call_throttle,
    [COMMAND_RULE] = call_rule,
    [COMMAND_HEALTH] = call_health,
    [COMMAND_PING] = call_ping,
    [COMMAND_ECHO] = call_echo,
    [COMMAND_HELLO] = call_hello,
    [COMMAND_AUTH] = call_auth,
    [COMMAND_CLIENT] = call_client,
    [COMMAND_SELECT] = call_select,
    [COMMAND_RESET] = call_reset_either,
    [COMMAND_QUIT] = call_quit,
    [COMMAND_COMMAND] = call_command,
    [COMMAND_INFO] = call_info,
    [COMMAND_CONFIG] = call_config,
    [COMMAND_NODES] = call_nodes,
    [COMMAND_CLUSTER] = call_cluster,
    [COMMAND_FORGET] = call_forget,
    [COMMAND_DEBUG] = call_debug,
};

static void dispatch(struct call *call)
{
    struct bytes name = call->words->args[0];
    enum command_id id = command_find(name);
    if (id == COMMAND_ID_COUNT && (word_is(name, "post") || word_is(name, "host:"))) {
        /* A web page made a browser talk to us: what follows may be anything. */
        answer_error(&call->answer, "ERR Protocol error: this is not an HTTP server");
        call->commands->stats.protocol_errors++;
        call->close = true;
    } else if (id == COMMAND_ID_COUNT) {
        answer_error(&call->answer, "ERR unknown command '%.*s': COMMAND LIST names what this server knows",
                     call_shown(name), name.data);
    } else if (!command_arity_fits(command_table[id].arity, call->words->count)) {
        call_wrong_arity(call, NULL, &command_table[id]);
    } else if (!call->session->authenticated && (command_table[id].flags & COMMAND_NO_AUTH) == 0) {
        answer_error(&call->answer, "NOAUTH Authentication required.");
    } else {
        calls[id](call);
    }
}

static bool execute(struct commands *commands, struct session *session, const struct resp_command *words,
                    struct output *output, struct turn turn)
{
    size_t before = output->size;
    struct call call = {.commands = commands,
                        .session = session,
                        .words = words,
                        .answer = {.output = output, .protocol = session->protocol},
                        .now_ns = turn.now_ns,
                        .wall_ns = turn.wall_ns};
    dispatch(&call);
    if (output->overflowed) {
        output->overflowed = false;
        output->size = before;
        answer_error(&call.answer, "ERR the answer is longer than %d bytes", OUTPUT_REPLY_MAX_BYTES);
    }
    commands->stats.total_commands_processed++;
    if (output->data[before] == '-')
        commands->stats.total_error_replies++;
    return !call.close;
}

enum serve_status commands_serve(struct commands *commands, struct session *session, struct bytes input,
                                 struct output *output, struct turn turn, size_t *consumed)
{
    struct resp_command words;
    struct group group;
    enum serve_status status = SERVE_MORE;
    bool going = true;
    group.first = commands->late_count;
    group.count = 0;
    *consumed = 0;
    while (going) {
        const char *error;
        size_t frame;
        if (output->room - output->size < OUTPUT_REPLY_MAX_BYTES + DECISION_BYTES * (size_t)group.count) {
            status = SERVE_AGAIN;
            break;
        }
        struct bytes rest = {input.data + *consumed, input.size - *consumed};
        enum resp_status parsed = resp_parse(rest, &words, &frame, &error);
        if (parsed == RESP_MORE)
            break;
        *consumed += frame;
        if (parsed == RESP_COMMAND && (words.count == 0 || group_join(&group, commands, session, &words, turn))) {
            if (group.count == COMMANDS_GROUP_MAX)
                group_decide(&group, commands, output, turn);
            continue;
        }
        group_decide(&group, commands, output, turn);
        if (parsed == RESP_ERROR) {
            struct answer answer = {.output = output, .protocol = session->protocol};
            answer_error(&answer, "ERR %s", error);
            commands->stats.protocol_errors++;
            going = false;
        } else {
            going = execute(commands, session, &words, output, turn);
        }
    }
    if (going && output->size == 0 && *consumed == input.size && group_put_off(&group, commands, session))
        return SERVE_LATER;
    group_decide(&group, commands, output, turn);
    return going ? status : SERVE_CLOSE;
}
