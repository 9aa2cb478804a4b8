/*
 * Finds the function that executes a command, checks the command's words and the client's rights,
 * and calls the function, or answers an error that says why no function is called.
 */
#include "commands/call.h"

void call_wrong_arity(struct call *call, const struct command_spec *parent, const struct command_spec *spec)
{
    const char *first = parent != NULL ? parent->name : "", *between = parent != NULL ? " " : "";
    answer_error(&call->answer, "ERR wrong number of arguments for '%s%s%s' command: expected %s%s%s%s%s", first,
                 between, spec->name, first, between, spec->name, spec->syntax[0] != '\0' ? " " : " alone",
                 spec->syntax);
}

static void answer_no_right(struct call *call, const char *parent, const char *name)
{
    answer_error(&call->answer, "NOPERM User %s has no permissions to run the '%s%s%s' command",
                 call->session->user->name, parent, parent[0] ? "|" : "", name);
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
    if (!user_has(call->session->user, spec->roles))
        answer_no_right(call, command_table[parent].name, spec->name);
    else if (command_arity_fits(spec->arity, words->count))
        return id;
    else
        call_wrong_arity(call, &command_table[parent], spec);
    return SUBCOMMAND_ID_COUNT;
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

/* Resets a key, or the connection. */
static void call_reset_either(struct call *call)
{
    if (call->words->count > 1)
        call_reset_keys(call);
    else
        call_reset(call);
}

static void (*const calls[COMMAND_ID_COUNT])(struct call *call) = {
    [COMMAND_CAN_ACCESS] = call_refused,
    [COMMAND_CHECK] = call_check,
    [COMMAND_PEEK] = call_refused,
    [COMMAND_EXPLAIN] = call_explain,
    [COMMAND_REFUND] = call_refund,
    [COMMAND_RESERVE] = call_refused,
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
    [COMMAND_MULTI] = call_multi,
    [COMMAND_EXEC] = call_exec,
    [COMMAND_DISCARD] = call_discard,
    [COMMAND_WATCH] = call_watch,
    [COMMAND_UNWATCH] = call_unwatch,
    [COMMAND_COMMAND] = call_command,
    [COMMAND_INFO] = call_info,
    [COMMAND_DBSIZE] = call_dbsize,
    [COMMAND_TIME] = call_time,
    [COMMAND_CONFIG] = call_config,
    [COMMAND_NODES] = call_nodes,
    [COMMAND_CLUSTER] = call_cluster,
    [COMMAND_FORGET] = call_forget,
    [COMMAND_WEIGHTS] = call_weights,
    [COMMAND_MEMBER_KEY] = call_member_key,
    [COMMAND_RELOAD] = call_reload,
    [COMMAND_DEBUG] = call_debug,
    [COMMAND_HOT] = call_hot,
    [COMMAND_FINGERPRINT] = call_fingerprint,
};

/* Finds a command that may be called. COMMAND_ID_COUNT: the call has answered an error. */
static enum command_id find_call(struct call *call)
{
    struct bytes name = call->words->args[0];
    enum command_id id = command_find(name);
    if (id == COMMAND_ID_COUNT && (word_is(name, "post") || word_is(name, "host:"))) {
        /* A web page may have made a browser send this request: the rest of the input may be anything. */
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
    } else if (!call_may(call->session, id) && !(id == COMMAND_RESET && call->words->count == 1)) {
        answer_no_right(call, "", command_table[id].name);
    } else {
        return id;
    }
    return COMMAND_ID_COUNT;
}

void call_dispatch(struct call *call)
{
    struct transaction *transaction = &call->session->transaction;
    enum command_id id = find_call(call);
    bool at_once = id == COMMAND_ID_COUNT || (command_table[id].flags & COMMAND_AT_ONCE) != 0 ||
                   (id == COMMAND_RESET && call->words->count == 1);
    if (id == COMMAND_ID_COUNT) {
        transaction->failed = transaction->open;
    } else if (transaction->open && !at_once) {
        transaction_queue(call, id);
    } else if ((command_table[id].flags & COMMAND_TOGETHER) != 0) {
        calls[id](call);
    } else {
        call_alone(call, true);
        calls[id](call);
        call_alone(call, false);
    }
}
