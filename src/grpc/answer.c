/*
 * Answers: the head, the message and the trailers of one that is good; the head alone of any other.
 */
#include "grpc/call.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define UNREAD_NS 30000000000ull /* for so long an answer may wait until the client gives window for it */

/* nghttp2 copies names and values, and does not write to them. */
static uint8_t *writable(const char *text)
{
    uint8_t *same;
    memcpy(&same, &text, sizeof same);
    return same;
}

static nghttp2_nv field(const char *name, const char *value)
{
    return (nghttp2_nv){.name = writable(name),
                        .value = writable(value),
                        .namelen = strlen(name),
                        .valuelen = strlen(value)};
}

static void note(struct grpc_call *call, int submitted, bool good)
{
    const struct grpc *grpc = call->session->grpc;
    struct commands_stats *stats = &grpc->commands->stats;
    call->answered = true;
    call->due_ns = grpc->turn.now_ns + UNREAD_NS;
    call->session->broken |= submitted != 0;
    stats->grpc_requests++;
    stats->grpc_errors += !good;
}

/* ---- refusals ---- */

/* A sentence as grpc-message has it: what is not printable ASCII, and '%', as %XX. */
static void encode(char encoded[3 * GRPC_SENTENCE_BYTES], const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t size = 0;
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c >= ' ' && c <= '~' && c != '%') {
            encoded[size++] = *text;
        } else {
            encoded[size++] = '%';
            encoded[size++] = digits[c >> 4];
            encoded[size++] = digits[c & 15];
        }
    }
    encoded[size] = '\0';
}

void grpc_refuse(struct grpc_call *call, enum grpc_status status, const char *format, ...)
{
    char sentence[GRPC_SENTENCE_BYTES], encoded[3 * GRPC_SENTENCE_BYTES], number[4];
    va_list arguments;
    assert(!call->answered);
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    encode(encoded, sentence);
    (void)snprintf(number, sizeof number, "%d", (int)status);
    const nghttp2_nv fields[] = {field(":status", "200"), field("content-type", "application/grpc"),
                                 field("grpc-status", number), field("grpc-message", encoded),
                                 field("grpc-accept-encoding", "identity")};
    const size_t count = sizeof fields / sizeof fields[0] - (status != GRPC_UNIMPLEMENTED);
    note(call, nghttp2_submit_response(call->session->http2, call->stream, fields, count, NULL), false);
}

void grpc_refuse_http(struct grpc_call *call, const char *status)
{
    const nghttp2_nv fields[] = {field(":status", status)};
    assert(!call->answered);
    note(call, nghttp2_submit_response(call->session->http2, call->stream, fields, 1, NULL), false);
}

/* ---- answers ---- */

static ssize_t read_answer(nghttp2_session *http2, int32_t stream, uint8_t *data, size_t room, uint32_t *flags,
                           nghttp2_data_source *source, void *context)
{
    struct grpc_call *call = source->ptr;
    const size_t left = call->answer_size - call->answer_at, size = left < room ? left : room;
    (void)context;
    memcpy(data, call->answer + call->answer_at, size);
    call->answer_at += (uint32_t)size;
    if (call->goes_on)
        return size > 0 ? (ssize_t)size : NGHTTP2_ERR_DEFERRED; /* until grpc_stream_room */
    if (call->answer_at < call->answer_size)
        return (ssize_t)size;
    const nghttp2_nv trailer = field("grpc-status", "0");
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    return nghttp2_submit_trailer(http2, stream, &trailer, 1) == 0 ? (ssize_t)size : NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* Begins the answer, with `size` bytes for a message. False: it was refused. */
static bool begin(struct grpc_call *call, size_t size)
{
    const nghttp2_nv fields[] = {field(":status", "200"), field("content-type", "application/grpc")};
    const nghttp2_data_provider provider = {.source.ptr = call, .read_callback = read_answer};
    assert(!call->answered && size < UINT32_MAX - GRPC_PREFIX_BYTES);
    call->answer = grpc_take(&call->session->account, GRPC_PREFIX_BYTES + size);
    if (call->answer == NULL) {
        grpc_refuse(call, GRPC_RESOURCE_EXHAUSTED,
                    "the connection has no room for another answer: read the others");
        return false;
    }
    note(call,
         nghttp2_submit_response(call->session->http2, call->stream, fields, sizeof fields / sizeof fields[0],
                                 &provider),
         true);
    return true;
}

static char *begin_message(struct grpc_call *call, size_t size)
{
    call->answer_at = 0;
    call->answer_size = (uint32_t)(GRPC_PREFIX_BYTES + size);
    call->answer[0] = 0;
    for (unsigned i = 0; i < 4; i++)
        call->answer[1 + i] = (char)(unsigned char)(size >> (24 - 8 * i));
    return call->answer + GRPC_PREFIX_BYTES;
}

char *grpc_answer_room(struct grpc_call *call, size_t size)
{
    return begin(call, size) ? begin_message(call, size) : NULL;
}

bool grpc_stream_begin(struct grpc_call *call, size_t size)
{
    if (!begin(call, size))
        return false;
    call->goes_on = true;
    call->answer_room = (uint32_t)(GRPC_PREFIX_BYTES + size);
    call->session->watching++;
    return true;
}

char *grpc_stream_room(struct grpc_call *call, size_t size)
{
    struct grpc_session *session = call->session;
    assert(call->goes_on && call->answer_at == call->answer_size && GRPC_PREFIX_BYTES + size <= call->answer_room);
    /* Before the first message nothing is deferred, and nghttp2 says so. */
    const int resumed = nghttp2_session_resume_data(session->http2, call->stream);
    session->broken |= resumed == NGHTTP2_ERR_NOMEM;
    return begin_message(call, size);
}
