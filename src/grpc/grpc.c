#include "grpc/grpc.h"

#include "grpc/call.h"

#include <string.h>

/* Units of work, see src/wire/command.h. */
enum {
    PIECE_BYTES = 512, /* that are fed at once: the work is looked at between two pieces */
    INPUT_WORK_BYTES = 64,
    OUTPUT_WORK_BYTES = 64,
    FRAME_BYTES = 9 + (16 << 10) + 256, /* the longest that is written at once, padded or not */
};

void grpc_open(struct grpc *grpc, struct grpc_session *session, const char *address)
{
    const size_t size = strnlen(address, sizeof session->address - 1);
    session->grpc = grpc;
    grpc_account_open(&session->account, &grpc->heap, GRPC_CONNECTION_BYTES);
    list_init(&session->calls);
    memcpy(session->address, address, size);
    session->address[size] = '\0';
}

void grpc_close(struct grpc_session *session)
{
    grpc_http2_leave(session);
    session->grpc->waiting -= session->unspoken;
    nghttp2_session_del(session->http2);
    session->http2 = NULL;
    grpc_account_close(&session->account); /* nghttp2 may have lost something where there was no memory */
}

void grpc_go_away(struct grpc *grpc)
{
    grpc->goes_away = true;
}

uint32_t grpc_worked(const struct grpc *grpc)
{
    return grpc->worked;
}

/* Appends what is to be said, as far as there is room. False: there is more. */
static bool speak(struct grpc_session *session, struct output *output)
{
    while (!session->broken && nghttp2_session_want_write(session->http2)) {
        const uint8_t *data;
        if (!output_has_room(output, FRAME_BYTES))
            return false;
        const ssize_t size = nghttp2_session_mem_send(session->http2, &data);
        session->broken |= size < 0;
        if (size <= 0)
            break; /* the client gives no window for more */
        output_append(output, data, (size_t)size);
    }
    return true;
}

/* Has nghttp2 hear a piece of the input from *at on. */
static void hear(struct grpc_session *session, struct bytes input, size_t *at)
{
    const size_t left = input.size - *at, size = left < PIECE_BYTES ? left : PIECE_BYTES;
    const ssize_t heard = nghttp2_session_mem_recv(session->http2, (const uint8_t *)input.data + *at, size);
    if (heard < 0) {
        struct commands_stats *stats = &session->grpc->commands->stats;
        stats->protocol_errors += heard != NGHTTP2_ERR_NOMEM;
        stats->grpc_no_memory += heard == NGHTTP2_ERR_NOMEM;
        session->ends = true;
        *at = input.size;
        return;
    }
    *at += size;
    session->grpc->worked += (uint32_t)(1 + size / INPUT_WORK_BYTES);
}

static uint32_t work_done(const struct grpc *grpc, const struct output *output, size_t begun)
{
    return grpc->worked + (uint32_t)((output->size - begun) / OUTPUT_WORK_BYTES);
}

static enum serve_status converse(struct grpc_session *session, struct bytes input, struct output *output,
                                  size_t *at)
{
    const struct grpc *grpc = session->grpc;
    const size_t begun = output->size;
    for (;;) {
        if (!speak(session, output))
            return SERVE_AGAIN;
        if (session->broken || session->ends ||
            (!nghttp2_session_want_read(session->http2) && !nghttp2_session_want_write(session->http2)))
            return SERVE_CLOSE;
        if (*at == input.size)
            return SERVE_MORE;
        if (grpc->turn.work_max > 0 && work_done(grpc, output, begun) >= grpc->turn.work_max)
            return SERVE_ENOUGH;
        hear(session, input, at);
    }
}

/*
 * The listener calls again only for input. So where a connection has more to say than the output has room for, or the
 * listener must watch that a request becomes whole, the last byte that nghttp2 has heard is left to the listener, and
 * passed over in the next call. While requests of the connection wait, it is roused anyway, and the listener must not
 * end it for another one that is not whole.
 */
enum serve_status grpc_serve(struct grpc *grpc, struct grpc_session *session, struct bytes input,
                             struct output *output, struct turn turn, size_t *consumed)
{
    const size_t begun = output->size;
    size_t at = session->ahead ? 1 : 0;
    *consumed = 0;
    grpc->turn = turn;
    grpc->worked = 0;
    if (session->http2 == NULL && !grpc_http2_open(session)) {
        grpc->commands->stats.grpc_no_memory++;
        return SERVE_CLOSE;
    }
    (void)grpc_http2_expire(session);
    if (grpc->goes_away && !session->warned)
        grpc_http2_warn(session);
    const enum serve_status status = converse(session, input, output, &at);
    grpc->worked = work_done(grpc, output, begun);
    const bool unfinished = session->waiting == 0 && (session->unfinished > session->watching || !session->greeted);
    session->ahead = at > 0 && (status == SERVE_AGAIN || (status == SERVE_MORE && unfinished));
    *consumed = at - session->ahead;
    return status;
}

bool grpc_waits(const struct grpc_session *session)
{
    return session->waiting + session->watching > 0;
}

bool grpc_waits_soon(const struct grpc *grpc)
{
    return grpc->waiting > 0;
}

/* Notes whether the session has more to say than the output had room for. */
static void set_unspoken(struct grpc_session *session, bool unspoken)
{
    session->grpc->waiting += (uint32_t)unspoken - (uint32_t)session->unspoken;
    session->unspoken = unspoken;
}

bool grpc_rouse(struct grpc *grpc, struct grpc_session *session, struct output *output, struct turn turn)
{
    grpc->turn = turn;
    grpc->worked = 0;
    grpc_http2_retry(session);
    grpc_http2_go_on(session);
    const bool begun = grpc_http2_expire(session);
    set_unspoken(session, !speak(session, output));
    return session->unspoken || begun || grpc_waits(session);
}

void grpc_leave(struct grpc_session *session, struct output *output)
{
    if (session->http2 == NULL || session->broken)
        return;
    grpc_http2_go_away(session);
    (void)speak(session, output);
}
