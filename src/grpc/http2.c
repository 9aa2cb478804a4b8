/*
 * What nghttp2 tells of a connection: streams that begin, their bodies, and their ends; what their heads say, head.c
 * reads. It is fed, and asked
 * for its bytes, in grpc.c.
 */
#include "commands/patient.h"
#include "grpc/call.h"

#include <string.h>

enum {
    FRAME_WORK = 2,
    FIELD_WORK_BYTES = 64,
    RESETS_BURST = 500, /* streams that a client may reset at once, */
    RESETS_RATE = 50,   /* and in a second */
    ACKS_MAX = 200,     /* of PING and SETTINGS that are not written yet */
};

/* ---- memory ---- */

static void *take(size_t size, void *account)
{
    return grpc_take(account, size);
}

static void give(void *data, void *account)
{
    grpc_give(account, data);
}

static void *take_zeroed(size_t count, size_t size, void *account)
{
    size_t bytes;
    void *data = __builtin_mul_overflow(count, size, &bytes) ? NULL : grpc_take(account, bytes);
    if (data != NULL)
        memset(data, 0, bytes);
    return data;
}

static void *resize(void *data, size_t size, void *account)
{
    return grpc_resize(account, data, size);
}

/* ---- calls ---- */

static void forget_message(struct grpc_call *call)
{
    struct grpc_session *session = call->session;
    if (call->message != NULL)
        session->message_bytes -= call->message_size;
    grpc_give(&session->account, call->message);
    call->message = NULL;
}

/* Counts the request among those that wait for their share, if it does; or no more. */
static void count_waiting(struct grpc_call *call, bool waits)
{
    if (call->ticket == 0)
        return;
    call->session->waiting += waits ? 1 : UINT32_MAX;
    call->session->grpc->waiting += waits ? 1 : UINT32_MAX;
}

/* The request waits no more. */
static void leave(struct grpc_call *call)
{
    count_waiting(call, false);
    patient_leave(call->session->grpc->commands, &call->ticket);
}

static void forget(struct grpc_call *call)
{
    leave(call);
    struct grpc_account *account = &call->session->account;
    forget_message(call);
    grpc_give(account, call->answer);
    list_remove(&call->link);
    call->session->unfinished--;
    call->session->watching -= call->goes_on;
    grpc_give(account, call);
}

static struct grpc_call *call_of(nghttp2_session *http2, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(http2, stream);
}

static bool is_late(const struct grpc_call *call, uint64_t now_ns)
{
    return now_ns - call->begun_ns >= call->timeout_ns;
}

/* The client has said all: now, or long ago, and its request waits. */
static void finish(struct grpc_call *call)
{
    struct grpc *grpc = call->session->grpc;
    if (call->answered)
        return;
    count_waiting(call, false);
    if (is_late(call, grpc->turn.now_ns))
        grpc_refuse(call, GRPC_DEADLINE_EXCEEDED, "grpc-timeout is over");
    else if (call->prefix_bytes < GRPC_PREFIX_BYTES || call->message_bytes < call->message_size)
        grpc_refuse(call, GRPC_INVALID_ARGUMENT, "the message is not whole");
    else if (call->is_unread)
        call->method->answer_unread(call);
    else
        call->method->answer(call);
    if (call->answered) {
        patient_leave(grpc->commands, &call->ticket);
        forget_message(call);
    }
    count_waiting(call, true);
}

/* ---- bodies ---- */

static bool has_room(const struct grpc_call *call)
{
    return call->message_size <= GRPC_SMALL_BYTES ||
           (call->message_size <= GRPC_MESSAGE_MAX_BYTES &&
            call->session->message_bytes + call->message_size <= GRPC_MESSAGES_BYTES);
}

static void begin_message(struct grpc_call *call)
{
    struct grpc_session *session = call->session;
    const unsigned char *size = call->prefix + 1;
    call->message_size =
        (uint32_t)size[0] << 24 | (uint32_t)size[1] << 16 | (uint32_t)size[2] << 8 | (uint32_t)size[3];
    if (call->prefix[0] != 0) {
        grpc_refuse(call, GRPC_UNIMPLEMENTED, "the message is compressed: expected grpc-encoding: identity");
        return;
    }
    if (has_room(call))
        call->message = grpc_take(&session->account, call->message_size);
    if (call->message != NULL)
        session->message_bytes += call->message_size;
    else if (call->method->answer_unread != NULL && call->message_size <= GRPC_UNREAD_MAX_BYTES)
        call->is_unread = true;
    else if (call->message_size > GRPC_MESSAGE_MAX_BYTES)
        grpc_refuse(call, GRPC_RESOURCE_EXHAUSTED, "the message has %u bytes: expected at most %d",
                    call->message_size, GRPC_MESSAGE_MAX_BYTES);
    else
        grpc_refuse(call, GRPC_RESOURCE_EXHAUSTED,
                    "the connection has no room for another message: finish the others");
}

static void add_bytes(struct grpc_call *call, struct bytes bytes)
{
    while (bytes.size > 0 && !call->answered && call->prefix_bytes < GRPC_PREFIX_BYTES) {
        call->prefix[call->prefix_bytes++] = (unsigned char)bytes.data[0];
        bytes = (struct bytes){bytes.data + 1, bytes.size - 1};
        if (call->prefix_bytes == GRPC_PREFIX_BYTES)
            begin_message(call);
    }
    if (bytes.size == 0 || call->answered)
        return;
    if (bytes.size > call->message_size - call->message_bytes) {
        grpc_refuse(call, GRPC_INVALID_ARGUMENT, "there is more than one message: expected one");
        return;
    }
    if (!call->is_unread)
        memcpy(call->message + call->message_bytes, bytes.data, bytes.size);
    call->message_bytes += (uint32_t)bytes.size;
}

/* ---- what nghttp2 calls ---- */

static int on_begin_headers(nghttp2_session *http2, const nghttp2_frame *frame, void *context)
{
    struct grpc_session *session = context;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    const struct grpc *grpc = session->grpc;
    struct grpc_call *call = grpc_take(&session->account, sizeof *call);
    if (call == NULL)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    *call = (struct grpc_call){.session = session,
                               .stream = frame->hd.stream_id,
                               .begun_ns = grpc->turn.now_ns,
                               .due_ns = grpc->turn.now_ns + grpc->options.request_timeout_ns,
                               .limit_fields = grpc->options.limit_fields,
                               .timeout_ns = UINT64_MAX};
    list_insert_before(&session->calls, &call->link);
    session->unfinished++;
    return nghttp2_session_set_stream_user_data(http2, frame->hd.stream_id, call);
}

/* A field may come as one byte, a place in the table of fields, and all of its bytes are looked at. */
static void count_field(struct grpc_session *session, size_t name_size, size_t value_size)
{
    session->grpc->worked += (uint32_t)((name_size + value_size) / FIELD_WORK_BYTES);
}

static int on_header(nghttp2_session *http2, const nghttp2_frame *frame, const uint8_t *name, size_t name_size,
                     const uint8_t *value, size_t value_size, uint8_t flags, void *context)
{
    struct grpc_call *call = call_of(http2, frame->hd.stream_id);
    (void)flags;
    count_field(context, name_size, value_size);
    if (call == NULL || call->answered)
        return 0;
    grpc_hear_field(call, (struct bytes){(const char *)name, name_size},
                    (struct bytes){(const char *)value, value_size}, frame->headers.cat == NGHTTP2_HCAT_REQUEST);
    return 0;
}

static int on_invalid_header(nghttp2_session *http2, const nghttp2_frame *frame, const uint8_t *name,
                             size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags, void *context)
{
    (void)http2, (void)frame, (void)name, (void)value, (void)flags;
    count_field(context, name_size, value_size);
    return 0;
}

static int on_data(nghttp2_session *http2, uint8_t flags, int32_t stream, const uint8_t *data, size_t size,
                   void *context)
{
    struct grpc_call *call = call_of(http2, stream);
    (void)flags, (void)context;
    if (call != NULL && !call->answered)
        add_bytes(call, (struct bytes){(const char *)data, size});
    return 0;
}

static int on_frame(nghttp2_session *http2, const nghttp2_frame *frame, void *context)
{
    struct grpc_session *session = context;
    session->grpc->worked += FRAME_WORK;
    session->greeted = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    struct grpc_call *call = call_of(http2, frame->hd.stream_id);
    if (call == NULL)
        return 0;
    call->ended = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST && !grpc_check_head(call))
        return 0;
    if (call->ended)
        finish(call);
    return 0;
}

/* A client that has got its answer need not say the rest. */
static int on_frame_sent(nghttp2_session *http2, const nghttp2_frame *frame, void *context)
{
    (void)context;
    if (frame->hd.type != NGHTTP2_HEADERS || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
        return 0;
    const struct grpc_call *call = call_of(http2, frame->hd.stream_id);
    if (call == NULL || call->ended)
        return 0;
    return nghttp2_submit_rst_stream(http2, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
}

static int on_stream_close(nghttp2_session *http2, int32_t stream, uint32_t error, void *context)
{
    struct grpc_call *call = call_of(http2, stream);
    (void)error, (void)context;
    if (call != NULL)
        forget(call);
    return 0;
}

/* ---- the beginning and the end ---- */

bool grpc_http2_prepare(struct grpc *grpc)
{
    if (nghttp2_session_callbacks_new(&grpc->callbacks) != 0 || nghttp2_option_new(&grpc->option) != 0)
        return false;
    nghttp2_session_callbacks_set_on_begin_headers_callback(grpc->callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(grpc->callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(grpc->callbacks, on_invalid_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(grpc->callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(grpc->callbacks, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(grpc->callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(grpc->callbacks, on_stream_close);
    nghttp2_option_set_no_closed_streams(grpc->option, 1);
    nghttp2_option_set_max_outbound_ack(grpc->option, ACKS_MAX);
    nghttp2_option_set_stream_reset_rate_limit(grpc->option, RESETS_BURST, RESETS_RATE);
    return true;
}

bool grpc_http2_open(struct grpc_session *session)
{
    struct grpc *grpc = session->grpc;
    nghttp2_mem memory = {.mem_user_data = &session->account,
                          .malloc = take,
                          .free = give,
                          .calloc = take_zeroed,
                          .realloc = resize};
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, GRPC_STREAMS_MAX},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, GRPC_HEAD_MAX_BYTES},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    if (nghttp2_session_server_new3(&session->http2, grpc->callbacks, session, grpc->option, &memory) != 0) {
        session->http2 = NULL;
        return false;
    }
    return nghttp2_submit_settings(session->http2, NGHTTP2_FLAG_NONE, settings,
                                   sizeof settings / sizeof settings[0]) == 0;
}

/* Its time is over: refuses a request that is not whole, and resets the stream of an answer that nobody takes. */
static void give_up(struct grpc_call *call)
{
    struct grpc_session *session = call->session;
    if (!call->answered) {
        grpc_refuse(call, GRPC_DEADLINE_EXCEEDED, "the request is not whole after clients.request_timeout");
    } else if (!call->goes_on) {
        call->due_ns = UINT64_MAX; /* once */
        session->broken |=
            nghttp2_submit_rst_stream(session->http2, NGHTTP2_FLAG_NONE, call->stream, NGHTTP2_CANCEL) != 0;
    }
}

bool grpc_http2_expire(struct grpc_session *session)
{
    const struct grpc *grpc = session->grpc;
    bool left = false;
    LIST_EACH(struct grpc_call, call, &session->calls, link) {
        if (call->ticket > 0)
            continue;
        if (grpc->turn.now_ns >= call->due_ns)
            give_up(call);
        else
            left |= !call->answered;
    }
    return left;
}

/* Not nghttp2_session_terminate_session, which says nothing behind GOAWAY. */
void grpc_http2_go_away(struct grpc_session *session)
{
    nghttp2_session *http2 = session->http2;
    const int32_t last = nghttp2_session_get_last_proc_stream_id(http2);
    int failed = nghttp2_submit_goaway(http2, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
    for (struct list *link = session->calls.next; link != &session->calls && failed == 0; link = link->next) {
        const struct grpc_call *call = LIST_OWNER(link, struct grpc_call, link);
        if (!call->answered)
            failed = nghttp2_submit_rst_stream(http2, NGHTTP2_FLAG_NONE, call->stream, NGHTTP2_REFUSED_STREAM);
    }
    session->broken |= failed != 0;
}

void grpc_http2_warn(struct grpc_session *session)
{
    session->warned = true;
    session->broken |= nghttp2_submit_shutdown_notice(session->http2) != 0;
}

void grpc_http2_leave(struct grpc_session *session)
{
    for (struct list *link = session->calls.next; link != &session->calls; link = link->next)
        leave(LIST_OWNER(link, struct grpc_call, link));
}

void grpc_http2_retry(struct grpc_session *session)
{
    const struct grpc *grpc = session->grpc;
    for (struct list *link = session->calls.next; link != &session->calls && session->waiting > 0;
         link = link->next) {
        struct grpc_call *call = LIST_OWNER(link, struct grpc_call, link);
        if (call->ticket > 0 &&
            (is_late(call, grpc->turn.now_ns) || patient_is_due(grpc->commands, call->ticket, grpc->turn.now_ns)))
            finish(call);
    }
}

void grpc_http2_go_on(struct grpc_session *session)
{
    const uint64_t now_ns = session->grpc->turn.now_ns;
    if (session->watching == 0 || now_ns - session->watched_ns < (uint64_t)GRPC_WATCH_MS * 1000000 / 2)
        return;
    session->watched_ns = now_ns;
    LIST_EACH(struct grpc_call, call, &session->calls, link)
        if (call->goes_on && call->answer_at == call->answer_size)
            call->method->go_on(call);
}
