#include "edge/central/central_tls.h"

#include "edge/library/client_tls.h"
#include "edge/process/openssl_reason.h"
#include "edge/process/tls_files.h"
#include "headgate/client.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

bool central_tls_check(const struct central_settings *settings, struct tls_fault *fault)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    bool good = context != NULL;
    ERR_clear_error();
    if (!good)
        (void)tls_fault_set(fault, "tls", "true", "memory for it");
    else if (settings->tls_ca[0] && SSL_CTX_load_verify_file(context, settings->tls_ca) != 1)
        good = tls_fault_set(fault, "tls_ca", settings->tls_ca, "a file of certificates in PEM (%s)",
                             openssl_reason());
    else if (settings->tls_certificate[0])
        good = tls_files_use(context, settings->tls_certificate, settings->tls_key, fault);
    if (!good && context != NULL && settings->tls_certificate[0] && fault->path != settings->tls_ca)
        fault->member = fault->path == settings->tls_key ? "tls_key" : "tls_certificate";
    SSL_CTX_free(context);
    ERR_clear_error();
    return good;
}

/* "" is no file. */
static const char *file_of(const char *path)
{
    return path[0] ? path : NULL;
}

struct client_tls *central_tls_create(const struct central_settings *settings)
{
    const struct headgate_client_options options = {.tls = true,
                                                    .tls_ca = file_of(settings->tls_ca),
                                                    .tls_certificate = file_of(settings->tls_certificate),
                                                    .tls_key = file_of(settings->tls_key),
                                                    .tls_name = file_of(settings->tls_name)};
    return client_tls_create(&options);
}
