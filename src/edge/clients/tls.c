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
    struct tls_span span;
    struct tls_renewals renewals;
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

/* Looking certificates up changes the order of those that are trusted. */
static bool same(const STACK_OF(X509) * a, const STACK_OF(X509) * b)
{
    bool same = sk_X509_num(a) == sk_X509_num(b);
    for (int i = 0; i < sk_X509_num(a) && same; i++) {
        same = false;
        for (int k = 0; k < sk_X509_num(b) && !same; k++)
            same = X509_cmp(sk_X509_value(a, i), sk_X509_value(b, k)) == 0;
    }
    return same;
}

static bool shows_others(SSL_CTX *a, SSL_CTX *b)
{
    STACK_OF(X509) *a_chain = NULL, *b_chain = NULL;
    (void)SSL_CTX_get0_chain_certs(a, &a_chain);
    (void)SSL_CTX_get0_chain_certs(b, &b_chain);
    return X509_cmp(SSL_CTX_get0_certificate(a), SSL_CTX_get0_certificate(b)) != 0 || !same(a_chain, b_chain);
}

static bool trusts_others(const SSL_CTX *a, const SSL_CTX *b)
{
    STACK_OF(X509) *of_a = X509_STORE_get1_all_certs(SSL_CTX_get_cert_store(a));
    STACK_OF(X509) *of_b = X509_STORE_get1_all_certs(SSL_CTX_get_cert_store(b));
    const bool trusts = !same(of_a, of_b);
    sk_X509_pop_free(of_a, X509_free);
    sk_X509_pop_free(of_b, X509_free);
    return trusts;
}

bool tls_reload(struct tls *tls, const struct tls_files *files, struct tls_fault *fault)
{
    SSL_CTX *context = make_context(files, fault), *old;
    if (context == NULL)
        return false;
    uv_mutex_lock(&tls->mutex);
    old = tls->context;
    tls->context = context;
    tls->span = tls_files_span(context);
    tls->renewals.certificate += old != NULL && shows_others(old, context);
    tls->renewals.client_ca += old != NULL && trusts_others(old, context);
    uv_mutex_unlock(&tls->mutex);
    SSL_CTX_free(old);
    return true;
}

struct tls_renewals tls_renewals(struct tls *tls)
{
    uv_mutex_lock(&tls->mutex);
    const struct tls_renewals renewals = tls->renewals;
    uv_mutex_unlock(&tls->mutex);
    return renewals;
}

struct tls_span tls_span(struct tls *tls)
{
    uv_mutex_lock(&tls->mutex);
    const struct tls_span span = tls->span;
    uv_mutex_unlock(&tls->mutex);
    return span;
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
