/*
 * tls: what the daemon shows to clients that speak TLS: its certificate and key, and the authority that
 * certificates of clients must come from.
 *
 * The one idea: all ports of all threads share one of these, so that a session that began in one thread is
 * resumed in any other. The files can be read again while clients are served: connections that are there
 * keep what they began with. What TLS does to the bytes of a connection is in stream_tls.h.
 */
#ifndef HEADGATE_EDGE_CLIENTS_TLS_H
#define HEADGATE_EDGE_CLIENTS_TLS_H

#include "edge/process/tls_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tls;
struct ssl_st;
struct bio_method_st;

/* Paths of files in PEM. */
struct tls_files {
    const char *certificate; /* the certificate of the daemon, and those between it and the root */
    const char *key;
    const char *client_ca; /* "": clients need no certificate */
};

/* NULL: a file is wrong, and `fault` says which. */
struct tls *tls_create(const struct tls_files *files, struct tls_fault *fault);
void tls_destroy(struct tls **tls);

/* Reads the files anew. False: nothing has changed, and `fault` says which file is wrong. Any thread may call this. */
bool tls_reload(struct tls *tls, const struct tls_files *files, struct tls_fault *fault);

/* How often tls_reload has found other certificates in a file than before. */
struct tls_renewals {
    uint64_t certificate, client_ca;
};
/* Any thread may call this. */
struct tls_renewals tls_renewals(struct tls *tls);

/* When the certificate of the daemon is good, with those between it and the root. Any thread may call this. */
struct tls_span tls_span(struct tls *tls);

/*
 * The state of one connection, as the side that is called. `alpn`: as of struct service, must outlive it. NULL: no
 * memory. The caller must SSL_free it.
 */
struct ssl_st *tls_new_session(struct tls *tls, const char *alpn);
/* See stream_tls_transport. */
const struct bio_method_st *tls_transport(const struct tls *tls);

#endif
