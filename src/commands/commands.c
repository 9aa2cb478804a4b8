/*
 * Serves one input: tells the commands in it apart, lets requests for decisions join the queue
 * (pending.c), has every other command executed (dispatch.c), and stops where the output has no
 * room or the work of the turn is used up.
 */
#include "commands/commands.h"

#include "commands/call.h"
#include "commands/patient.h"
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
    commands->latencies = (struct latencies){0};
    commands->resident = (struct resident){0};
    commands->staged = (struct staged){0};
    commands->guessers = (struct guessers){0};
    memset(&commands->waiting, 0, sizeof commands->waiting);
    pool_init(&commands->queues, TRANSACTIONS_MAX_BYTES);
    throttle_init(commands);
    observe_init(&commands->observer);
    commands->access_request = (struct request){.priority = RULE_PRIORITY_NORMAL,
                                                .thread = commands->thread,
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
    patient_leave(commands, &session->waiting);
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

/* Work is counted in the units of command.h. This is the work that the table of commands does not list. */
enum {
    UNKNOWN_WORK = 10,
    EMPTY_WORK = 3,         /* a line without words, or an empty array */
    FRAME_WORK_BYTES = 128, /* bytes of a request that cost one unit */
    OUTPUT_WORK_BYTES = 64, /* bytes of an answer that cost one unit */
};

/* ---- serving ---- */

/* The state of serving one input. */
struct serving {
    struct commands *commands;
    struct session *session;
    struct output *output;
    struct turn turn;
    uint32_t work;        /* units that were done so far, see command.h, but for answers and walks along logs */
    uint64_t walks_begun; /* of ask_begin_walks */
    bool waits;           /* see session_waits: nothing more is served */
    bool joins;           /* requests may join `pending`: the client is known, and no transaction queues them */
    bool shapes;     /* those of known shapes need no look at their words: the client may ask about all services */
    bool ends;       /* nothing more is served: the connection is to be closed, or a request has to wait */
    const char *end; /* of the input */
    size_t held;     /* the size of the request that was taken last and has to wait; 0: none has */
};

/* Must be called first, and after each command that may have changed the session or the rules. */
static void look_anew(struct serving *serving)
{
    struct session *session = serving->session;
    if (session->user->edition != session->user_edition)
        session_forget_user(session);
    serving->waits = session_waits(session);
    serving->joins = session->authenticated && !session->transaction.open;
    serving->shapes = serving->joins && user_has(session->user, ROLE_CHECK) && session->user->services[0] == '\0';
    serving->commands->caller = session->user;
    shapes_renew(serving->commands, serving->turn);
}

/* Executes `words`, which were parsed from `frame`. False: the connection must be closed. */
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
    call_dispatch(&call);
    serving->work += call.work;
    if (call.holds) {
        serving->held = frame.size;
        serving->ends = true;
    }
    if (output->overflowed) {
        output->overflowed = false;
        output->size = before;
        answer_error(&call.answer, "ERR the answer is longer than %d bytes", OUTPUT_REPLY_MAX_BYTES);
    }
    commands->stats.total_commands_processed += !serving->session->waits_check && !call.holds;
    if (output->size > before && output->data[before] == '-') {
        commands->stats.total_error_replies++;
        if (serving->session->transaction.runs)
            transaction_cut_error(output, before);
    }
    return !call.close;
}

/* noinline: keeps it off the fast path. The last request may have to wait. */
__attribute__((noinline)) static void decide_patiently(struct serving *serving)
{
    struct pending *pending = &serving->commands->pending;
    const struct bytes frame = pending->run[pending->run_count - 1].frames;
    const uint32_t count = pending->request_count;
    if (!serving->session->transaction.runs)
        pending->behind = (struct bytes){frame.data + frame.size, (size_t)(serving->end - frame.data) - frame.size};
    serving->held = pending_decide_patiently(serving->commands, serving->session, serving->output, serving->turn);
    serving->ends = serving->held > 0;
    serving->commands->stats.total_commands_processed += count - serving->ends;
}

static void decide(struct serving *serving)
{
    if (serving->commands->pending.patient) {
        decide_patiently(serving);
        return;
    }
    serving->commands->stats.total_commands_processed += serving->commands->pending.request_count;
    pending_decide(serving->commands, serving->session, serving->output, serving->turn.now_ns);
}

static void decide_if_full(struct serving *serving)
{
    if (pending_is_full(&serving->commands->pending))
        decide(serving);
}

/* The units that a command costs, without its answer. */
static uint32_t work_of(const struct resp_command *words, size_t frame_size)
{
    enum command_id id = command_find(words->args[0]);
    return (uint32_t)(frame_size / FRAME_WORK_BYTES) +
           (id == COMMAND_ID_COUNT ? UNKNOWN_WORK : command_table[id].work);
}

static bool may_join(const struct serving *serving, const struct resp_command *words)
{
    if (!serving->joins || serving->shapes)
        return serving->joins;
    const enum command_id id = command_find(words->args[0]);
    return id != COMMAND_ID_COUNT && call_may(serving->session, id);
}

/* Serves one command of any kind, or answers input that is no command. False: the connection must be closed. */
static bool serve_words(struct serving *serving, enum resp_status parsed, const struct resp_command *words,
                        struct bytes frame, const char *error)
{
    struct commands *commands = serving->commands;
    if (parsed == RESP_COMMAND && words->count == 0) {
        serving->work += EMPTY_WORK + (uint32_t)(frame.size / FRAME_WORK_BYTES);
        return true;
    }
    if (parsed == RESP_COMMAND)
        serving->work += work_of(words, frame.size);
    const uint32_t keys_before = commands->pending.key_count;
    if (parsed == RESP_COMMAND && may_join(serving, words) &&
        pending_join(commands, words, frame, serving->turn, NULL)) {
        serving->work += ask_work_of_keys(commands->pending.key_count - keys_before);
        decide_if_full(serving);
        return true;
    }
    decide(serving);
    if (parsed == RESP_COMMAND) {
        bool going = execute(serving, words, frame);
        look_anew(serving);
        return going;
    }
    struct answer answer = {.output = serving->output, .protocol = serving->session->protocol};
    answer_error(&answer, "ERR %s", error);
    commands->stats.protocol_errors++;
    return false;
}

/* True if the output has room for the longest answer, or for all answers of EXEC. */
static bool has_room(const struct serving *serving)
{
    const struct output *output = serving->output;
    size_t longest = OUTPUT_REPLY_MAX_BYTES, transaction = serving->session->transaction.answer_bytes;
    return output->room - output->size >=
           (transaction > longest ? transaction : longest) + (size_t)PENDING_ANSWERS_BYTES;
}

/* noinline: keeps its large frame off the fast path. */
__attribute__((noinline)) static size_t serve_one(struct serving *serving, struct bytes input)
{
    struct resp_command words;
    const char *error;
    size_t frame = 0;
    enum resp_status parsed = resp_parse(input, &words, &frame, &error);
    if (parsed == RESP_MORE)
        return 0;
    serving->ends |= !serve_words(serving, parsed, &words, (struct bytes){input.data, frame}, error);
    return frame;
}

/*
 * Serves one command at the front of `input`, or several commands of one kind. Returns their size;
 * 0: the first command is not complete.
 */
static size_t serve_front(struct serving *serving, struct bytes input)
{
    size_t size = 0;
    if (serving->shapes)
        size = pending_join_shapes(serving->commands, input, serving->turn, &serving->work);
    if (size == 0)
        return serve_one(serving, input);
    decide_if_full(serving);
    return size;
}

/* Serves the commands that MULTI queued, for EXEC. None of them may begin, end or leave a transaction. */
static void serve_queued(struct serving *serving)
{
    struct session *session = serving->session;
    const struct transaction *transaction = &session->transaction;
    size_t at = 0;
    while (at < transaction->size)
        at += serve_front(serving, (struct bytes){transaction->queued->data + at, transaction->size - at});
    decide(serving);
    assert(!serving->ends && !serving->waits);
    transaction_end(session, serving->commands);
}

/* The units that were done so far, with walks along logs, and with the answers that begin at `begun`. */
static uint32_t work_done(const struct serving *serving, size_t begun)
{
    return serving->work + ask_work_of_walks(serving->walks_begun) +
           (uint32_t)((serving->output->size - begun) / OUTPUT_WORK_BYTES);
}

enum serve_status commands_serve(struct commands *commands, struct session *session, struct bytes input,
                                 struct output *output, struct turn turn, size_t *consumed)
{
    struct serving serving = {.commands = commands,
                              .session = session,
                              .output = output,
                              .turn = turn,
                              .walks_begun = ask_begin_walks(),
                              .end = input.data + input.size};
    enum serve_status status = SERVE_MORE;
    const size_t begun = output->size;
    look_anew(&serving);
    *consumed = 0;
    while (!serving.ends && !serving.waits && *consumed < input.size) {
        if (turn.work_max > 0 && work_done(&serving, begun) >= turn.work_max) {
            status = SERVE_ENOUGH;
            break;
        }
        if (!has_room(&serving)) {
            status = SERVE_AGAIN;
            break;
        }
        size_t size = serve_front(&serving, (struct bytes){input.data + *consumed, input.size - *consumed});
        if ((size == 0 && !serving.ends) || session->waits_check)
            break;
        *consumed += size;
        if (session->transaction.runs)
            serve_queued(&serving);
    }
    if (session->waiting > 0 && serving.held == 0)
        patient_leave(commands, &session->waiting); /* what waited was answered in another way */
    if (serving.held > 0) {
        *consumed -= serving.held; /* the request is asked again, with all that follows it */
        commands->worked = work_done(&serving, begun);
        return SERVE_WAIT;
    }
    if (!serving.ends && !serving.waits && output->size == begun && *consumed == input.size &&
        late_put_off(commands, session)) {
        commands->worked = serving.work;
        return SERVE_LATER;
    }
    if (!serving.waits)
        decide(&serving);
    else
        status = session->waits_refused || session->waits_check ? SERVE_DELAY : SERVE_WAIT;
    commands->worked = work_done(&serving, begun);
    return serving.ends ? SERVE_CLOSE : status;
}

bool commands_is_due(struct commands *commands, const struct session *session, struct turn turn)
{
    return patient_is_due(commands, session->waiting, turn.now_ns);
}
