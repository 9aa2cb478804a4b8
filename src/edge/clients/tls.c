#include "edge/clients/tls.h"

#include "edge/clients/stream_tls.h"
#include "edge/process/openssl_reason.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <uv.h>

enum { TICKET_S = 3600 };

struct tls {
    BIO_METHOD *transport;
    uv_mutex_t mutex; /* covers the rest */
    SSL_CTX *context;
    uint64_t ends_s;
};

/* ---- files ---- */

__attribute__((format(printf, 4, 5))) static bool fail(struct tls_fault *fault, const char *member,
                                                       const char *path, const char *format, ...)
{
    va_list arguments;
    fault->member = member;
    fault->path = path;
    va_start(arguments, format);
    (void)vsnprintf(fault->expected, sizeof fault->expected, format, arguments);
    va_end(arguments);
    ERR_clear_error();
    return false;
}

/* The daemon has no terminal to ask for the password of a key. */
static int no_password(char *buffer, int size, int writes, void *context)
{
    (void)writes, (void)context;
    if (size > 0)
        buffer[0] = '\0';
    return -1;
}

static bool use_certificate(SSL_CTX *context, const struct tls_files *files, struct tls_fault *fault)
{
    return SSL_CTX_use_certificate_chain_file(context, files->certificate) == 1 ||
           fail(fault, "certificate", files->certificate, "a file of certificates in PEM, the daemon's first (%s)",
                openssl_reason());
}

/* Whoever can read the key can be the daemon. */
static bool check_mode(const struct tls_files *files, struct tls_fault *fault)
{
    struct stat status;
    if (stat(files->key, &status) != 0)
        return fail(fault, "key", files->key, "a file with a private key in PEM (%s)", strerror(errno));
    if ((status.st_mode & S_IRWXO) != 0)
        return fail(fault, "key", files->key, "a file that others cannot read, such as mode 600 (it has %03o)",
                    (unsigned)(status.st_mode & 0777));
    return true;
}

static bool use_key(SSL_CTX *context, const struct tls_files *files, struct tls_fault *fault)
{
    if (!check_mode(files, fault))
        return false;
    if (SSL_CTX_use_PrivateKey_file(context, files->key, SSL_FILETYPE_PEM) == 1)
        return true;
    if (ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH)
        return fail(fault, "key", files->key, "the key of the certificate %s", files->certificate);
    return fail(fault, "key", files->key, "a file with a private key in PEM, without a password (%s)",
                openssl_reason());
}

static bool use_client_ca(SSL_CTX *context, const struct tls_files *files, struct tls_fault *fault)
{
    if (files->client_ca[0] == '\0')
        return true;
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(files->client_ca);
    if (names == NULL || SSL_CTX_load_verify_file(context, files->client_ca) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return fail(fault, "client_ca", files->client_ca, "a file of certificates in PEM (%s)", openssl_reason());
    }
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return true;
}

static uint64_t end_of(SSL_CTX *context)
{
    struct tm end = {0};
    const X509 *certificate = SSL_CTX_get0_certificate(context);
    if (certificate == NULL || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1)
        return 0;
    return (uint64_t)timegm(&end);
}

/* ---- the context ---- */

static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *chosen_size,
                           const unsigned char *offered, unsigned offered_size, void *context)
{
    const char *spoken = SSL_get_app_data(ssl);
    unsigned char *found;
    (void)context;
    if (spoken == NULL)
        return SSL_TLSEXT_ERR_NOACK;
    if (SSL_select_next_proto(&found, chosen_size, (const unsigned char *)spoken, (unsigned)strlen(spoken), offered,
                              offered_size) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

static bool set_up(SSL_CTX *context)
{
    static const unsigned char name[] = "headgate";
    (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                           SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                           SSL_OP_PRIORITIZE_CHACHA);
    (void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* Clients keep their sessions in tickets; the daemon keeps none. */
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_timeout(context, TICKET_S);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_passwd_cb(context, no_password);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 &&
           SSL_CTX_set_session_id_context(context, name, sizeof name - 1) == 1 &&
           SSL_CTX_set_num_tickets(context, 1) == 1;
}

static SSL_CTX *make_context(const struct tls_files *files, struct tls_fault *fault)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    ERR_clear_error();
    bool good = context != NULL && set_up(context);
    if (!good)
        (void)fail(fault, "certificate", files->certificate, "OpenSSL to have memory (%s)", openssl_reason());
    good = good && use_certificate(context, files, fault) && use_key(context, files, fault) &&
           use_client_ca(context, files, fault);
    if (good)
        return context;
    SSL_CTX_free(context);
    return NULL;
}

/* ---- calls ---- */

struct tls *tls_create(const struct tls_files *files, struct tls_fault *fault)
{
    struct tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL || uv_mutex_init(&tls->mutex) != 0) {
        free(tls);
        (void)fail(fault, "certificate", files->certificate, "more memory");
        return NULL;
    }
    tls->transport = stream_tls_transport();
    if (tls->transport == NULL)
        (void)fail(fault, "certificate", files->certificate, "more memory");
    if (tls->transport == NULL || !tls_reload(tls, files, fault))
        tls_destroy(&tls);
    return tls;
}

void tls_destroy(struct tls **tls)
{
    if (*tls == NULL)
        return;
    SSL_CTX_free((*tls)->context);
    BIO_meth_free((*tls)->transport);
    uv_mutex_destroy(&(*tls)->mutex);
    free(*tls);
    *tls = NULL;
}

bool tls_reload(struct tls *tls, const struct tls_files *files, struct tls_fault *fault)
{
    SSL_CTX *context = make_context(files, fault), *old;
    if (context == NULL)
        return false;
    uv_mutex_lock(&tls->mutex);
    old = tls->context;
    tls->context = context;
    tls->ends_s = end_of(context);
    uv_mutex_unlock(&tls->mutex);
    SSL_CTX_free(old);
    return true;
}

uint64_t tls_ends_s(struct tls *tls)
{
    uv_mutex_lock(&tls->mutex);
    const uint64_t ends_s = tls->ends_s;
    uv_mutex_unlock(&tls->mutex);
    return ends_s;
}

struct ssl_st *tls_new_session(struct tls *tls, const char *alpn)
{
    uv_mutex_lock(&tls->mutex);
    SSL *ssl = SSL_new(tls->context); /* keeps the context alive */
    uv_mutex_unlock(&tls->mutex);
    void *spoken; /* which OpenSSL does not change, though its call drops the const */
    memcpy(&spoken, &alpn, sizeof spoken);
    if (ssl != NULL)
        (void)SSL_set_app_data(ssl, spoken);
    return ssl;
}

const struct bio_method_st *tls_transport(const struct tls *tls)
{
    return tls->transport;
}
