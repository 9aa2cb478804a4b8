/*
 * grpc.health.v1.Health, by a client of HTTP/2 in memory and a node that is alone.
 */
#include "tests/lib/grpc_client.h"
#include "tests/lib/served.h"

#define CHECK "/grpc.health.v1.Health/Check"
#define WATCH "/grpc.health.v1.Health/Watch"

enum { MEMORY = 4 << 20, WINDOW = 65535, MESSAGE_BYTES = 7 };
enum { SERVING = 1, NOT_SERVING = 2, SERVICE_UNKNOWN = 3 };
enum { OK_STATUS = 0, INVALID = 3, NO_SUCH = 5 };

static int32_t ask(const char *method, const char *message)
{
    const int32_t stream = grpc_client_ask(method, bytes_of(message), NULL, NULL, true);
    grpc_client_run();
    return stream;
}

/* How many messages came, and what the last one says. */
static uint32_t count(int32_t stream)
{
    return (uint32_t)(grpc_client_heard(stream)->message_size / MESSAGE_BYTES);
}

static int last(int32_t stream)
{
    const struct grpc_heard *heard = grpc_client_heard(stream);
    const char *message = heard->message + heard->message_size - MESSAGE_BYTES;
    return heard->message_size > 0 && memcmp(message, "\0\0\0\0\2\x08", 6) == 0 ? message[6] : -1;
}

static void end_serving(void)
{
    served_step((struct event){.kind = EVENT_STOP});
    served_wait_ms(10000);
}

static void test_check(void)
{
    grpc_client_begin(MEMORY, WINDOW);
    served.commands.password = "secret";
    int32_t stream = ask(CHECK, "");
    OK(grpc_client_heard(stream)->status == OK_STATUS && count(stream) == 1 && last(stream) == SERVING,
       "who decides serves, also strangers");
    OK_I64(grpc_client_heard(ask(CHECK, "\x0a\x01x"))->status, NO_SUCH, "there is no other service");
    OK_I64(grpc_client_heard(ask(CHECK, "\x0a"))->status, INVALID, "no message");
    end_serving();
    stream = ask(CHECK, "");
    OK(count(stream) == 1 && last(stream) == NOT_SERVING, "who has left does not serve");
    grpc_client_end();
}

static void test_watch(void)
{
    grpc_client_begin(MEMORY, WINDOW);
    const int32_t all = ask(WATCH, ""), other = ask(WATCH, "\x0a\x01x");
    OK(count(all) == 1 && last(all) == SERVING && !grpc_client_heard(all)->closed, "who watches hears at once");
    OK(count(other) == 1 && last(other) == SERVICE_UNKNOWN && !grpc_client_heard(other)->closed,
       "also of what is not known");
    OK_I64(grpc_client_heard(ask(WATCH, "\x0a"))->status, INVALID, "no message");
    OK(grpc_waits(&client.session) && !grpc_waits_soon(client.grpc), "the server must be asked, but not soon");
    OK_U64(client.pending_size, 0, "and no request is taken for half");
    grpc_client_wait_ms(3000);
    OK_U64(count(all), 1, "and hears nothing while nothing changes");
    OK_I64(grpc_client_heard(ask(CHECK, ""))->status, OK_STATUS, "meanwhile others are answered");
    end_serving();
    grpc_client_wait_ms(GRPC_WATCH_MS);
    OK(count(all) == 2 && last(all) == NOT_SERVING, "and then the change");
    OK_U64(count(other), 1, "which is no news of what is not known");
    (void)nghttp2_submit_rst_stream(client.http2, NGHTTP2_FLAG_NONE, all, NGHTTP2_CANCEL);
    grpc_client_run();
    OK(grpc_waits(&client.session), "one is left");
    (void)nghttp2_submit_rst_stream(client.http2, NGHTTP2_FLAG_NONE, other, NGHTTP2_CANCEL);
    grpc_client_run();
    OK(!grpc_waits(&client.session) && client.session.unfinished == 0, "and none");
    grpc_client_end();
}

/* Nobody reads: what is not sent is not overwritten. */
static void test_unread(void)
{
    grpc_client_begin(MEMORY, 0);
    const int32_t stream = ask(WATCH, "");
    OK_U64(count(stream), 0, "without a window nothing comes");
    end_serving();
    grpc_client_wait_ms(1000);
    const nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW};
    (void)nghttp2_submit_settings(client.http2, NGHTTP2_FLAG_NONE, &window, 1);
    grpc_client_run();
    OK(count(stream) == 1 && last(stream) == SERVING, "the first message comes as it was");
    grpc_client_wait_ms(GRPC_WATCH_MS);
    OK(count(stream) == 2 && last(stream) == NOT_SERVING, "and then the newest");
    grpc_client_close();
    OK_U64(served.commands.waiting.count, 0, "a connection may end meanwhile");
    grpc_client_connect(WINDOW);
    grpc_client_end();
}

int main(void)
{
    test_check();
    test_watch();
    test_unread();
    return tap_done();
}
