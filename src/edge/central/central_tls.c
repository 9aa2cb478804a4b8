#include "edge/central/central_tls.h"

#include "edge/library/client_tls.h"
#include "edge/process/openssl_reason.h"
#include "edge/process/tls_files.h"
#include "headgate/client.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sodium.h>
#include <stdio.h>

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

void central_tls_digest(struct central_settings *settings)
{
    const char *const paths[] = {settings->tls_ca, settings->tls_certificate, settings->tls_key};
    crypto_generichash_state state;
    (void)crypto_generichash_init(&state, NULL, 0, sizeof settings->tls_digest);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        unsigned char bytes[4096];
        FILE *file = paths[i][0] != '\0' ? fopen(paths[i], "rb") : NULL;
        for (size_t size; file != NULL && (size = fread(bytes, 1, sizeof bytes, file)) > 0;)
            (void)crypto_generichash_update(&state, bytes, size);
        (void)crypto_generichash_update(&state, (const unsigned char *)"",
                                        1); /* where one ends and the next begins */
        if (file != NULL)
            (void)fclose(file);
        sodium_memzero(bytes, sizeof bytes);
    }
    (void)crypto_generichash_final(&state, settings->tls_digest, sizeof settings->tls_digest);
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
