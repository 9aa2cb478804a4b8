/*
 * TLS of clients: handshakes, bytes in pieces, slow readers, deadlines, and who is refused. The client is OpenSSL's, in
 * this process, on a real socket.
 */
#include "edge/clients/stream_tls.h"

#include "edge/clients/tls.h"
#include "tests/lib/listener_scene.h"
#include "tests/lib/tls_files.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

static struct tls *tls;
static SSL_CTX *client_context;
static SSL_SESSION *ticket;

/* ---- clients ---- */

static int on_ticket(SSL *ssl, SSL_SESSION *session)
{
    (void)ssl;
    SSL_SESSION_free(ticket);
    ticket = session;
    return 1;
}

static void open_scene(const char *client_ca, const struct listener_options *options)
{
    struct tls_files files = tls_files_of("node.pem", "node.key", client_ca);
    struct tls_fault fault;
    struct error error;
    open_listener(options);
    tls = tls_create(&files, &fault);
    struct service service = listener.service;
    service.tls = tls;
    service.alpn = "\x04line";
    bool fine = tls != NULL && listener_bind(&listener, "127.0.0.1:0", &service, &error);
    client_context = SSL_CTX_new(TLS_client_method());
    fine = fine && SSL_CTX_load_verify_file(client_context, tls_files_path("ca.pem")) == 1;
    SSL_CTX_set_verify(client_context, SSL_VERIFY_PEER, NULL);
    (void)SSL_CTX_set_session_cache_mode(client_context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(client_context, on_ticket);
    (void)SSL_CTX_set_mode(client_context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    assert(fine);
}

static void close_scene(void)
{
    close_listener();
    tls_destroy(&tls);
    SSL_CTX_free(client_context);
}

static SSL *call(void)
{
    SSL *ssl = SSL_new(client_context);
    (void)SSL_set_fd(ssl, dial_port(listener_port(&listener, 1)));
    SSL_set_connect_state(ssl);
    return ssl;
}

static void hang_up(SSL *ssl)
{
    (void)close(SSL_get_fd(ssl));
    SSL_free(ssl);
}

/* 1: the handshake is done; 0: it goes on; -1: it has failed. */
static int shakes(SSL *ssl)
{
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl), error = SSL_get_error(ssl, done);
    return done == 1 ? 1 : error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static bool greets(SSL *ssl)
{
    int done = 0;
    TURN_UNTIL((done = shakes(ssl)) != 0);
    return done == 1;
}

static bool says(SSL *ssl, const char *text, size_t size)
{
    size_t sent = 0;
    while (sent < size) {
        size_t some = 0;
        TURN_UNTIL(SSL_write_ex(ssl, text + sent, size - sent, &some) == 1);
        if (some == 0)
            return false;
        sent += some;
    }
    return true;
}

/* Reads so many bytes, or less until the end. */
static size_t reads(SSL *ssl, char *data, size_t size)
{
    size_t got = 0;
    while (got < size) {
        size_t some = 0;
        int error = SSL_ERROR_WANT_READ;
        TURN_UNTIL(SSL_read_ex(ssl, data + got, size - got, &some) == 1 ||
                   (error = SSL_get_error(ssl, 0)) != SSL_ERROR_WANT_READ);
        if (some == 0)
            return got;
        got += some;
    }
    return got;
}

static bool answers(SSL *ssl, const char *question, const char *answer)
{
    char text[256];
    const size_t size = strlen(answer);
    return says(ssl, question, strlen(question)) && reads(ssl, text, size) == size &&
           memcmp(text, answer, size) == 0;
}

/* The other side has said goodbye in the way of TLS, and then closed. */
static bool hears_goodbye(SSL *ssl)
{
    char byte;
    return reads(ssl, &byte, 1) == 0 && SSL_get_shutdown(ssl) == SSL_RECEIVED_SHUTDOWN;
}

/* ---- bytes ---- */

static const char *name_of(int version)
{
    return version == TLS1_3_VERSION ? "TLS 1.3" : "TLS 1.2";
}

static void test_bytes(int version)
{
    const struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    open_scene("", &options);
    (void)SSL_CTX_set_max_proto_version(client_context, version);
    SSL *ssl = call();
    OK(greets(ssl) && SSL_version(ssl) == version, "%s: a client is greeted", name_of(version));
    OK(answers(ssl, "hello\n", "hello\n"), "and served");
    OK(says(ssl, "half", 4) && answers(ssl, " a line\n", "half a line\n"), "a line in two records is one");
    OK(answers(ssl, "one\ntwo\nthree\n", "one\ntwo\nthree\n"), "and three in one are three");
    OK_U64(listener.stats.tls_handshakes, 1, "the handshake is counted");
    OK(listener.stats.buffer_bytes == 0, "and nothing is held for it");

    /* More than one read takes, in one go: what OpenSSL holds is served though the socket is empty. */
    enum { LINES = 6000, LINE = 8 };
    static char lines[LINES * LINE + 1], echoed[LINES * LINE + 1];
    for (unsigned i = 0; i < LINES; i++)
        (void)snprintf(lines + (size_t)i * LINE, LINE + 1, i % 10 == 0 ? "work 99\n" : "l%06u\n", i % 1000000);
    OK(says(ssl, lines, sizeof lines - 1), "many lines are said");
    OK(reads(ssl, echoed, sizeof lines - 1) == sizeof lines - 1 && memcmp(lines, echoed, sizeof lines - 1) == 0,
       "and all come back, in order");
    /* Records of which the last one does not fit behind the others into a read: OpenSSL has all of the rest of it. */
    enum { RECORD = 2752, RECORDS = 6 };
    (void)SSL_set_max_send_fragment(ssl, RECORD);
    OK(says(ssl, lines, RECORD * RECORDS) && reads(ssl, echoed, RECORD * RECORDS) == RECORD * RECORDS &&
           memcmp(lines, echoed, RECORD * RECORDS) == 0,
       "and so do those that are left when the socket is empty");

    (void)SSL_shutdown(ssl);
    OK(hears_goodbye(ssl) || SSL_get_shutdown(ssl) == (SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN),
       "a goodbye is answered");
    hang_up(ssl);
    ssl = call();
    OK(greets(ssl) && answers(ssl, "quit\n", "bye\n") && hears_goodbye(ssl), "a last answer, then a goodbye");
    (void)SSL_shutdown(ssl);
    hang_up(ssl);
    TURN_UNTIL(listener.stats.connected_clients == 0);
    close_scene();
}

/* A record byte by byte; and a client that says much, and goodbye, before it reads. */
static void test_pieces(void)
{
    const struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    open_scene("", &options);
    SSL *ssl = call();
    BIO *out = BIO_new(BIO_s_mem());
    OK(greets(ssl) && answers(ssl, "a\n", "a\n"), "a client is greeted");
    BIO *socket_bio = SSL_get_wbio(ssl);
    (void)BIO_up_ref(socket_bio);
    SSL_set0_wbio(ssl, out);
    OK(SSL_write(ssl, "piece\n", 6) == 6, "a record");
    char *record;
    const long size = BIO_get_mem_data(out, &record);
    const uint32_t served = seen.served;
    for (long i = 0; i + 1 < size; i++) {
        scene_say(SSL_get_fd(ssl), record + i, 1);
        for (int turn = 0; turn < 3; turn++)
            (void)uv_run(&scene_loop, UV_RUN_NOWAIT);
    }
    OK(seen.served == served, "that is not whole is nothing");
    scene_say(SSL_get_fd(ssl), record + size - 1, 1);
    char text[8];
    OK(reads(ssl, text, 6) == 6 && memcmp(text, "piece\n", 6) == 0, "and is served once it is");
    (void)BIO_reset(out);
    OK(SSL_write(ssl, "x\n", 2) == 2 && SSL_write(ssl, "y\n", 2) == 2 && SSL_shutdown(ssl) >= 0,
       "two, and goodbye");
    const long all = BIO_get_mem_data(out, &record);
    scene_say(SSL_get_fd(ssl), record, (size_t)all);
    OK(reads(ssl, text, 4) == 4 && memcmp(text, "x\ny\n", 4) == 0, "what came before a goodbye is answered");
    TURN_UNTIL(listener.stats.connected_clients == 0);
    OK_U64(listener.stats.connected_clients, 0, "and then it is over, though the socket stays open");
    SSL_set0_wbio(ssl, socket_bio);
    hang_up(ssl);
    close_scene();
}

static bool takes_new_keys(SSL *ssl, unsigned times)
{
    bool good = true;
    for (unsigned i = 0; i < times && good; i++)
        good = SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(ssl) == 1;
    return good;
}

/* New keys cost more than they look: whoever has some is served, whoever has nothing else is not. */
static void test_new_keys(void)
{
    const struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    static char line[60001], echoed[60001];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    open_scene("", &options);
    SSL *ssl = call();
    OK(greets(ssl) && answers(ssl, "a\n", "a\n"), "a client is greeted");
    OK(takes_new_keys(ssl, 10) && answers(ssl, "b\n", "b\n"), "it takes new keys, ten times");
    for (int i = 0; i < 10; i++)
        OK(says(ssl, line, sizeof line) && reads(ssl, echoed, sizeof line) == sizeof line && takes_new_keys(ssl, 1),
           "and again with each 60 kB");
    OK(answers(ssl, "c\n", "c\n"), "it is served");
    char byte;
    (void)takes_new_keys(ssl, 1000);
    OK(reads(ssl, &byte, 1) == 0, "a client that does nothing else is closed");
    TURN_UNTIL(listener.stats.connected_clients == 0);
    OK_U64(listener.stats.connected_clients, 0, "at once");
    hang_up(ssl);
    close_scene();
}

static void test_slow_reader(void)
{
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    options.stall_timeout_ms = DEADLINE_MS;
    open_scene("", &options);
    SSL *ssl = call(), *other = call();
    OK(greets(ssl) && answers(ssl, "a\n", "a\n") && greets(other) && answers(other, "a\n", "a\n"), "two clients");
    struct connection *connection = LIST_OWNER(listener.connections.next, struct connection, link);
    int small = 4096;
    (void)uv_send_buffer_size((uv_handle_t *)&connection->stream.tcp, &small);
    enum { BIG = 60000 };
    static char text[2 * BIG + 8];
    OK(says(ssl, "big 60000\nbig 60000\nlast\n", 25), "much is asked for");
    TURN_UNTIL(listener.stats.blocked_clients == 1);
    OK(listener.stats.blocked_clients == 1 && listener.stats.buffer_bytes <= 2 * POOL_LARGE_BYTES,
       "a reader that does not take it is not read either");
    OK(answers(other, "hello\n", "hello\n"), "others are served");
    bool whole = reads(ssl, text, 2 * BIG + 5) == 2 * BIG + 5;
    for (int i = 0; i < 2 * BIG && whole; i++)
        whole = text[i] == text[i < BIG ? 0 : BIG];
    OK(whole && memcmp(text + 2 * BIG, "last\n", 5) == 0, "when it takes it, it gets all, in order");
    OK_U64(listener.stats.buffer_bytes, 0, "and nothing is kept");

    hang_up(ssl);
    hang_up(other);
    TURN_UNTIL(listener.stats.connected_clients == 0);
    close_scene();

    options.stall_timeout_ms = 300;
    open_scene("", &options);
    ssl = call();
    OK(greets(ssl), "a client that does not read");
    connection = LIST_OWNER(listener.connections.next, struct connection, link);
    (void)uv_send_buffer_size((uv_handle_t *)&connection->stream.tcp, &small);
    OK(says(ssl, "big 60000\nbig 60000\nbig 60000\n", 30), "asks for much,");
    TURN_UNTIL(listener.stats.closed_stalled == 1);
    OK_U64(listener.stats.closed_stalled, 1, "and whoever takes nothing is closed");
    hang_up(ssl);
    close_scene();
}

/* ---- who is refused ---- */

static void test_refused(void)
{
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    options.request_timeout_ms = DEADLINE_MS;
    open_scene("ca.pem", &options);
    SSL *ssl = call();
    OK(!greets(ssl) || !answers(ssl, "a\n", "a\n"), "without a certificate: refused");
    hang_up(ssl);
    const char *const wrong[] = {"stranger", "late"};
    for (size_t i = 0; i < 2; i++) {
        char certificate[32], key[32];
        (void)snprintf(certificate, 32, "%s.pem", wrong[i]);
        (void)snprintf(key, 32, "%s.key", wrong[i]);
        ssl = call();
        (void)SSL_use_certificate_file(ssl, tls_files_path(certificate), SSL_FILETYPE_PEM);
        (void)SSL_use_PrivateKey_file(ssl, tls_files_path(key), SSL_FILETYPE_PEM);
        OK(!greets(ssl) || !answers(ssl, "a\n", "a\n"), "with a certificate that is %s: refused", wrong[i]);
        hang_up(ssl);
    }
    TURN_UNTIL(listener.stats.tls_failures == 3);
    OK_U64(listener.stats.tls_failures, 3, "each is counted");
    ssl = call();
    (void)SSL_use_certificate_file(ssl, tls_files_path("node.pem"), SSL_FILETYPE_PEM);
    (void)SSL_use_PrivateKey_file(ssl, tls_files_path("node.key"), SSL_FILETYPE_PEM);
    OK(greets(ssl) && answers(ssl, "a\n", "a\n"), "with a good one: served");
    hang_up(ssl);

    ssl = call();
    (void)SSL_set_min_proto_version(ssl, TLS1_1_VERSION);
    (void)SSL_set_max_proto_version(ssl, TLS1_1_VERSION);
    SSL_set_security_level(ssl, 0);
    OK(!greets(ssl), "TLS 1.1 is refused");
    hang_up(ssl);
    ssl = call();
    (void)SSL_set_alpn_protos(ssl, (const unsigned char *)"\x02h2", 3);
    OK(!greets(ssl), "and a protocol that the service does not speak");
    hang_up(ssl);
    TURN_UNTIL(listener.stats.tls_failures == 5);
    OK_U64(listener.stats.tls_failures, 5, "both are counted");

    int plain = dial_port(listener_port(&listener, 1));
    scene_say(plain, "PING\r\n", 6);
    OK(hears_end(plain), "a plain client is closed");
    OK(listener.stats.tls_plain == 1 && listener.stats.tls_failures == 5, "and counted apart");
    (void)close(plain);
    int garbage = dial_port(listener_port(&listener, 1));
    scene_say(garbage, "\x16\x03\x01\xff\xff garbage", 13);
    bool ended;
    (void)hear(garbage, 100, &ended);
    OK(ended, "garbage that begins like TLS is closed");
    (void)close(garbage);
    TURN_UNTIL(listener.stats.connected_clients == 0);
    OK(listener.stats.buffer_bytes == 0 && seen.opened == seen.closed, "nothing is left of them");
    close_scene();
}

static void test_never_greets(void)
{
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    options.request_timeout_ms = 200;
    open_scene("", &options);
    int half = dial_port(listener_port(&listener, 1));
    (void)send(half, "\x16", 1, MSG_NOSIGNAL);
    TURN_UNTIL(listener.stats.closed_unfinished == 1);
    OK_U64(listener.stats.closed_unfinished, 1, "half a handshake is closed at its deadline");
    (void)close(half);
    int silent = dial_port(listener_port(&listener, 1));
    TURN_UNTIL(listener.stats.closed_unfinished == 2);
    OK_U64(listener.stats.closed_unfinished, 2, "and so is none at all");
    (void)close(silent);
    OK(listener.stats.buffer_bytes == 0 && seen.opened == seen.closed, "nothing is left of them");
    close_scene();
}

static void test_resumed(int version)
{
    const struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    open_scene("", &options);
    (void)SSL_CTX_set_max_proto_version(client_context, version);
    SSL *ssl = call();
    unsigned size;
    const unsigned char *chosen;
    (void)SSL_set_alpn_protos(ssl, (const unsigned char *)"\x02h2\x04line", 8);
    OK(greets(ssl) && answers(ssl, "a\n", "a\n") && ticket != NULL, "%s: a client gets a ticket", name_of(version));
    SSL_get0_alpn_selected(ssl, &chosen, &size);
    OK(size == 4 && memcmp(chosen, "line", 4) == 0, "and the protocol that both speak");
    (void)SSL_shutdown(ssl);
    hang_up(ssl);
    ssl = call();
    (void)SSL_set_session(ssl, ticket);
    OK(greets(ssl) && SSL_session_reused(ssl) && answers(ssl, "a\n", "a\n"), "which resumes its session");
    OK(listener.stats.tls_handshakes == 2 && listener.stats.tls_resumed == 1, "as the counters say");
    hang_up(ssl);

    struct tls_files files = tls_files_of("node.pem", "node.key", "");
    struct tls_fault fault;
    SSL *before = call();
    OK(greets(before) && tls_reload(tls, &files, &fault) && answers(before, "a\n", "a\n"),
       "who is there when files are read again is served on");
    ssl = call();
    OK(greets(ssl) && answers(ssl, "a\n", "a\n"), "and so is who comes after");
    hang_up(ssl);
    hang_up(before);
    SSL_SESSION_free(ticket);
    ticket = NULL;
    TURN_UNTIL(listener.stats.connected_clients == 0);
    close_scene();
}

int main(void)
{
    received = malloc(RECEIVED_MAX);
    if (!tls_files_open() || received == NULL)
        return 1;
    OK(tls_files_make("ca", true, "", 86400) && tls_files_make("other", true, "", 86400) &&
           tls_files_make("node", false, "ca", 86400) && tls_files_make("late", false, "ca", -60) &&
           tls_files_make("stranger", false, "other", 86400),
       "there are certificates");
    test_bytes(TLS1_3_VERSION);
    test_bytes(TLS1_2_VERSION);
    test_pieces();
    test_new_keys();
    test_slow_reader();
    test_refused();
    test_never_greets();
    test_resumed(TLS1_3_VERSION);
    test_resumed(TLS1_2_VERSION);
    OK(tls_files_remove(), "no other file was made");
    free(received);
    return tap_done();
}
