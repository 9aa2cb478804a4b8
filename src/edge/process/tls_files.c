#include "edge/process/tls_files.h"

#include "edge/process/openssl_reason.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

void tls_prepare(void)
{
    (void)OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
}

bool tls_fault_set(struct tls_fault *fault, const char *member, const char *path, const char *format, ...)
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

int tls_no_password(char *buffer, int size, int writes, void *context)
{
    (void)writes, (void)context;
    if (size > 0)
        buffer[0] = '\0';
    return -1;
}

/* Whoever can read the key can be the daemon. */
static bool check_mode(const char *key, struct tls_fault *fault)
{
    struct stat status;
    if (stat(key, &status) != 0)
        return tls_fault_set(fault, "key", key, "a file with a private key in PEM (%s)", strerror(errno));
    if ((status.st_mode & S_IRWXO) != 0)
        return tls_fault_set(fault, "key", key, "a file that others cannot read, such as mode 600 (it has %03o)",
                             (unsigned)(status.st_mode & 0777));
    return true;
}

static bool use_key(SSL_CTX *context, const char *certificate, const char *key, struct tls_fault *fault)
{
    if (!check_mode(key, fault))
        return false;
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1)
        return true;
    if (ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH)
        return tls_fault_set(fault, "key", key, "the key of the certificate %s", certificate);
    return tls_fault_set(fault, "key", key, "a file with a private key in PEM, without a password (%s)",
                         openssl_reason());
}

bool tls_files_use(SSL_CTX *context, const char *certificate, const char *key, struct tls_fault *fault)
{
    SSL_CTX_set_default_passwd_cb(context, tls_no_password);
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1)
        return tls_fault_set(fault, "certificate", certificate,
                             "a file of certificates in PEM, the daemon's first (%s)", openssl_reason());
    return use_key(context, certificate, key, fault);
}

/* A time before 1970 is its beginning. */
static uint64_t seconds(const ASN1_TIME *time)
{
    struct tm read = {0};
    const time_t s = ASN1_TIME_to_tm(time, &read) == 1 ? timegm(&read) : 0;
    return s > 0 ? (uint64_t)s : 0;
}

void tls_span_narrow(struct tls_span *span, const X509 *certificate)
{
    const uint64_t begins_s = seconds(X509_get0_notBefore(certificate));
    const uint64_t ends_s = seconds(X509_get0_notAfter(certificate));
    if (begins_s > span->begins_s)
        span->begins_s = begins_s;
    if (span->ends_s == 0 || ends_s < span->ends_s)
        span->ends_s = ends_s;
}

struct tls_span tls_files_span(SSL_CTX *context)
{
    struct tls_span span = {0};
    STACK_OF(X509) *chain = NULL;
    const X509 *certificate = SSL_CTX_get0_certificate(context);
    if (certificate != NULL)
        tls_span_narrow(&span, certificate);
    (void)SSL_CTX_get0_chain_certs(context, &chain);
    for (int i = 0; i < sk_X509_num(chain); i++)
        tls_span_narrow(&span, sk_X509_value(chain, i));
    return span;
}
