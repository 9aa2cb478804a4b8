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
    pool_init(&commands->queues, TRANSACTIONS_MAX_BYTES);
    throttle_init(commands);
    commands->group_request = (struct request){.priority = RULE_PRIORITY_NORMAL,
                                               .lane = commands->lane,
                                               .id_count = 1,
                                               .id[0].dimension = bytes_of(RULE_DEFAULT_DIMENSION)};
}

void commands_close(struct commands *commands)
{
    free(commands->staged.text);
    commands->staged = (struct staged){0};
    pool_close(&commands->queues);
}

void session_close(struct session *session, struct commands *commands)
{
    transaction_end(session, commands);
}

void session_open(struct session *session, struct commands *commands, uint64_t id, const char *address)
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

void call_alone(struct call *call, bool alone)
{
    const struct commands *commands = call->commands;
    if (commands->alone != NULL)
        commands->alone(commands->context, alone);
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
    [COMMAND_DEBUG] = call_debug,
};

/* The command that can be called; COMMAND_ID_COUNT: an error was answered. */
static enum command_id find_call(struct call *call)
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
        return id;
    }
    return COMMAND_ID_COUNT;
}

static void dispatch(struct call *call)
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

/* What is served of one input; usual requests and others that are grouped wait for more of their kind. */
struct serving {
    struct commands *commands;
    struct session *session;
    struct output *output;
    struct turn turn;
    struct group group;
    uint32_t usual_count;
    bool usual;  /* there may be some */
    bool closes; /* the connection is to be closed */
};

/* `words`, which `frame` was parsed to. False: the connection is to be closed. */
static bool execute(struct serving *serving, const struct resp_command *words, struct bytes frame)
{
    struct commands *commands = serving->commands;
    struct output *output = serving->output;
    size_t before = output->size;
    struct call call = {.commands = commands,
                        .session = serving->session,
                        .words = words,
                        .frame = frame,
                        .answer = {.output = output, .protocol = serving->session->protocol},
                        .now_ns = serving->turn.now_ns,
                        .wall_ns = serving->turn.wall_ns};
    dispatch(&call);
    if (output->overflowed) {
        output->overflowed = false;
        output->size = before;
        answer_error(&call.answer, "ERR the answer is longer than %d bytes", OUTPUT_REPLY_MAX_BYTES);
    }
    commands->stats.total_commands_processed++;
    if (output->size > before && output->data[before] == '-') {
        commands->stats.total_error_replies++;
        if (serving->session->transaction.runs)
            transaction_cut_error(output, before);
    }
    return !call.close;
}

static void decide_usual(struct serving *serving)
{
    usual_decide(serving->commands, serving->usual_count, serving->output, serving->turn);
    serving->usual_count = 0;
}

static void decide_group(struct serving *serving)
{
    if (serving->group.count > 0)
        group_decide(&serving->group, serving->commands, serving->session, serving->output, serving->turn);
}

static void decide_group_if_full(struct serving *serving)
{
    if (serving->group.count == COMMANDS_GROUP_MAX)
        decide_group(serving);
}

static void decide_all(struct serving *serving)
{
    decide_usual(serving);
    decide_group(serving);
}

/* The sizes of usual requests at the front of `input`, together. */
static size_t serve_usual(struct serving *serving, struct bytes input)
{
    size_t size = 0, one;
    while (serving->usual_count < COMMANDS_USUAL_MAX &&
           (one = usual_join(serving->commands, (struct bytes){input.data + size, input.size - size},
                             serving->usual_count)) > 0) {
        serving->usual_count++;
        size += one;
    }
    return size;
}

/* The sizes of requests at the front of `input` that are like ones before, together. */
static size_t serve_alike(struct serving *serving, struct bytes input)
{
    size_t size = 0, one;
    while (size < input.size && serving->group.count < COMMANDS_GROUP_MAX &&
           (one = group_join_alike(&serving->group, serving->commands, serving->session,
                                   (struct bytes){input.data + size, input.size - size})) > 0)
        size += one;
    if (size == 0)
        return 0;
    decide_usual(serving);
    decide_group_if_full(serving);
    return size;
}

/* One command of any kind, or what is none. False: the connection is to be closed. */
static bool serve_words(struct serving *serving, enum resp_status parsed, const struct resp_command *words,
                        struct bytes frame, const char *error)
{
    struct commands *commands = serving->commands;
    if (parsed == RESP_COMMAND && words->count == 0)
        return true;
    decide_usual(serving);
    if (parsed == RESP_COMMAND &&
        group_join(&serving->group, commands, serving->session, words, frame, serving->turn)) {
        decide_group_if_full(serving);
        return true;
    }
    decide_group(serving);
    if (parsed == RESP_COMMAND) {
        bool going = execute(serving, words, frame);
        serving->usual = usual_possible(commands, serving->session);
        return going;
    }
    struct answer answer = {.output = serving->output, .protocol = serving->session->protocol};
    answer_error(&answer, "ERR %s", error);
    commands->stats.protocol_errors++;
    return false;
}

/* For the longest answer, or what EXEC may come to. */
static bool has_room(const struct serving *serving)
{
    const struct output *output = serving->output;
    size_t longest = OUTPUT_REPLY_MAX_BYTES, transaction = serving->session->transaction.answer_bytes;
    return output->room - output->size >= (transaction > longest ? transaction : longest) +
                                              GROUPED_ANSWER_BYTES * (size_t)COMMANDS_GROUP_MAX +
                                              DECISION_BYTES * ((size_t)serving->usual_count + COMMANDS_USUAL_MAX);
}

/* Serves one command at the front of `input`, or several of a kind. Their size; 0: the first one is not whole. */
static size_t serve_front(struct serving *serving, struct bytes input)
{
    struct resp_command words;
    const char *error;
    size_t frame = 0;
    if (serving->usual && serving->group.count == 0)
        frame = serve_usual(serving, input);
    if (serving->usual_count == COMMANDS_USUAL_MAX)
        decide_all(serving);
    if (frame == 0 && !serving->session->transaction.open)
        frame = serve_alike(serving, input);
    if (frame > 0)
        return frame;
    enum resp_status parsed = resp_parse(input, &words, &frame, &error);
    if (parsed == RESP_MORE)
        return 0;
    serving->closes = !serve_words(serving, parsed, &words, (struct bytes){input.data, frame}, error);
    return frame;
}

/* What MULTI queued, for EXEC: none of it begins, ends or leaves a transaction. */
static void serve_queued(struct serving *serving)
{
    struct session *session = serving->session;
    const struct transaction *transaction = &session->transaction;
    size_t at = 0;
    serving->usual = usual_possible(serving->commands, session);
    while (at < transaction->size)
        at += serve_front(serving, (struct bytes){transaction->queued->data + at, transaction->size - at});
    decide_all(serving);
    assert(!serving->closes && !session_waits(session));
    transaction_end(session, serving->commands);
}

enum serve_status commands_serve(struct commands *commands, struct session *session, struct bytes input,
                                 struct output *output, struct turn turn, size_t *consumed)
{
    struct serving serving = {.commands = commands, .session = session, .output = output, .turn = turn};
    enum serve_status status = SERVE_MORE;
    serving.usual = usual_possible(commands, session);
    *consumed = 0;
    while (!serving.closes && !session_waits(session) && *consumed < input.size) {
        if (!has_room(&serving)) {
            status = SERVE_AGAIN;
            break;
        }
        size_t size = serve_front(&serving, (struct bytes){input.data + *consumed, input.size - *consumed});
        if (size == 0 && !serving.closes)
            break;
        *consumed += size;
        if (session->transaction.runs)
            serve_queued(&serving);
    }
    const bool going = !serving.closes;
    if (session_waits(session))
        return going ? SERVE_WAIT : SERVE_CLOSE;
    if (going && output->size == 0 && *consumed == input.size && serving.group.count == 0 &&
        usual_put_off(commands, session, serving.usual_count))
        return SERVE_LATER;
    decide_all(&serving);
    return going ? status : SERVE_CLOSE;
}
