#include "edge/library/client_tls.h"

#include "edge/process/openssl_reason.h"
#include "headgate/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct client_tls {
    SSL_CTX *context; /* NULL: the sentence says what is wrong with the options */
    BIO_METHOD *socket;
    SSL *ssl; /* NULL: no connection */
    int fd;   /* of the connection; the caller's */
    char *name;
    bool writes;
    char sentence[CLIENT_TLS_SENTENCE_BYTES];
};

/* ---- the socket: libraries must raise no SIGPIPE ---- */

static int fd_of(BIO *bio)
{
    const struct client_tls *tls = BIO_get_data(bio);
    return tls->fd;
}

static int finish(BIO *bio, ssize_t done, int retry)
{
    BIO_clear_retry_flags(bio);
    if (done < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
    return (int)done;
}

static int write_socket(BIO *bio, const char *data, int size)
{
    return finish(bio, send(fd_of(bio), data, (size_t)size, MSG_NOSIGNAL), BIO_FLAGS_WRITE);
}

static int read_socket(BIO *bio, char *data, int room)
{
    return finish(bio, recv(fd_of(bio), data, (size_t)room, 0), BIO_FLAGS_READ);
}

static long control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *make_socket(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "headgate client");
    if (method != NULL &&
        (BIO_meth_set_write(method, write_socket) != 1 || BIO_meth_set_read(method, read_socket) != 1 ||
         BIO_meth_set_ctrl(method, control) != 1)) {
        BIO_meth_free(method);
        return NULL;
    }
    return method;
}

/* ---- sentences ---- */

__attribute__((format(printf, 2, 3))) static bool fail(struct client_tls *tls, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(tls->sentence, sizeof tls->sentence, format, arguments);
    va_end(arguments);
    ERR_clear_error();
    return false;
}

/* ---- files ---- */

static bool read_files(struct client_tls *tls, const struct headgate_client_options *options)
{
    if (options->tls_ca == NULL && SSL_CTX_set_default_verify_paths(tls->context) != 1)
        return fail(tls, "the system's authorities cannot be read: %s", openssl_reason());
    if (options->tls_ca != NULL && SSL_CTX_load_verify_file(tls->context, options->tls_ca) != 1)
        return fail(tls, "%.90s: expected a file of certificates in PEM (%s)", options->tls_ca, openssl_reason());
    if ((options->tls_certificate == NULL) != (options->tls_key == NULL))
        return fail(tls, "a certificate and its key belong together: expected both, or neither");
    if (options->tls_certificate == NULL)
        return true;
    if (SSL_CTX_use_certificate_chain_file(tls->context, options->tls_certificate) != 1)
        return fail(tls, "%.90s: expected a file of certificates in PEM (%s)", options->tls_certificate,
                    openssl_reason());
    if (SSL_CTX_use_PrivateKey_file(tls->context, options->tls_key, SSL_FILETYPE_PEM) != 1)
        return fail(tls, "%.90s: expected a file with the certificate's key in PEM (%s)", options->tls_key,
                    openssl_reason());
    return true;
}

static bool set_up(struct client_tls *tls, const struct headgate_client_options *options)
{
    tls->context = SSL_CTX_new(TLS_client_method());
    if (tls->context == NULL)
        return fail(tls, "not enough memory for TLS");
    SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
    (void)SSL_CTX_set_mode(tls->context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                             SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_options(tls->context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    return SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION) == 1 && read_files(tls, options);
}

struct client_tls *client_tls_create(const struct headgate_client_options *options)
{
    struct client_tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL)
        return NULL;
    ERR_clear_error();
    tls->socket = make_socket();
    tls->name = options->tls_name != NULL ? strdup(options->tls_name) : NULL;
    if (tls->socket == NULL || (options->tls_name != NULL && tls->name == NULL)) {
        client_tls_destroy(&tls);
        return NULL;
    }
    if (!set_up(tls, options)) {
        SSL_CTX_free(tls->context);
        tls->context = NULL;
    }
    return tls;
}

struct client_tls *client_tls_create_like(const struct client_tls *first)
{
    struct client_tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL)
        return NULL;
    tls->socket = make_socket();
    tls->name = first->name != NULL ? strdup(first->name) : NULL;
    if (first->context != NULL && SSL_CTX_up_ref(first->context) == 1)
        tls->context = first->context;
    memcpy(tls->sentence, first->sentence, sizeof tls->sentence);
    if (tls->socket == NULL || (first->name != NULL && tls->name == NULL))
        client_tls_destroy(&tls);
    return tls;
}

void client_tls_destroy(struct client_tls **tls)
{
    if (*tls == NULL)
        return;
    client_tls_end(*tls);
    SSL_CTX_free((*tls)->context);
    BIO_meth_free((*tls)->socket);
    free((*tls)->name);
    free(*tls);
    *tls = NULL;
}

/* ---- a connection ---- */

static bool is_address(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* The name, or the address, that the daemon's certificate must have. */
static bool expect_name(SSL *ssl, const char *name)
{
    if (is_address(name))
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    void *copied; /* OpenSSL copies the name, though its call drops the const */
    memcpy(&copied, &name, sizeof copied);
    return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, copied) == 1 &&
           SSL_set1_host(ssl, name) == 1;
}

bool client_tls_begin(struct client_tls *tls, int fd, const char *host)
{
    if (tls->context == NULL)
        return false;
    client_tls_end(tls);
    tls->ssl = SSL_new(tls->context);
    BIO *bio = tls->ssl != NULL ? BIO_new(tls->socket) : NULL;
    if (bio == NULL || !expect_name(tls->ssl, tls->name != NULL ? tls->name : host)) {
        BIO_free(bio);
        client_tls_end(tls);
        return fail(tls, "not enough memory for TLS");
    }
    tls->fd = fd;
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_connect_state(tls->ssl);
    tls->writes = true;
    return true;
}

void client_tls_end(struct client_tls *tls)
{
    SSL_free(tls->ssl);
    tls->ssl = NULL;
    tls->writes = false;
}

/* Sets errno for a call that did nothing. */
static ssize_t stopped(struct client_tls *tls, int done)
{
    const int system_error = errno, error = SSL_get_error(tls->ssl, done);
    const long verified = SSL_get_verify_result(tls->ssl);
    tls->writes = error == SSL_ERROR_WANT_WRITE;
    errno = EAGAIN;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return -1;
    errno = EPROTO;
    if (error == SSL_ERROR_ZERO_RETURN && SSL_is_init_finished(tls->ssl))
        return 0;
    if (verified != X509_V_OK)
        (void)fail(tls, "its certificate is refused: %s", X509_verify_cert_error_string(verified));
    else if (error == SSL_ERROR_SSL)
        (void)fail(tls, "TLS has failed: %s", openssl_reason());
    else if (!SSL_is_init_finished(tls->ssl))
        (void)fail(tls, "it ended before TLS began%s%s", system_error != 0 ? ": " : "",
                   system_error != 0 ? strerror(system_error) : "");
    else
        errno = system_error;
    ERR_clear_error();
    return errno == 0 ? 0 : -1;
}

enum client_tls_status client_tls_greet(struct client_tls *tls)
{
    ERR_clear_error();
    errno = 0;
    tls->writes = false;
    const int done = SSL_do_handshake(tls->ssl);
    if (done == 1)
        return CLIENT_TLS_DONE;
    return stopped(tls, done) < 0 && errno == EAGAIN ? CLIENT_TLS_AGAIN : CLIENT_TLS_FAILED;
}

ssize_t client_tls_send(struct client_tls *tls, const char *data, size_t size)
{
    ERR_clear_error();
    errno = 0;
    tls->writes = false;
    const int done = SSL_write(tls->ssl, data, size < INT_MAX ? (int)size : INT_MAX);
    return done > 0 ? done : stopped(tls, done);
}

ssize_t client_tls_receive(struct client_tls *tls, char *data, size_t room)
{
    ERR_clear_error();
    errno = 0;
    tls->writes = false;
    const int done = SSL_read(tls->ssl, data, room < INT_MAX ? (int)room : INT_MAX);
    return done > 0 ? done : stopped(tls, done);
}

bool client_tls_holds(const struct client_tls *tls)
{
    return tls->ssl != NULL && SSL_has_pending(tls->ssl) == 1;
}

bool client_tls_writes(const struct client_tls *tls)
{
    return tls->writes;
}

const char *client_tls_sentence(const struct client_tls *tls)
{
    return tls->sentence;
}
