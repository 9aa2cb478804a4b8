#include "headgate/client.h"

#include "tests/lib/tap.h"

#include <arpa/inet.h>
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The other end of the connection, played by the test itself: it says what it wants, in the pieces it wants. */
struct peer {
    int listener, fd;
    char address[64];
};

static void peer_open(struct peer *peer)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof here;
    peer->fd = -1;
    peer->listener = socket(AF_INET, SOCK_STREAM, 0);
    int failed = bind(peer->listener, (struct sockaddr *)(void *)&here, size) || listen(peer->listener, 4) ||
                 getsockname(peer->listener, (struct sockaddr *)(void *)&here, &size);
    assert(!failed);
    (void)snprintf(peer->address, sizeof peer->address, "127.0.0.1:%d", ntohs(here.sin_port));
}

static void peer_close(struct peer *peer)
{
    if (peer->fd >= 0)
        (void)close(peer->fd);
    if (peer->listener >= 0)
        (void)close(peer->listener);
}

static void peer_say(struct peer *peer, const char *text, size_t size)
{
    assert(send(peer->fd, text, size, MSG_NOSIGNAL) == (ssize_t)size);
}

/* Reads exactly what is expected. */
static bool peer_hears(struct peer *peer, const char *expected)
{
    char heard[4096] = "";
    size_t size = strlen(expected), got = 0;
    while (got < size) {
        ssize_t count = recv(peer->fd, heard + got, size - got, 0);
        if (count <= 0)
            break;
        got += (size_t)count;
    }
    return got == size && memcmp(heard, expected, size) == 0;
}

enum { DEADLINE_MS = 60000 };

/* Waits until the client's descriptor is ready, and steps. */
static enum headgate_client_status turn(struct headgate_client *client)
{
    int wanted = headgate_client_wanted(client);
    struct pollfd ready = {.fd = headgate_client_fd(client)};
    ready.events =
        (short)((wanted & HEADGATE_CLIENT_READ ? POLLIN : 0) | (wanted & HEADGATE_CLIENT_WRITE ? POLLOUT : 0));
    if (poll(&ready, 1, DEADLINE_MS) <= 0)
        return HEADGATE_CLIENT_TIMEOUT;
    return headgate_client_step(client, (ready.revents & ~POLLOUT ? HEADGATE_CLIENT_READ : 0) |
                                            (ready.revents & POLLOUT ? HEADGATE_CLIENT_WRITE : 0));
}

static struct headgate_client *connected(struct peer *peer, const struct headgate_client_options *wanted)
{
    struct headgate_client_options options = wanted ? *wanted : (struct headgate_client_options){0};
    peer_open(peer);
    options.address = peer->address;
    struct headgate_client *client = headgate_client_create(&options);
    enum headgate_client_status status = headgate_client_start(client);
    assert(status == HEADGATE_CLIENT_OK);
    while ((status = turn(client)) == HEADGATE_CLIENT_AGAIN)
        continue;
    assert(status == HEADGATE_CLIENT_OK);
    peer->fd = accept(peer->listener, NULL, NULL);
    assert(peer->fd >= 0);
    return client;
}

static enum headgate_client_status next_reply(struct headgate_client *client, const struct headgate_reply **reply)
{
    enum headgate_client_status status;
    while ((status = headgate_client_poll(client, reply)) == HEADGATE_CLIENT_AGAIN)
        if (turn(client) == HEADGATE_CLIENT_TIMEOUT)
            return HEADGATE_CLIENT_TIMEOUT;
    return status;
}

static void test_pipeline(void)
{
    struct peer peer;
    struct headgate_client *client = connected(&peer, NULL);
    const struct headgate_reply *reply;
    const char *const access[] = {"CAN_ACCESS", "alice"}, *const check[] = {"CHECK", "ip=1.2.3.4"};
    OK(headgate_client_poll(client, &reply) == HEADGATE_CLIENT_AGAIN && !reply, "nothing asked, nothing there");
    OK(headgate_client_queue(client, 2, access, NULL) == HEADGATE_CLIENT_OK, "a request is queued");
    const size_t sizes[] = {5, 3};
    OK(headgate_client_queue(client, 2, check, sizes) == HEADGATE_CLIENT_OK, "and one whose words have sizes");
    OK_U64(headgate_client_pending(client), 2, "two are pending");
    OK(headgate_client_wanted(client) == (HEADGATE_CLIENT_READ | HEADGATE_CLIENT_WRITE), "it wants to write");
    OK(turn(client) == HEADGATE_CLIENT_OK, "a step sends");
    OK(headgate_client_wanted(client) == HEADGATE_CLIENT_READ, "then it only wants to read");
    OK(peer_hears(&peer, "*2\r\n$10\r\nCAN_ACCESS\r\n$5\r\nalice\r\n*2\r\n$5\r\nCHECK\r\n$3\r\nip=\r\n"),
       "the bytes are RESP");
    static const char answer[] = ":1\r\n*3\r\n$3\r\nyes\r\n*1\r\n+ok\r\n:-4\r\n";
    bool patient = true;
    for (size_t i = 0; i < sizeof answer - 1; i++) { /* one byte at a time */
        if (i < 4)
            patient = patient && headgate_client_poll(client, &reply) == HEADGATE_CLIENT_AGAIN;
        peer_say(&peer, answer + i, 1);
        patient = patient && turn(client) == HEADGATE_CLIENT_OK;
    }
    OK(patient, "half a reply is none");
    OK(headgate_client_poll(client, &reply) == HEADGATE_CLIENT_OK && reply->kind == HEADGATE_REPLY_INTEGER &&
           reply->integer == 1,
       "the first reply");
    OK(headgate_client_poll(client, &reply) == HEADGATE_CLIENT_OK && reply->kind == HEADGATE_REPLY_ARRAY &&
           reply->count == 3 && reply->span == 5,
       "the second is an array");
    OK_STRING(headgate_reply_at(reply, 0)->text, "yes", "its texts are terminated");
    OK_STRING(headgate_reply_at(headgate_reply_at(reply, 1), 0)->text, "ok", "also in an array inside");
    OK(headgate_reply_at(reply, 2)->integer == -4, "what follows an inner array is found");
    OK(!headgate_reply_at(reply, 3) && !headgate_reply_at(headgate_reply_at(reply, 0), 0), "and nothing else is");
    OK_U64(headgate_client_pending(client), 0, "none is pending");
    peer_say(&peer, ":1\r\n", 4);
    OK(next_reply(client, &reply) == HEADGATE_CLIENT_PROTOCOL, "a reply that nobody asked for ends the connection");
    OK(headgate_client_fd(client) == -1, "which is closed");
    headgate_client_destroy(&client);
    OK(client == NULL, "destroyed");
    peer_close(&peer);
}

static void test_bounds(void)
{
    struct peer peer;
    struct headgate_client_options options = {.request_bytes_max = 200,
                                              .reply_bytes_max = 64,
                                              .reply_elements_max = 4};
    struct headgate_client *client = connected(&peer, &options);
    const struct headgate_reply *reply;
    const char *const ping[] = {"PING"};
    char large[300];
    memset(large, 'x', sizeof large);
    const char *const words[] = {"ECHO", large};
    const size_t sizes[] = {4, sizeof large};
    OK(headgate_client_queue(client, 0, ping, NULL) == HEADGATE_CLIENT_USAGE, "a command needs a word");
    OK(headgate_client_queue(client, 2, words, sizes) == HEADGATE_CLIENT_FULL, "too large for the buffer");
    int queued = 0;
    while (headgate_client_queue(client, 1, ping, NULL) == HEADGATE_CLIENT_OK)
        queued++;
    OK(queued >= 9, "%d requests fit into 200 bytes", queued);
    OK(turn(client) == HEADGATE_CLIENT_OK && headgate_client_queue(client, 1, ping, NULL) == HEADGATE_CLIENT_OK,
       "once sent, there is room again");
    queued++;
    for (int i = 0; i < queued; i++)
        peer_say(&peer, "+PONG\r\n", 7);
    int answered = 0;
    while (answered < queued && next_reply(client, &reply) == HEADGATE_CLIENT_OK && reply->size == 4)
        answered++;
    OK(answered == queued, "more replies than the buffer holds arrive one after the other");
    OK(headgate_client_queue(client, 1, ping, NULL) == HEADGATE_CLIENT_OK && turn(client) == HEADGATE_CLIENT_OK,
       "one more");
    peer_say(&peer, "*4\r\n", 4);
    OK(next_reply(client, &reply) == HEADGATE_CLIENT_PROTOCOL, "a reply with too many elements is refused");
    OK(strstr(headgate_client_message(client), "limit"), "and told: %s", headgate_client_message(client));
    headgate_client_destroy(&client);
    peer_close(&peer);

    client = connected(&peer, &options);
    (void)headgate_client_queue(client, 1, ping, NULL);
    for (int i = 0; i < 8; i++)
        peer_say(&peer, i ? "xxxxxxxxxx" : "+xxxxxxxxx", 10);
    OK(next_reply(client, &reply) == HEADGATE_CLIENT_PROTOCOL, "a reply over the byte limit is refused");
    headgate_client_destroy(&client);
    peer_close(&peer);
}

static void test_endings(void)
{
    struct peer peer;
    struct headgate_client *client = connected(&peer, NULL);
    const struct headgate_reply *reply;
    const char *const ping[] = {"PING"};
    (void)headgate_client_queue(client, 1, ping, NULL);
    (void)headgate_client_queue(client, 1, ping, NULL);
    (void)turn(client);
    (void)peer_hears(&peer, "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n");
    peer_say(&peer, "-ERR no\r\n+PO", 12);
    peer_close(&peer);
    enum headgate_client_status status;
    while ((status = turn(client)) == HEADGATE_CLIENT_OK)
        continue;
    OK(status == HEADGATE_CLIENT_CLOSED, "the end of the connection is told: %s", headgate_client_message(client));
    OK(headgate_client_poll(client, &reply) == HEADGATE_CLIENT_REFUSED && reply->kind == HEADGATE_REPLY_ERROR,
       "what came before it can still be read");
    OK_STRING(headgate_client_message(client), "ERR no", "an error's text is the message");
    OK(headgate_client_poll(client, &reply) == HEADGATE_CLIENT_CLOSED && !reply, "half a reply cannot");
    OK(headgate_client_queue(client, 1, ping, NULL) == HEADGATE_CLIENT_CLOSED &&
           headgate_client_step(client, HEADGATE_CLIENT_READ) == HEADGATE_CLIENT_CLOSED &&
           headgate_client_wanted(client) == 0,
       "and nothing else can be done");
    OK(headgate_client_connect(client) == HEADGATE_CLIENT_UNREACHABLE, "nobody listens: %s",
       headgate_client_message(client));
    headgate_client_destroy(&client);

    static const char *const no_port[] = {"127.0.0.1:65536", "127.0.0.1:0", "[::1]:99999999999999999999"};
    for (size_t i = 0; i < sizeof no_port / sizeof no_port[0]; i++) {
        client = headgate_client_create(&(struct headgate_client_options){.address = no_port[i]});
        OK(headgate_client_connect(client) == HEADGATE_CLIENT_USAGE, "%s", headgate_client_message(client));
        headgate_client_destroy(&client);
    }
    static const char *const bad[] = {"", ":7070", "host:", "[::1", "[::1]x", "no such host:1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        client = headgate_client_create(&(struct headgate_client_options){.address = bad[i]});
        status = headgate_client_connect(client);
        OK(status == HEADGATE_CLIENT_USAGE || status == HEADGATE_CLIENT_UNREACHABLE, "\"%s\": %s", bad[i],
           headgate_client_message(client));
        headgate_client_destroy(&client);
    }
    headgate_client_destroy(&client);
    OK(client == NULL, "destroying nothing does nothing");
}

/* Answers each of `script`'s requests with its reply, then waits until the client goes. */
struct exchange {
    const char *expected, *answer;
};

struct scripted {
    struct peer peer;
    const struct exchange *script;
    bool as_expected;
};

/* A second answer to the first request must not become the answer to the second one. */
static void test_unasked(void)
{
    struct peer peer;
    struct headgate_client *client = connected(&peer, NULL);
    const char *words[] = {"PING"};
    const struct headgate_reply *reply;
    OK(headgate_client_queue(client, 1, words, NULL) == HEADGATE_CLIENT_OK, "a request");
    peer_say(&peer, "+one\r\n:1\r\n", 10);
    while (headgate_client_poll(client, &reply) == HEADGATE_CLIENT_AGAIN)
        (void)turn(client);
    OK(reply && strcmp(reply->text, "one") == 0, "its answer");
    OK(headgate_client_queue(client, 1, words, NULL) == HEADGATE_CLIENT_PROTOCOL, "another one is no answer");
    OK(strstr(headgate_client_message(client), "answered more than it was asked") != NULL, "which is said: %s",
       headgate_client_message(client));
    OK(headgate_client_fd(client) < 0 && headgate_client_pending(client) == 0, "the connection is closed");
    OK_STRING(reply->text, "one", "the answer before is still there");
    headgate_client_destroy(&client);
    peer_close(&peer);
}

static void *play(void *context)
{
    struct scripted *scripted = context;
    char rest;
    scripted->peer.fd = accept(scripted->peer.listener, NULL, NULL);
    scripted->as_expected = true;
    for (const struct exchange *exchange = scripted->script; exchange->expected; exchange++) {
        scripted->as_expected = peer_hears(&scripted->peer, exchange->expected) && scripted->as_expected;
        peer_say(&scripted->peer, exchange->answer, strlen(exchange->answer));
    }
    (void)!recv(scripted->peer.fd, &rest, 1, 0);
    return NULL;
}

static void test_blocking(void)
{
    static const struct exchange script[] = {
        {"*2\r\n$10\r\nCAN_ACCESS\r\n$3\r\na b\r\n", ":1\r\n"},
        {"*3\r\n$10\r\nCAN_ACCESS\r\n$1\r\nx\r\n$1\r\n7\r\n", ":0\r\n"},
        {"*4\r\n$5\r\nCHECK\r\n$6\r\nuser=a\r\n$4\r\nCOST\r\n$1\r\n2\r\n",
         "*6\r\n:1\r\n:100\r\n:98\r\n:0\r\n:20\r\n$7\r\ndefault\r\n"},
        {"*6\r\n$4\r\nPEEK\r\n$1\r\na\r\n$4\r\nCOST\r\n$1\r\n1\r\n$4\r\nRULE\r\n$3\r\napi\r\n",
         "*6\r\n:0\r\n:10\r\n:0\r\n:-1\r\n:2000\r\n$3\r\napi\r\n"},
        {"*5\r\n$5\r\nCHECK\r\n$1\r\na\r\n$4\r\nip=1\r\n$7\r\nSERVICE\r\n$4\r\nshop\r\n",
         "*6\r\n:1\r\n:-1\r\n:-1\r\n:0\r\n:0\r\n$0\r\n\r\n"},
        {"*4\r\n$5\r\nCHECK\r\n$1\r\na\r\n$4\r\nCOST\r\n$1\r\n1\r\n", "*2\r\n:1\r\n:2\r\n"},
        {"*2\r\n$10\r\nCAN_ACCESS\r\n$1\r\n!\r\n", "-ERR key\r\n"},
        {NULL, NULL},
    };
    struct scripted scripted = {.script = script};
    pthread_t thread;
    peer_open(&scripted.peer);
    int failed = pthread_create(&thread, NULL, play, &scripted);
    assert(!failed);
    struct headgate_client_options options = {.address = scripted.peer.address, .timeout_ms = DEADLINE_MS};
    struct headgate_client *client = headgate_client_create(&options);
    struct headgate_client_verdict verdict;
    bool allowed = false;
    OK(headgate_client_can_access(client, "a", 1, 1, &allowed) == HEADGATE_CLIENT_CLOSED, "connect comes first");
    OK(headgate_client_connect(client) == HEADGATE_CLIENT_OK, "connected");
    OK(headgate_client_can_access(client, "a b", 3, 1, &allowed) == HEADGATE_CLIENT_OK && allowed, "allowed");
    OK(headgate_client_can_access(client, "x", 1, 7, &allowed) == HEADGATE_CLIENT_OK && !allowed, "refused");
    OK(headgate_client_check(client, "user=a", 2, NULL, true, &verdict) == HEADGATE_CLIENT_OK && verdict.allowed &&
           verdict.limit == 100 && verdict.remaining == 98 && verdict.retry_after_ms == 0 &&
           verdict.reset_after_ms == 20 && strcmp(verdict.rule, "default") == 0,
       "a verdict with all figures");
    OK(headgate_client_check(client, "a", 1, "api", false, &verdict) == HEADGATE_CLIENT_OK && !verdict.allowed &&
           verdict.retry_after_ms == -1,
       "a look that finds a refusal");
    static const char *const ask[] = {"CHECK", "a", "ip=1", "SERVICE", "shop"};
    OK(headgate_client_ask(client, 5, ask, &verdict) == HEADGATE_CLIENT_OK && verdict.allowed &&
           verdict.limit == HEADGATE_CLIENT_UNLIMITED && verdict.remaining == HEADGATE_CLIENT_UNLIMITED &&
           verdict.rule[0] == '\0',
       "several ids of a service; nothing limits them");
    OK(headgate_client_check(client, "a", 1, NULL, true, &verdict) == HEADGATE_CLIENT_PROTOCOL && !verdict.allowed,
       "a verdict of another form: %s", headgate_client_message(client));
    OK(headgate_client_can_access(client, "!", 1, 1, &allowed) == HEADGATE_CLIENT_REFUSED && !allowed,
       "an error: %s", headgate_client_message(client));
    headgate_client_destroy(&client);
    (void)pthread_join(thread, NULL);
    OK(scripted.as_expected, "every request was sent as expected");
    peer_close(&scripted.peer);
}

/* Between two requests, the daemon goes. */
static void test_lost(void)
{
    static const char *const ping[] = {"PING"};
    const struct headgate_reply *reply;
    struct peer peer;
    struct headgate_client *client = connected(&peer, NULL);
    (void)close(peer.fd);
    peer.fd = -1;
    OK(headgate_client_command(client, 1, ping, NULL, &reply) == HEADGATE_CLIENT_CLOSED && !reply,
       "a connection that is lost: %s", headgate_client_message(client));
    OK_U64(headgate_client_pending(client), 0, "no reply is waited for any more");
    OK(headgate_client_command(client, 1, ping, NULL, &reply) == HEADGATE_CLIENT_CLOSED && !reply,
       "and it stays lost until the client connects again: %s", headgate_client_message(client));
    OK(headgate_client_connect(client) == HEADGATE_CLIENT_OK, "which it may");
    headgate_client_destroy(&client);
    peer_close(&peer);
}

#define RESERVE "*4\r\n$7\r\nRESERVE\r\n$1\r\na\r\n$3\r\nTTL\r\n$2\r\n50\r\n"
#define FIGURES ":5\r\n:3\r\n:0\r\n:20\r\n$1\r\nr\r\n"

static void test_reservations(void)
{
    static const struct exchange script[] = {
        {RESERVE, "*7\r\n:1\r\n" FIGURES "$4\r\nabcd\r\n"},
        {RESERVE, "*7\r\n:0\r\n" FIGURES "$-1\r\n"},
        {RESERVE, "*7\r\n:1\r\n" FIGURES "$-1\r\n"},
        {RESERVE, "*6\r\n:1\r\n" FIGURES},
        {"*3\r\n$6\r\nCOMMIT\r\n$4\r\nabcd\r\n$1\r\n7\r\n", ":6\r\n"},
        {"*3\r\n$6\r\nCOMMIT\r\n$4\r\nabcd\r\n$1\r\n7\r\n", "-NORESERVATION it has ended\r\n"},
        {"*2\r\n$6\r\nCANCEL\r\n$4\r\nabcd\r\n", ":1\r\n"},
        {"*2\r\n$6\r\nCANCEL\r\n$4\r\nabcd\r\n", ":0\r\n"},
        {"*3\r\n$5\r\nRENEW\r\n$4\r\nabcd\r\n$2\r\n90\r\n", ":1\r\n"},
        {"*3\r\n$5\r\nRENEW\r\n$4\r\nabcd\r\n$2\r\n90\r\n", ":2\r\n"},
        {NULL, NULL},
    };
    static const char *const words[] = {"RESERVE", "a", "TTL", "50"};
    struct scripted scripted = {.script = script};
    pthread_t thread;
    peer_open(&scripted.peer);
    int failed = pthread_create(&thread, NULL, play, &scripted);
    assert(!failed);
    struct headgate_client_options options = {.address = scripted.peer.address, .timeout_ms = DEADLINE_MS};
    struct headgate_client *client = headgate_client_create(&options);
    struct headgate_client_reservation held;
    uint64_t charged = 9;
    bool done = false;
    OK(headgate_client_connect(client) == HEADGATE_CLIENT_OK, "connected");
    OK(headgate_client_reserve(client, 4, words, &held) == HEADGATE_CLIENT_OK && held.verdict.allowed &&
           held.verdict.remaining == 3 && strcmp(held.id, "abcd") == 0,
       "tokens are held under a name");
    OK(headgate_client_reserve(client, 4, words, &held) == HEADGATE_CLIENT_OK && !held.verdict.allowed &&
           held.id[0] == '\0' && held.verdict.limit == 5,
       "a refusal has figures and no name");
    OK(headgate_client_reserve(client, 4, words, &held) == HEADGATE_CLIENT_PROTOCOL && !held.verdict.allowed,
       "allowed without a name is no answer: %s", headgate_client_message(client));
    OK(headgate_client_reserve(client, 4, words, &held) == HEADGATE_CLIENT_PROTOCOL,
       "nor is one without its place");
    OK(headgate_client_commit(client, "abcd", 7, &charged) == HEADGATE_CLIENT_OK && charged == 6,
       "what was charged");
    OK(headgate_client_commit(client, "abcd", 7, &charged) == HEADGATE_CLIENT_REFUSED && charged == 0,
       "it has ended: %s", headgate_client_message(client));
    OK(headgate_client_cancel(client, "abcd", &done) == HEADGATE_CLIENT_OK && done, "cancelled");
    OK(headgate_client_cancel(client, "abcd", &done) == HEADGATE_CLIENT_OK && !done, "it was before");
    OK(headgate_client_renew(client, "abcd", 90, &done) == HEADGATE_CLIENT_OK && done, "renewed");
    OK(headgate_client_renew(client, "abcd", 90, &done) == HEADGATE_CLIENT_PROTOCOL && !done, "no answer at all");
    headgate_client_destroy(&client);
    (void)pthread_join(thread, NULL);
    OK(scripted.as_expected, "every request was sent as expected");
    peer_close(&scripted.peer);
}

static void test_timeout(void)
{
    static const struct exchange script[] = {{"*2\r\n$10\r\nCAN_ACCESS\r\n$1\r\na\r\n", "+"}, {NULL, NULL}};
    struct scripted scripted = {.script = script};
    pthread_t thread;
    peer_open(&scripted.peer);
    int failed = pthread_create(&thread, NULL, play, &scripted);
    assert(!failed);
    struct headgate_client_options options = {.address = scripted.peer.address, .timeout_ms = 300};
    struct headgate_client *client = headgate_client_create(&options);
    bool allowed = false;
    OK(headgate_client_connect(client) == HEADGATE_CLIENT_OK, "connected");
    struct timespec before, after;
    (void)clock_gettime(CLOCK_MONOTONIC, &before);
    OK(headgate_client_can_access(client, "a", 1, 1, &allowed) == HEADGATE_CLIENT_TIMEOUT, "half an answer: %s",
       headgate_client_message(client));
    (void)clock_gettime(CLOCK_MONOTONIC, &after);
    double took = (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
    OK(strstr(headgate_client_message(client), "within 300 ms"), "which is told");
    OK(took >= 0.3 && took * 1000 < DEADLINE_MS, "it took the timeout, %.2f s", took);
    OK(headgate_client_fd(client) == -1, "and the connection is gone");
    headgate_client_destroy(&client);
    (void)pthread_join(thread, NULL);
    OK(scripted.as_expected, "every request was sent as expected");
    peer_close(&scripted.peer);
}

int main(void)
{
    test_pipeline();
    test_bounds();
    test_endings();
    test_unasked();
    test_blocking();
    test_lost();
    test_reservations();
    test_timeout();
    return tap_done();
}
