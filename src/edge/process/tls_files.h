/*
 * tls_files: the certificate of this daemon and its key, as files name them, for clients and for peers.
 *
 * The one idea: a file that is wrong is told as the end of a sentence about the key of the config that names it.
 * This file knows neither ports nor whom certificates are shown to.
 */
#ifndef HEADGATE_EDGE_PROCESS_TLS_FILES_H
#define HEADGATE_EDGE_PROCESS_TLS_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct ssl_ctx_st;
struct x509_st;

enum { TLS_EXPECTED_BYTES = 256 };

/* Which file is wrong, and what was expected of it, as the end of a sentence. */
struct tls_fault {
    const char *member; /* the last part of the config's key, as "certificate" */
    const char *path;
    char expected[TLS_EXPECTED_BYTES];
};

/* Must be called before all other calls of OpenSSL: it stays usable by threads while the process ends. */
void tls_prepare(void);

/* What OpenSSL is to ask for the password of a key: there is no terminal, so nothing has one. */
int tls_no_password(char *buffer, int size, int writes, void *context);

/* Fills in the fault, and forgets what OpenSSL has said. Returns false. */
bool tls_fault_set(struct tls_fault *fault, const char *member, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Uses both files, in PEM. False: one of them is wrong, or others may read the key. */
bool tls_files_use(struct ssl_ctx_st *context, const char *certificate, const char *key, struct tls_fault *fault);

/* When several certificates are all good, in seconds since 1970: from the last beginning to the first end. */
struct tls_span {
    uint64_t begins_s, ends_s; /* 0: of no certificate */
};

/* Of the certificate of the context, and those between it and the root. */
struct tls_span tls_files_span(struct ssl_ctx_st *context);
void tls_span_narrow(struct tls_span *span, const struct x509_st *certificate);

#endif
