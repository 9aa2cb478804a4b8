#include "edge/peers/transport_tls.h"

#include "edge/process/openssl_reason.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { DIGEST_BYTES = 32 };

struct transport_tls {
    atomic_uint holders;
    SSL_CTX *dials, *accepts;
    struct tls_span span;               /* of its certificate, with all up to the root */
    unsigned char digest[DIGEST_BYTES]; /* of all that was read */
};

/* ---- names ---- */

static void add_name(const ASN1_STRING *name, char names[TRANSPORT_NAMES_BYTES])
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    const size_t used = strlen(names), size = (size_t)ASN1_STRING_length(name), comma = used > 0;
    char *to = names + used;
    if (size == 0 || used + comma + size >= TRANSPORT_NAMES_BYTES)
        return;
    if (comma)
        *to++ = ',';
    memcpy(to, ASN1_STRING_get0_data(name), size);
    to[size] = '\0';
    if (strspn(to, allowed) != size)
        names[used] = '\0';
}

void transport_tls_names(const X509 *certificate, char names[TRANSPORT_NAMES_BYTES])
{
    GENERAL_NAMES *all = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    const X509_NAME *subject = X509_get_subject_name(certificate);
    names[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(all); i++) {
        const GENERAL_NAME *one = sk_GENERAL_NAME_value(all, i);
        if (one->type == GEN_DNS)
            add_name(one->d.dNSName, names);
    }
    for (int at = -1; all == NULL && (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;)
        add_name(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)), names);
    GENERAL_NAMES_free(all);
}

bool transport_tls_is(const char *names, const char *name)
{
    const size_t size = strlen(name);
    for (const char *at = names; *at && size > 0; at += strspn(at, ",")) {
        const size_t length = strcspn(at, ",");
        if (length == size && memcmp(at, name, size) == 0)
            return true;
        at += length;
    }
    return false;
}

/* ---- files ---- */

/* Dates are left out: of a certificate that has ended the log tells. `span` becomes that of all up to the root. */
static bool is_signed(SSL_CTX *context, int purpose, struct tls_span *span)
{
    STACK_OF(X509) *chain = NULL;
    X509_STORE_CTX *check = X509_STORE_CTX_new();
    (void)SSL_CTX_get0_chain_certs(context, &chain);
    bool good = check != NULL && X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(context),
                                                     SSL_CTX_get0_certificate(context), chain) == 1;
    if (good) {
        X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(check), X509_V_FLAG_NO_CHECK_TIME);
        (void)X509_STORE_CTX_set_purpose(check, purpose);
        good = X509_verify_cert(check) == 1;
    }
    for (int i = 0; good && i < sk_X509_num(X509_STORE_CTX_get0_chain(check)); i++)
        tls_span_narrow(span, sk_X509_value(X509_STORE_CTX_get0_chain(check), i));
    X509_STORE_CTX_free(check);
    return good;
}

static bool check_own(SSL_CTX *context, const struct transport_tls_files *files, const char *name,
                      struct tls_span *span, struct tls_fault *fault)
{
    char names[TRANSPORT_NAMES_BYTES];
    if (!is_signed(context, X509_PURPOSE_SSL_SERVER, span) || !is_signed(context, X509_PURPOSE_SSL_CLIENT, span))
        return tls_fault_set(fault, "certificate", files->certificate,
                             "a certificate that an authority in %s has signed, for servers and for clients",
                             files->ca);
    transport_tls_names(SSL_CTX_get0_certificate(context), names);
    if (transport_tls_is(names, name))
        return true;
    return tls_fault_set(fault, "certificate", files->certificate,
                         "a certificate for %s, as this node is called, such as headgate certs %s makes", name,
                         name);
}

static bool put_all(BIO *out, const STACK_OF(X509) * certificates)
{
    bool good = true;
    for (int i = 0; i < sk_X509_num(certificates) && good; i++)
        good = i2d_X509_bio(out, sk_X509_value(certificates, i)) == 1;
    return good;
}

/* The key needs no place in it: the certificate has its other half. */
static bool digest(struct transport_tls *tls)
{
    STACK_OF(X509) *chain = NULL, *authorities = X509_STORE_get1_all_certs(SSL_CTX_get_cert_store(tls->dials));
    BIO *out = BIO_new(BIO_s_mem());
    char *data = NULL;
    (void)SSL_CTX_get0_chain_certs(tls->dials, &chain);
    const bool good = out != NULL && authorities != NULL && put_all(out, authorities) && put_all(out, chain) &&
                      i2d_X509_bio(out, SSL_CTX_get0_certificate(tls->dials)) == 1 &&
                      EVP_Digest((BIO_get_mem_data(out, &data), data), (size_t)BIO_get_mem_data(out, &data),
                                 tls->digest, NULL, EVP_sha256(), NULL) == 1;
    BIO_free(out);
    sk_X509_pop_free(authorities, X509_free);
    return good;
}

/* NULL: `fault` is set. */
static SSL_CTX *make_context(const SSL_METHOD *method, const struct transport_tls_files *files,
                             struct tls_fault *fault)
{
    SSL_CTX *context = SSL_CTX_new(method);
    bool good = context != NULL && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
                SSL_CTX_set_num_tickets(context, 0) == 1;
    if (!good) {
        (void)tls_fault_set(fault, "certificate", files->certificate, "OpenSSL to have memory (%s)",
                            openssl_reason());
    } else if (SSL_CTX_load_verify_file(context, files->ca) != 1) {
        good = tls_fault_set(fault, "ca", files->ca, "a file of certificates in PEM (%s)", openssl_reason());
    } else {
        (void)SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                            SSL_MODE_RELEASE_BUFFERS);
        (void)SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
        (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
        good = tls_files_use(context, files->certificate, files->key, fault);
    }
    if (good)
        return context;
    SSL_CTX_free(context);
    return NULL;
}

struct transport_tls *transport_tls_create(const struct transport_tls_files *files, const char *name,
                                           struct tls_fault *fault)
{
    struct transport_tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL) {
        (void)tls_fault_set(fault, "certificate", files->certificate, "more memory");
        return NULL;
    }
    ERR_clear_error();
    atomic_init(&tls->holders, 1);
    tls->dials = make_context(TLS_client_method(), files, fault);
    tls->accepts = tls->dials != NULL ? make_context(TLS_server_method(), files, fault) : NULL;
    bool good = tls->accepts != NULL && check_own(tls->dials, files, name, &tls->span, fault);
    if (good && !digest(tls))
        good = tls_fault_set(fault, "certificate", files->certificate, "more memory");
    if (!good) {
        transport_tls_release(&tls);
        return NULL;
    }
    SSL_CTX_set_verify(tls->accepts, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return tls;
}

struct transport_tls *transport_tls_hold(struct transport_tls *tls)
{
    if (tls != NULL)
        (void)atomic_fetch_add(&tls->holders, 1);
    return tls;
}

void transport_tls_release(struct transport_tls **tls)
{
    struct transport_tls *released = *tls;
    *tls = NULL;
    if (released == NULL || atomic_fetch_sub(&released->holders, 1) > 1)
        return;
    SSL_CTX_free(released->dials);
    SSL_CTX_free(released->accepts);
    free(released);
}

/* ---- calls ---- */

bool transport_tls_same(const struct transport_tls *a, const struct transport_tls *b)
{
    return memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}

struct tls_span transport_tls_span(const struct transport_tls *tls)
{
    return tls->span;
}

struct ssl_st *transport_tls_dials(const struct transport_tls *tls)
{
    SSL *ssl = SSL_new(tls->dials);
    if (ssl != NULL)
        SSL_set_connect_state(ssl);
    return ssl;
}

struct ssl_st *transport_tls_accepts(const struct transport_tls *tls)
{
    SSL *ssl = SSL_new(tls->accepts);
    if (ssl != NULL)
        SSL_set_accept_state(ssl);
    return ssl;
}
