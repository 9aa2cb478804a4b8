/*
 * Serves MULTI, EXEC and DISCARD, in which client libraries wrap their pipelines.
 *
 * Commands are queued as they came, in a buffer of the commands' pool. The transaction adds up the
 * longest answer that each command may have. So EXEC needs no memory: it serves the buffer as if it
 * had just been read, and all answers fit the output. This thread serves nothing else in between;
 * other threads decide about the same keys meanwhile.
 */
#include "commands/call.h"

enum {
    ANSWER_BYTES = 256,        /* the longest answer of most commands, and of an error */
    NAMED_ANSWER_BYTES = 384,  /* the longest answer of a command whose figures have names */
    ANSWERS_HEADER_BYTES = 16, /* "*1024\r\n" */
    QUEUED_MAX_BYTES = 128 * 1024,
};

_Static_assert((int)PENDING_ANSWER_BYTES <= (int)NAMED_ANSWER_BYTES,
               "a command of a pending has room for its answer");

void transaction_end(struct session *session, struct commands *commands)
{
    pool_put(&commands->queues, &session->transaction.queued);
    session->transaction = (struct transaction){0};
}

void transaction_cut_error(struct output *output, size_t begun)
{
    if (output->size - begun <= ANSWER_BYTES)
        return;
    output->size = begun + ANSWER_BYTES - 2;
    output_append(output, "\r\n", 2);
}

static size_t answer_bytes_of(const struct resp_command *words, enum command_id id, unsigned protocol)
{
    size_t bytes = protocol < 3 ? ANSWER_BYTES : NAMED_ANSWER_BYTES;
    if (id == COMMAND_CAN_ACCESS && words->count == 2 && words->args[1].size > 0 &&
        words->args[1].size <= COMMAND_VALUE_MAX_BYTES)
        return DECISION_BYTES;
    for (uint32_t i = 1; i < words->count; i++) {
        if (id == COMMAND_PING || id == COMMAND_ECHO)
            bytes += words->args[i].size;
        else if ((id == COMMAND_CHECK || id == COMMAND_PEEK) && word_is(words->args[i], "verbose"))
            bytes += (size_t)RULE_ANSWER_BYTES * CHARGES_MAX;
    }
    return bytes;
}

/* Makes room for `size` bytes behind the queued ones. False: there is no room. */
static bool make_room(struct pool *pool, struct transaction *transaction, size_t size)
{
    size_t whole = transaction->size + size;
    if (transaction->queued != NULL && whole <= transaction->queued->room)
        return true;
    struct pool_buffer *larger = pool_take(pool, whole);
    if (larger == NULL)
        return false;
    if (transaction->queued != NULL)
        memcpy(larger->data, transaction->queued->data, transaction->size);
    pool_put(pool, &transaction->queued);
    transaction->queued = larger;
    return true;
}

void transaction_queue(struct call *call, enum command_id id)
{
    struct transaction *transaction = &call->session->transaction;
    size_t answer_bytes = answer_bytes_of(call->words, id, call->answer.protocol);
    if ((command_table[id].flags & COMMAND_QUEUED) == 0) {
        answer_error(&call->answer,
                     "ERR %s is not allowed in a transaction: expected it before MULTI or after EXEC",
                     command_table[id].name);
    } else if (transaction->count == TRANSACTION_COMMANDS_MAX ||
               call->frame.size > QUEUED_MAX_BYTES - transaction->size ||
               answer_bytes > TRANSACTION_ANSWER_MAX_BYTES - transaction->answer_bytes) {
        answer_error(
            &call->answer,
            "ERR the transaction is too long: expected at most %d commands, %d bytes of them, and of their "
            "answers %d",
            TRANSACTION_COMMANDS_MAX, QUEUED_MAX_BYTES, TRANSACTION_ANSWER_MAX_BYTES);
    } else if (!make_room(&call->commands->queues, transaction, call->frame.size)) {
        answer_error(&call->answer, "ERR there are too many transactions at once: try again in a while");
    } else {
        memcpy(transaction->queued->data + transaction->size, call->frame.data, call->frame.size);
        transaction->size += (uint32_t)call->frame.size;
        transaction->answer_bytes += (uint32_t)answer_bytes;
        transaction->count++;
        answer_simple(&call->answer, "QUEUED");
        return;
    }
    transaction->failed = true;
}

void call_multi(struct call *call)
{
    if (call->session->transaction.open) {
        answer_error(&call->answer, "ERR MULTI calls can not be nested");
        return;
    }
    call->session->transaction = (struct transaction){.open = true, .answer_bytes = ANSWERS_HEADER_BYTES};
    answer_simple(&call->answer, "OK");
}

/* The queued commands are served as soon as this call is answered: see commands.c. */
void call_exec(struct call *call)
{
    struct transaction *transaction = &call->session->transaction;
    if (!transaction->open) {
        answer_error(&call->answer, "ERR EXEC without MULTI");
    } else if (transaction->failed) {
        answer_error(&call->answer, "EXECABORT Transaction discarded because of previous errors.");
        transaction_end(call->session, call->commands);
    } else {
        answer_array(&call->answer, transaction->count);
        transaction->open = false;
        transaction->runs = true;
    }
}

void call_discard(struct call *call)
{
    if (!call->session->transaction.open) {
        answer_error(&call->answer, "ERR DISCARD without MULTI");
        return;
    }
    transaction_end(call->session, call->commands);
    answer_simple(&call->answer, "OK");
}

void call_watch(struct call *call)
{
    if (call->session->transaction.open)
        answer_error(&call->answer, "ERR WATCH inside MULTI is not allowed");
    else
        answer_error(&call->answer, "ERR WATCH is not supported: CHECK and CAN_ACCESS check and take in one step");
}

void call_unwatch(struct call *call)
{
    answer_simple(&call->answer, "OK");
}
