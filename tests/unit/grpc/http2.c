/*
 * HTTP/2 as clients may use and misuse it: what waits, what is too much, and what is no HTTP/2 at all.
 */
#include "tests/lib/grpc_client.h"
#include "tests/lib/served.h"

enum {
    MEMORY = 4 << 20,
    WINDOW = 65535,
    EXHAUSTED = 8,
    UNIMPLEMENTED = 12,
    OUTPUT_BYTES = 32 << 10, /* one frame fits, and not two of the longest */
};

/* {domain: "e", descriptors: [{entries: [{key: "a", value: "b"}]}]}, of a domain that is unknown */
static struct bytes asked(void)
{
    static const char message[] = "\x0a\x01"
                                  "e"
                                  "\x12\x08\x0a\x06\x0a\x01"
                                  "a"
                                  "\x12\x01"
                                  "b";
    return (struct bytes){message, sizeof message - 1};
}

static int32_t ask(void)
{
    return grpc_client_ask(GRPC_RATE_LIMIT, asked(), NULL, NULL, true);
}

static bool is_good(int32_t stream)
{
    const struct grpc_heard *heard = grpc_client_heard(stream);
    return heard->status == 0 && heard->closed && heard->message_size > 5;
}

static uint32_t count_good(const int32_t *streams, uint32_t count)
{
    uint32_t good = 0;
    for (uint32_t i = 0; i < count; i++)
        good += is_good(streams[i]);
    return good;
}

static void test_held_byte(void)
{
    grpc_client_begin(MEMORY, WINDOW);
    int32_t stream = grpc_client_ask(GRPC_RATE_LIMIT, asked(), NULL, NULL, false);
    grpc_client_run();
    OK(client.pending_size == 1 && client.session.ahead, "a byte of a request that is not whole stays");
    grpc_client_run();
    OK_U64(client.pending_size, 1, "however often it is looked at");
    grpc_client_say(stream, bytes_of(""), true);
    grpc_client_run();
    OK(is_good(stream) && client.pending_size == 0, "none of one that is");
    struct grpc_session other = {.known = false};
    char room[32 << 10];
    struct output output = output_over(room, sizeof room);
    size_t consumed;
    grpc_open(client.grpc, &other, "10.0.0.2:1");
    (void)grpc_serve(client.grpc, &other, bytes_of("PRI * HTTP/2.0\r\n"), &output,
                     (struct turn){.now_ns = served.now_ns}, &consumed);
    OK_U64(consumed, strlen("PRI * HTTP/2.0\r\n") - 1, "a preface that is not whole is watched as well");
    grpc_close(&other);
    grpc_client_end();
}

/* More is to be said than the output has room for, or than a turn may do. */
static void test_much(void)
{
    int32_t streams[100];
    grpc_client_begin(MEMORY, 0);
    for (uint32_t i = 0; i < 100; i++)
        streams[i] = ask();
    grpc_client_run();
    OK_U64(count_good(streams, 100), 0, "no answer goes without a window");
    OK_U64(client.pending_size, 1, "and the connection is watched");
    const nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW};
    (void)nghttp2_submit_settings(client.http2, NGHTTP2_FLAG_NONE, &window, 1);
    grpc_client_run();
    OK_U64(count_good(streams, 100), 100, "all go when there is one");
    client.room = OUTPUT_BYTES;
    client.work = 40;
    client.rounds = 0;
    for (uint32_t i = 0; i < 100; i++)
        streams[i] = ask();
    grpc_client_run();
    OK(count_good(streams, 100) == 100 && client.rounds >= 10, "many requests take many turns: %u", client.rounds);
    OK_U64(client.pending_size, 0, "until nothing is left");
    grpc_client_end();
}

/* A client gives no window for its answers, and keeps the connection by pings. */
static void test_unread(void)
{
    grpc_client_begin(MEMORY, 0);
    const int32_t stream = ask();
    grpc_client_run();
    const size_t taken = client.session.account.taken;
    for (uint32_t i = 0; i < 4; i++) {
        OK(!grpc_client_heard(stream)->closed, "an answer that nobody takes waits for %u s", 10 * i - (i > 2));
        served_wait_ms(i < 2 ? 10000 : i == 2 ? 9000 : 1000);
        (void)nghttp2_submit_ping(client.http2, NGHTTP2_FLAG_NONE, NULL);
        grpc_client_run();
    }
    OK(grpc_client_heard(stream)->closed, "and no longer than 30 s");
    OK_U64(grpc_client_heard(stream)->error, NGHTTP2_CANCEL, "its stream is reset");
    OK_U64(client.session.unfinished, 0, "nothing is left of it");
    OK(client.session.account.taken < taken, "its memory neither");
    OK_U64(client.pending_size, 0, "and the connection is not watched any more");
    const nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW};
    (void)nghttp2_submit_settings(client.http2, NGHTTP2_FLAG_NONE, &window, 1);
    const int32_t next = ask();
    grpc_client_run();
    OK(is_good(next), "it goes on");
    grpc_client_end();
}

/* A frame for each byte of pings: answers of 17 bytes for 17 bytes. */
static void test_small_output(void)
{
    grpc_client_begin(MEMORY, WINDOW);
    client.room = 16 << 10; /* not even one frame fits behind what is written */
    client.room += 9 + 256 + 100;
    for (uint32_t i = 0; i < 150; i++)
        (void)nghttp2_submit_ping(client.http2, NGHTTP2_FLAG_NONE, NULL);
    const int32_t stream = ask();
    grpc_client_run();
    OK(is_good(stream) && client.pending_size == 0, "an output that is full is written, and filled again");
    OK(client.rounds > 10, "many times: %u", client.rounds);
    grpc_client_end();
}

static void test_streams(void)
{
    int32_t streams[150];
    grpc_client_begin(MEMORY, 0);
    grpc_client_run();
    for (uint32_t i = 0; i < 150; i++)
        streams[i] = ask();
    grpc_client_run();
    OK(client.session.unfinished == 100, "a connection has 100 streams at a time, and %u",
       client.session.unfinished);
    const nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW};
    (void)nghttp2_submit_settings(client.http2, NGHTTP2_FLAG_NONE, &window, 1);
    grpc_client_run();
    OK_U64(count_good(streams, 150), 150, "others wait for their turn");
    OK_U64(client.session.unfinished, 0, "and nothing is left");
    grpc_client_end();
}

/* RateLimitResponse{overall_code: OVER_LIMIT}, and nothing else. */
static bool is_over(int32_t stream)
{
    const struct grpc_heard *heard = grpc_client_heard(stream);
    return heard->status == 0 && heard->closed && heard->message_size == 7 &&
           memcmp(heard->message + 5, "\x08\x02", 2) == 0;
}

static void test_bounds(void)
{
    static char large[20000];
    grpc_client_begin(MEMORY, WINDOW);
    int32_t stream =
        grpc_client_ask("/grpc.health.v1.Health/Check", (struct bytes){large, sizeof large}, NULL, NULL, false);
    grpc_client_run();
    OK_STRING(grpc_client_heard(stream)->sentence, "the message has 20000 bytes: expected at most 16384",
              "too long");
    OK(grpc_client_heard(stream)->status == EXHAUSTED && grpc_client_heard(stream)->closed &&
           client.session.unfinished == 0,
       "and the client is told before it has said all");
    stream = grpc_client_ask(GRPC_RATE_LIMIT, (struct bytes){large, sizeof large}, NULL, NULL, false);
    grpc_client_run();
    OK_I64(grpc_client_heard(stream)->status, -1, "a message that whoever is limited made too long is heard,");
    grpc_client_say(stream, bytes_of(""), true);
    grpc_client_run();
    OK(is_over(stream), "and is over the limit: as an error it would pass");
    OK_U64(served.commands.stats.grpc_unread, 1, "which is counted");
    int32_t begun[9];
    for (uint32_t i = 0; i < 9; i++) {
        begun[i] = grpc_client_ask(GRPC_RATE_LIMIT, (struct bytes){large, 16384}, NULL, NULL, false);
        grpc_client_run();
    }
    grpc_client_say(begun[8], bytes_of(""), true);
    grpc_client_run();
    OK(grpc_client_heard(begun[7])->status == -1 && is_over(begun[8]),
       "requests that are not whole have 128 KiB together");
    stream = ask();
    grpc_client_run();
    OK(is_good(stream), "beside which a small one finds room");
    grpc_client_say(begun[0], bytes_of(""), true);
    stream = grpc_client_ask(GRPC_RATE_LIMIT, (struct bytes){large, 16384}, NULL, NULL, true);
    grpc_client_run();
    OK_I64(grpc_client_heard(stream)->status, 3, "and a large one, once one of them is done");
    grpc_client_end();
}

static void test_two_messages(void)
{
    grpc_client_begin(MEMORY, WINDOW);
    int32_t stream = grpc_client_ask(GRPC_RATE_LIMIT, asked(), NULL, NULL, false);
    grpc_client_say(stream, bytes_of("x"), true);
    grpc_client_run();
    OK_STRING(grpc_client_heard(stream)->sentence, "there is more than one message: expected one", "too much");
    (void)grpc_client_ask(GRPC_RATE_LIMIT, (struct bytes){"", 0}, NULL, NULL, false);
    grpc_client_run();
    const char *const fields[] =
        {":method", "POST",         ":scheme",          "http", ":path", GRPC_RATE_LIMIT, ":authority",
         "a",       "content-type", "application/grpc", NULL};
    stream = grpc_client_head(fields, true);
    grpc_client_run();
    OK_STRING(grpc_client_heard(stream)->sentence, "the message is not whole", "and too little");
    grpc_client_end();
}

static int32_t head(const char *name, const char *value)
{
    const char *fields[] = {":method",       "POST",       ":scheme", "http",         ":path",
                            GRPC_RATE_LIMIT, ":authority", "a",       "content-type", "application/grpc",
                            "x-more",        "1",          NULL};
    for (size_t i = 0; fields[i] != NULL; i += 2)
        if (strcmp(fields[i], name) == 0)
            fields[i + 1] = value;
    if (strcmp(name, "grpc-encoding") == 0) {
        fields[10] = name;
        fields[11] = value;
    }
    const int32_t stream = grpc_client_head(fields, true);
    grpc_client_run();
    return stream;
}

static void test_heads(void)
{
    static char long_value[9000];
    memset(long_value, 'x', sizeof long_value - 1);
    grpc_client_begin(MEMORY, WINDOW);
    OK_STRING(grpc_client_heard(head(":method", "GET"))->http, "405", "not a POST");
    OK_STRING(grpc_client_heard(head("content-type", "text/html"))->http, "415", "not gRPC");
    OK_STRING(grpc_client_heard(head("content-type", "application/grpc+proto"))->sentence,
              "the message is not whole", "gRPC, and of protobuf");
    OK_I64(grpc_client_heard(head("grpc-encoding", "gzip"))->status, UNIMPLEMENTED, "compressed");
    OK_STRING(grpc_client_heard(head("x-more", long_value))->sentence, "the head has more than 8192 bytes",
              "a head that is too long");
    const int32_t stream = ask();
    grpc_client_run();
    OK(is_good(stream), "the connection goes on");
    grpc_client_end();
}

static void test_leaving(void)
{
    char said[1024];
    struct output output = output_over(said, sizeof said);
    grpc_client_begin(MEMORY, WINDOW);
    grpc_leave(&client.session, &output);
    OK_U64(output.size, 0, "who has said nothing is told nothing");
    const int32_t stream = ask();
    grpc_client_run();
    char large[32 << 10];
    output = output_over(large, sizeof large);
    grpc_leave(&client.session, &output);
    (void)nghttp2_session_mem_recv(client.http2, (const uint8_t *)large, output.size);
    OK(client.went_away && client.last_stream == stream, "others are told which request was the last");
    grpc_client_end();
}

/* A request that is not answered took nothing: clients may ask another daemon, and know that. */
static void test_leaving_half(void)
{
    char said[32 << 10];
    struct output output = output_over(said, sizeof said);
    grpc_client_begin(MEMORY, WINDOW);
    const int32_t whole = ask(), half = grpc_client_ask(GRPC_RATE_LIMIT, asked(), NULL, NULL, false);
    grpc_client_run();
    grpc_leave(&client.session, &output);
    (void)nghttp2_session_mem_recv(client.http2, (const uint8_t *)said, output.size);
    OK(is_good(whole) && client.went_away && client.last_stream == half, "GOAWAY names the last that was begun");
    OK(grpc_client_heard(half)->closed && grpc_client_heard(half)->error == NGHTTP2_REFUSED_STREAM,
       "which is refused, since it is not answered");
    grpc_client_end();
}

/* Before that there is a moment in which requests that were sent already are served. */
static void test_going_away(void)
{
    grpc_client_begin(MEMORY, WINDOW);
    const int32_t first = ask();
    grpc_client_run();
    grpc_go_away(client.grpc);
    OK(is_good(first) && !client.went_away, "whoever asks nothing is told at the end");
    const int32_t second = ask(), half = grpc_client_ask(GRPC_RATE_LIMIT, asked(), NULL, NULL, false);
    grpc_client_run();
    OK(client.went_away && client.last_stream == INT32_MAX, "others hear that more requests are not wanted");
    OK(is_good(second) && client.status == SERVE_MORE, "and are answered");
    char said[32 << 10];
    struct output output = output_over(said, sizeof said);
    grpc_leave(&client.session, &output);
    (void)nghttp2_session_mem_recv(client.http2, (const uint8_t *)said, output.size);
    OK_I64(client.last_stream, half, "at the end they hear which request was the last");
    grpc_client_end();
}

/* ---- floods ---- */

static void test_resets(void)
{
    uint32_t asked_count = 0;
    grpc_client_begin(MEMORY, WINDOW);
    while (!client.went_away && client.status != SERVE_CLOSE && asked_count < 1900) {
        const int32_t stream = grpc_client_ask(GRPC_RATE_LIMIT, asked(), NULL, NULL, false);
        grpc_client_run();
        (void)nghttp2_submit_rst_stream(client.http2, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
        asked_count++;
        grpc_client_run();
    }
    OK(asked_count >= 500 && asked_count < 1900, "whoever resets stream after stream is sent away: %u",
       asked_count);
    grpc_client_end();
}

/* Frames without end cost work, so that others have their turns. */
static void test_pings(void)
{
    grpc_client_begin(MEMORY, WINDOW);
    client.work = 100;
    for (uint32_t i = 0; i < 2000; i++)
        (void)nghttp2_submit_ping(client.http2, NGHTTP2_FLAG_NONE, NULL);
    grpc_client_run();
    OK(client.rounds >= 20, "pings take many turns: %u", client.rounds);
    grpc_client_end();
}

/* A long field that is named again, a byte each time, costs what it would cost in full. */
static void test_fields(void)
{
    enum { VALUE_BYTES = 3900, AGAIN = 4000, AT = 9, FRAME_BYTES = AT + 6 + VALUE_BYTES + AGAIN };
    static const char begun[] = "\x40\x01x\x7f\xbd\x1d"; /* of one letter, of VALUE_BYTES, to be kept */
    char frame[FRAME_BYTES] = {0, (FRAME_BYTES - AT) >> 8, (char)((FRAME_BYTES - AT) & 0xff), 1, 5, 0, 0, 0, 1};
    memcpy(frame + AT, begun, sizeof begun - 1);
    for (uint32_t good = 0; good < 2; good++) {
        grpc_client_begin(MEMORY, WINDOW);
        grpc_client_run();
        memset(frame + AT + 6, good ? 'a' : '\1', VALUE_BYTES);
        memset(frame + AT + 6 + VALUE_BYTES, '\xbe', AGAIN);
        client.work = 1000;
        client.rounds = 0;
        grpc_client_send((struct bytes){frame, sizeof frame});
        grpc_client_run();
        OK(client.rounds >= AGAIN / 512, "fields from the table take turns: %u", client.rounds);
        grpc_client_end();
    }
}

static void test_continuations(void)
{
    static const char head_frame[] = "\0\0\1\1\0\0\0\0\1\x82", more[] = "\0\0\1\x9\0\0\0\0\1\x84";
    grpc_client_begin(MEMORY, WINDOW);
    grpc_client_run();
    grpc_client_send((struct bytes){head_frame, sizeof head_frame - 1});
    for (uint32_t i = 0; i < 100; i++)
        grpc_client_send((struct bytes){more, sizeof more - 1});
    grpc_client_run();
    OK(client.status == SERVE_CLOSE, "a head without an end ends the connection");
    grpc_client_end();
}

static void test_no_http2(void)
{
    struct grpc_session stranger = {.known = false};
    char room[32 << 10];
    struct output output = output_over(room, sizeof room);
    size_t consumed;
    grpc_client_begin(MEMORY, WINDOW);
    grpc_open(client.grpc, &stranger, "10.0.0.2:1");
    OK(grpc_serve(client.grpc, &stranger, bytes_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), &output,
                  (struct turn){.now_ns = served.now_ns}, &consumed) == SERVE_CLOSE,
       "HTTP/1 is none");
    OK_U64(served.commands.stats.protocol_errors, 1, "and is counted");
    grpc_close(&stranger);
    grpc_client_end();
}

static void test_memory(void)
{
    grpc_client_begin(128 << 10, WINDOW);
    const int32_t stream = ask();
    grpc_client_run();
    OK(is_good(stream), "a heap that one connection fits in");
    struct grpc_session other = {.known = false};
    char room[32 << 10];
    uint32_t refused = 0;
    for (uint32_t i = 0; i < 3; i++) {
        struct output output = output_over(room, sizeof room);
        size_t consumed;
        other = (struct grpc_session){.known = false}; /* what others have stays taken */
        grpc_open(client.grpc, &other, "10.0.0.2:1");
        refused += grpc_serve(client.grpc, &other, bytes_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), &output,
                              (struct turn){.now_ns = served.now_ns}, &consumed) == SERVE_CLOSE;
        if (i == 0)
            printf("# an idle connection takes %zu bytes\n", client.session.account.taken);
    }
    OK(refused > 0, "others are closed");
    OK(served.commands.stats.grpc_no_memory > 0, "and counted");
    grpc_client_end();
}

int main(void)
{
    test_held_byte();
    test_much();
    test_unread();
    test_small_output();
    test_streams();
    test_bounds();
    test_two_messages();
    test_heads();
    test_leaving();
    test_leaving_half();
    test_going_away();
    test_resets();
    test_pings();
    test_fields();
    test_continuations();
    test_no_http2();
    test_memory();
    return tap_done();
}
