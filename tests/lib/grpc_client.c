#include "tests/lib/grpc_client.h"

#include "tests/lib/served.h"

enum { OUTPUT_BYTES = 128 << 10, FIELDS_MAX = 16 };

struct grpc_client client;

/* What is to be said of a stream. */
struct saying {
    char data[40000];
    size_t size, at;
    bool ends;
};
static struct saying sayings[GRPC_CLIENT_STREAMS / 2];

static struct grpc_heard *heard_of(int32_t stream)
{
    assert(stream > 0 && stream < 2 * GRPC_CLIENT_STREAMS);
    return &client.heard[stream / 2];
}

const struct grpc_heard *grpc_client_heard(int32_t stream)
{
    return heard_of(stream);
}

static struct saying *saying_of(int32_t stream)
{
    return &sayings[stream / 2 % (GRPC_CLIENT_STREAMS / 2)];
}

static ssize_t on_read(nghttp2_session *http2, int32_t stream, uint8_t *data, size_t room, uint32_t *flags,
                       nghttp2_data_source *source, void *context)
{
    struct saying *saying = saying_of(stream);
    const size_t left = saying->size - saying->at, size = left < room ? left : room;
    (void)http2, (void)source, (void)context;
    memcpy(data, saying->data + saying->at, size);
    saying->at += size;
    if (saying->at == saying->size && saying->ends)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return size == 0 && !saying->ends ? NGHTTP2_ERR_DEFERRED : (ssize_t)size;
}

static int on_header(nghttp2_session *http2, const nghttp2_frame *frame, const uint8_t *name, size_t name_size,
                     const uint8_t *value, size_t value_size, uint8_t flags, void *context)
{
    struct grpc_heard *heard = heard_of(frame->hd.stream_id);
    (void)http2, (void)flags, (void)context, (void)name_size;
    if (strcmp((const char *)name, ":status") == 0)
        (void)snprintf(heard->http, sizeof heard->http, "%.*s", (int)value_size, (const char *)value);
    if (strcmp((const char *)name, "grpc-status") == 0)
        heard->status = (int)strtol((const char *)value, NULL, 10);
    if (strcmp((const char *)name, "grpc-message") == 0)
        (void)snprintf(heard->sentence, sizeof heard->sentence, "%.*s", (int)value_size, (const char *)value);
    return 0;
}

static int on_data(nghttp2_session *http2, uint8_t flags, int32_t stream, const uint8_t *data, size_t size,
                   void *context)
{
    struct grpc_heard *heard = heard_of(stream);
    (void)http2, (void)flags, (void)context;
    char *whole = realloc(heard->message, heard->message_size + size);
    assert(whole != NULL);
    memcpy(whole + heard->message_size, data, size);
    heard->message = whole;
    heard->message_size += size;
    return 0;
}

static int on_close(nghttp2_session *http2, int32_t stream, uint32_t error, void *context)
{
    (void)http2, (void)context;
    heard_of(stream)->closed = true;
    heard_of(stream)->error = error;
    return 0;
}

static int on_frame(nghttp2_session *http2, const nghttp2_frame *frame, void *context)
{
    (void)http2, (void)context;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        client.went_away = true;
        client.last_stream = frame->goaway.last_stream_id;
    }
    return 0;
}

void grpc_client_connect(uint32_t window)
{
    nghttp2_session_callbacks *callbacks;
    client.session = (struct grpc_session){0};
    client.pending_size = 0;
    client.went_away = false;
    client.status = SERVE_MORE;
    grpc_open(client.grpc, &client.session, "10.0.0.1:1234");
    for (size_t i = 0; i < GRPC_CLIENT_STREAMS; i++) {
        free(client.heard[i].message);
        client.heard[i] = (struct grpc_heard){.status = -1};
    }
    int failed = nghttp2_session_callbacks_new(&callbacks);
    assert(failed == 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    failed = nghttp2_session_client_new(&client.http2, callbacks, NULL);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window};
    failed |= nghttp2_submit_settings(client.http2, NGHTTP2_FLAG_NONE, &entry, 1);
    assert(failed == 0);
}

void grpc_client_close(void)
{
    grpc_close(&client.session);
    nghttp2_session_del(client.http2);
    client.http2 = NULL;
}

void grpc_client_begin(size_t memory_bytes, uint32_t window)
{
    served_open();
    grpc_client_begin_in(memory_bytes, window);
}

void grpc_client_begin_in(size_t memory_bytes, uint32_t window)
{
    const struct grpc_options options = {.limit_fields = HTTP_LIMIT_X,
                                         .memory_bytes = memory_bytes,
                                         .request_timeout_ns = 10000 * SERVED_MS};
    client.grpc = grpc_create(&served.commands, &options);
    assert(client.grpc != NULL);
    client.room = OUTPUT_BYTES;
    client.piece = client.work = client.rounds = 0;
    grpc_client_connect(window);
}

void grpc_client_end(void)
{
    grpc_client_close();
    for (size_t i = 0; i < GRPC_CLIENT_STREAMS; i++) {
        free(client.heard[i].message);
        client.heard[i].message = NULL;
    }
    grpc_destroy(&client.grpc);
    served_close();
}

/* ---- asking ---- */

int32_t grpc_client_head(const char *const *fields, bool ends)
{
    nghttp2_nv field[FIELDS_MAX];
    size_t count = 0;
    for (; fields[2 * count] != NULL; count++) {
        assert(count < FIELDS_MAX);
        field[count] = (nghttp2_nv){.name = (uint8_t *)(uintptr_t)fields[2 * count],
                                    .value = (uint8_t *)(uintptr_t)fields[2 * count + 1],
                                    .namelen = strlen(fields[2 * count]),
                                    .valuelen = strlen(fields[2 * count + 1])};
    }
    const nghttp2_data_provider provider = {.read_callback = on_read};
    const int32_t stream = nghttp2_submit_request(client.http2, NULL, field, count, ends ? NULL : &provider, NULL);
    assert(stream > 0);
    *saying_of(stream) = (struct saying){.size = 0};
    return stream;
}

void grpc_client_say(int32_t stream, struct bytes data, bool ends)
{
    struct saying *saying = saying_of(stream);
    assert(saying->size + data.size <= sizeof saying->data);
    if (data.size > 0)
        memcpy(saying->data + saying->size, data.data, data.size);
    saying->size += data.size;
    saying->ends = ends;
    (void)nghttp2_session_resume_data(client.http2, stream);
}

int32_t grpc_client_ask(const char *path, struct bytes message, const char *authorization, const char *timeout,
                        bool ends)
{
    const char *fields[2 * FIELDS_MAX] = {":method", "POST",       ":scheme", "http",         ":path",
                                          path,      ":authority", "a",       "content-type", "application/grpc",
                                          "te",      "trailers"};
    size_t count = 12;
    const struct {
        const char *name, *value;
    } more[] = {{"authorization", authorization}, {"grpc-timeout", timeout}};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        if (more[i].value == NULL)
            continue;
        fields[count++] = more[i].name;
        fields[count++] = more[i].value;
    }
    char prefix[5] = {0, 0, 0, (char)(message.size >> 8), (char)message.size};
    const int32_t stream = grpc_client_head(fields, false);
    grpc_client_say(stream, (struct bytes){prefix, sizeof prefix}, false);
    grpc_client_say(stream, message, ends);
    return stream;
}

/* ---- carrying ---- */

static void collect(void)
{
    const uint8_t *data;
    ssize_t size;
    while ((size = nghttp2_session_mem_send(client.http2, &data)) > 0)
        grpc_client_send((struct bytes){(const char *)data, (size_t)size});
}

void grpc_client_send(struct bytes bytes)
{
    assert(client.pending_size + bytes.size <= sizeof client.pending);
    memcpy(client.pending + client.pending_size, bytes.data, bytes.size);
    client.pending_size += bytes.size;
}

/* One call of the service, with what it may see of the input: `seen` bytes. True if it was closed. */
static bool serve(size_t seen, size_t *left)
{
    char *copy = malloc(seen),
         *said = malloc(client.room); /* of their own sizes: a sanitizer sees what is beyond */
    assert((copy != NULL || seen == 0) && said != NULL);
    struct output output = output_over(said, client.room);
    const struct turn turn = {.now_ns = served.now_ns, .wall_ns = served.wall_ns, .work_max = client.work};
    size_t consumed = 0;
    if (seen > 0)
        memcpy(copy, client.pending, seen);
    client.rounds++;
    client.status = grpc_serve(client.grpc, &client.session, (struct bytes){copy, seen}, &output, turn, &consumed);
    assert(consumed <= seen && !output.overflowed);
    assert(client.status != SERVE_AGAIN || output.size > 0);
    memmove(client.pending, client.pending + consumed, client.pending_size - consumed);
    client.pending_size -= consumed;
    *left = seen - consumed;
    if (client.status == SERVE_AGAIN && *left == 0)
        OK(false, "a listener whose client is slow has a byte to come again for");
    if (output.size > 0 && nghttp2_session_mem_recv(client.http2, (const uint8_t *)said, output.size) < 0)
        OK(false, "what the server says is HTTP/2");
    free(copy);
    free(said);
    return client.status == SERVE_CLOSE;
}

/* The listener reads a piece, and has what is left served with the next one. */
void grpc_client_run(void)
{
    size_t left = 0;
    for (collect(); client.pending_size > 0; collect()) {
        const size_t step = client.piece > 0 ? client.piece : client.pending_size;
        const bool again = client.status == SERVE_AGAIN || client.status == SERVE_ENOUGH;
        const size_t seen = again ? left : left + step < client.pending_size ? left + step : client.pending_size;
        const size_t before = client.pending_size;
        if (serve(seen, &left))
            return;
        if (client.status == SERVE_MORE && seen == before && client.pending_size == left &&
            !nghttp2_session_want_write(client.http2))
            return; /* the rest is held until more comes */
    }
}

void grpc_client_wait_ms(uint32_t ms)
{
    static char room[128 * 1024];
    for (uint32_t i = 0; i < ms; i++) {
        struct output output = output_over(room, sizeof room);
        served_wait_ms(1);
        waiting_begin_round(&served.commands.waiting);
        (void)grpc_rouse(client.grpc, &client.session, &output,
                         (struct turn){.now_ns = served.now_ns, .wall_ns = served.wall_ns});
        (void)nghttp2_session_mem_recv(client.http2, (const uint8_t *)output.data, output.size);
        grpc_client_run();
    }
}
