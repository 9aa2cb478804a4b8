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

uint64_t tls_files_ends_s(const SSL_CTX *context)
{
    struct tm end = {0};
    const X509 *certificate = SSL_CTX_get0_certificate(context);
    if (certificate == NULL || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1)
        return 0;
    return (uint64_t)timegm(&end);
}
