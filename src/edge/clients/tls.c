#include "edge/clients/tls.h"

#include "edge/clients/stream_tls.h"
#include "edge/process/openssl_reason.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { TICKET_S = 3600 };

struct tls {
    BIO_METHOD *transport;
    uv_mutex_t mutex; /* covers the rest */
    SSL_CTX *context;
    uint64_t ends_s, renewals;
};

/* ---- files ---- */

static bool use_client_ca(SSL_CTX *context, const struct tls_files *files, struct tls_fault *fault)
{
    if (files->client_ca[0] == '\0')
        return true;
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(files->client_ca);
    if (names == NULL || SSL_CTX_load_verify_file(context, files->client_ca) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return tls_fault_set(fault, "client_ca", files->client_ca, "a file of certificates in PEM (%s)",
                             openssl_reason());
    }
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return true;
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
        (void)tls_fault_set(fault, "certificate", files->certificate, "OpenSSL to have memory (%s)",
                            openssl_reason());
    good = good && tls_files_use(context, files->certificate, files->key, fault) &&
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
        (void)tls_fault_set(fault, "certificate", files->certificate, "more memory");
        return NULL;
    }
    tls->transport = stream_tls_transport();
    if (tls->transport == NULL)
        (void)tls_fault_set(fault, "certificate", files->certificate, "more memory");
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

static bool shows_another(const SSL_CTX *a, const SSL_CTX *b)
{
    return a != NULL && X509_cmp(SSL_CTX_get0_certificate(a), SSL_CTX_get0_certificate(b)) != 0;
}

bool tls_reload(struct tls *tls, const struct tls_files *files, struct tls_fault *fault)
{
    SSL_CTX *context = make_context(files, fault), *old;
    if (context == NULL)
        return false;
    uv_mutex_lock(&tls->mutex);
    old = tls->context;
    tls->context = context;
    tls->ends_s = tls_files_ends_s(context);
    tls->renewals += shows_another(old, context);
    uv_mutex_unlock(&tls->mutex);
    SSL_CTX_free(old);
    return true;
}

uint64_t tls_renewals(struct tls *tls)
{
    uv_mutex_lock(&tls->mutex);
    const uint64_t renewals = tls->renewals;
    uv_mutex_unlock(&tls->mutex);
    return renewals;
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
