#include "edge/clients/stream_tls.h"

#include "edge/clients/stream.h"
#include "edge/clients/tls.h"
#include "edge/process/pool.h"
#include "wire/output.h"

#include <assert.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

enum {
    RECORD_HANDSHAKE = 22, /* the first byte that a client of TLS sends */
    /* New keys, or attempts to negotiate anew: a client may ask for so many, and for one more with so many bytes. */
    HANDSHAKES_MAX = 16,
    HANDSHAKE_BYTES = 64 << 10,
};

_Static_assert((int)STREAM_TLS_PLAIN_MAX_BYTES + (int)STREAM_TLS_ADDED_BYTES <= (int)POOL_LARGE_BYTES,
               "what a reader has not taken fits into a buffer");

/* ---- how OpenSSL reads and writes ---- */

static bool looks_like_tls(struct stream *stream, const char *data)
{
    if (!stream->heard && data[0] != RECORD_HANDSHAKE)
        stream->greeting = STREAM_NOT_TLS;
    stream->heard = true;
    return stream->greeting != STREAM_NOT_TLS;
}

static bool has_said_too_much(const struct stream *stream)
{
    return stream->handshakes > HANDSHAKES_MAX + stream->plain_bytes / HANDSHAKE_BYTES;
}

/*
 * OpenSSL reads on behind records that have nothing for its caller. Each of them takes as long as many requests, and
 * nobody counts that as work. So few are taken: then OpenSSL takes the stream for ended, and looks at no other record.
 * Version 1.3 hides the kind of a record in what is sealed.
 */
static void on_message(int written, int version, int type, const void *data, size_t size, SSL *ssl, void *context)
{
    struct stream *stream = context;
    (void)version;
    if (written || stream->greeting != STREAM_READY || size == 0 ||
        (type != SSL3_RT_HEADER && type != SSL3_RT_INNER_CONTENT_TYPE))
        return;
    stream->handshakes += *(const unsigned char *)data == RECORD_HANDSHAKE;
    if (has_said_too_much(stream))
        SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);
}

static int on_read(BIO *bio, char *data, int room)
{
    struct stream *stream = BIO_get_data(bio);
    ssize_t size;
    BIO_clear_retry_flags(bio);
    if (room <= 0)
        return 0;
    do
        size = recv(stream->fd, data, (size_t)room, MSG_DONTWAIT);
    while (size < 0 && errno == EINTR);
    if (size < 0 && errno == EAGAIN)
        BIO_set_retry_read(bio);
    return size > 0 && !looks_like_tls(stream, data) ? -1 : (int)size;
}

static int on_write(BIO *bio, const char *data, int size)
{
    struct stream *stream = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (size <= 0 || !output_has_room(stream->sealed, (size_t)size))
        return -1;
    output_append(stream->sealed, data, (size_t)size);
    return size;
}

static long on_control(BIO *bio, int what, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return what == BIO_CTRL_FLUSH;
}

static int on_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

BIO_METHOD *stream_tls_transport(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "headgate stream");
    if (method != NULL) {
        (void)BIO_meth_set_read(method, on_read);
        (void)BIO_meth_set_write(method, on_write);
        (void)BIO_meth_set_ctrl(method, on_control);
        (void)BIO_meth_set_create(method, on_create);
    }
    return method;
}

bool stream_tls_begin(struct stream *stream, struct tls *tls, const char *alpn)
{
    SSL *ssl = tls_new_session(tls, alpn);
    BIO *bio = BIO_new(tls_transport(tls));
    if (ssl == NULL || bio == NULL) {
        SSL_free(ssl);
        (void)BIO_free(bio);
        ERR_clear_error();
        return false;
    }
    BIO_set_data(bio, stream);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_accept_state(ssl);
    SSL_set_msg_callback(ssl, on_message);
    (void)SSL_set_msg_callback_arg(ssl, stream);
    stream->tls = ssl;
    stream->greeting = STREAM_GREETS;
    return true;
}

/* ---- bytes ---- */

/*
 * Sends what OpenSSL has written. *rest: what the system did not take; it stands in the shared memory until the next
 * call for any stream. False: the stream is broken.
 */
static bool send_sealed(struct stream *stream, struct bytes *rest)
{
    struct output *sealed = stream->sealed;
    *rest = (struct bytes){sealed->data, sealed->size};
    sealed->size = 0;
    if (rest->size == 0)
        return true;
    const ssize_t sent = stream_send(stream, rest->data, rest->size);
    if (sent < 0)
        return false;
    *rest = (struct bytes){rest->data + sent, rest->size - (size_t)sent};
    return true;
}

/*
 * The handshake and the answers to messages of TLS itself are short, and are written only while nothing is owed: a
 * client whose socket has no room for them takes nothing of what it asked for.
 */
static bool send_all(struct stream *stream)
{
    struct bytes rest;
    return send_sealed(stream, &rest) && rest.size == 0;
}

/* The stream can be neither read nor written any more. */
static ssize_t fail(struct stream *stream)
{
    if (stream->greeting == STREAM_GREETS)
        stream->greeting = STREAM_REFUSED;
    stream->is_over = stream->is_broken = true;
    ERR_clear_error();
    return -1;
}

/* 1: it is done; 0: the other side has to go on; less than 0: the stream has ended. */
static ssize_t greet(struct stream *stream)
{
    ERR_clear_error();
    const int done = SSL_do_handshake(stream->tls);
    const bool waits = done != 1 && SSL_get_error(stream->tls, done) == SSL_ERROR_WANT_READ;
    const bool told = send_all(stream); /* or the reason why it has failed */
    if (!told || (done != 1 && !waits))
        return fail(stream);
    if (done == 1) {
        stream->greeting = STREAM_READY;
        stream->resumed = SSL_session_reused(stream->tls) == 1;
    }
    return done == 1;
}

/* Reads until `room` is full or nothing is there: what OpenSSL holds, the loop does not tell of. */
ssize_t stream_tls_read(struct stream *stream, char *data, size_t room)
{
    size_t size = 0;
    stream->holds = false;
    if (stream->is_over)
        return -1;
    const ssize_t greeted = stream->greeting == STREAM_READY ? 1 : greet(stream);
    if (greeted <= 0)
        return greeted;
    ERR_clear_error();
    while (size < room && !stream->is_over) {
        size_t some = 0;
        const int got = SSL_read_ex(stream->tls, data + size, room - size, &some);
        size += some;
        stream->plain_bytes += some;
        if (got == 1)
            continue;
        const int error = SSL_get_error(stream->tls, got);
        if (error == SSL_ERROR_WANT_READ)
            break;
        stream->is_over = true; /* what came before is served */
        stream->is_broken = error != SSL_ERROR_ZERO_RETURN;
    }
    if (!send_all(stream))
        return fail(stream);
    ERR_clear_error();
    stream->holds = size > 0 && (size == room || stream->is_over);
    return size > 0 ? (ssize_t)size : stream->is_over ? -1 : 0;
}

bool stream_tls_write(struct stream *stream, const char *data, size_t size, struct bytes *rest)
{
    size_t sealed = 0;
    assert(size <= STREAM_TLS_PLAIN_MAX_BYTES);
    if (stream->greeting != STREAM_READY || stream->is_broken)
        return false;
    *rest = (struct bytes){0};
    if (size == 0)
        return true;
    ERR_clear_error();
    const int done = SSL_write_ex(stream->tls, data, size, &sealed);
    if (done == 1 && sealed == size && send_sealed(stream, rest))
        return true;
    stream->sealed->size = 0;
    (void)fail(stream);
    return false;
}

/* ---- the end ---- */

void stream_tls_shut(struct stream *stream)
{
    if (stream->greeting != STREAM_READY || stream->is_broken || stream_rest_bytes(stream) > 0)
        return;
    ERR_clear_error();
    if (SSL_get_shutdown(stream->tls) & SSL_SENT_SHUTDOWN)
        return;
    (void)SSL_shutdown(stream->tls);
    (void)send_all(stream);
    ERR_clear_error();
}

void stream_tls_end(struct stream *stream)
{
    stream_tls_shut(stream);
    SSL_free(stream->tls);
    stream->tls = NULL;
    stream->is_over = stream->is_broken = true;
}
