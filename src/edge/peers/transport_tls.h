/*
 * transport_tls: what this daemon shows to its peers over TLS, and whom it takes for a peer.
 *
 * The one idea: both sides demand a certificate of the cluster's authority, and learn whose it is by the
 * names that stand in it. One of these never changes: new files make a new one. It knows nothing of
 * connections: transport_contact.h dials with it, and transport_tunnel.h carries bytes.
 */
#ifndef HEADGATE_EDGE_PEERS_TRANSPORT_TLS_H
#define HEADGATE_EDGE_PEERS_TRANSPORT_TLS_H

#include "edge/process/tls_files.h"

#include <stdbool.h>
#include <stdint.h>

struct transport_tls;
struct ssl_st;
struct x509_st;

enum { TRANSPORT_NAMES_BYTES = 256 };

/* Paths of files in PEM. */
struct transport_tls_files {
    const char *ca;          /* the authorities that sign peers, and nobody else */
    const char *certificate; /* this daemon's, and those between it and the authority */
    const char *key;
};

/*
 * NULL: a file is wrong, or the certificate is none that peers take from the member `name`, and
 * `fault` says which. A certificate that has ended is taken. The caller is the first holder.
 */
struct transport_tls *transport_tls_create(const struct transport_tls_files *files, const char *name,
                                           struct tls_fault *fault);
/* Adds a holder. Any thread may call this and the next function. NULL is nobody's. */
struct transport_tls *transport_tls_hold(struct transport_tls *tls);
void transport_tls_release(struct transport_tls **tls);

/* True: both show and take the same. */
bool transport_tls_same(const struct transport_tls *a, const struct transport_tls *b);
/* When the own certificate ends, in seconds since 1970. */
struct tls_span transport_tls_span(const struct transport_tls *tls);

/*
 * The state of a connection of OpenSSL that was dialled. Whoever answers is not refused: the caller must
 * look at SSL_get_verify_result and at the names. The caller must SSL_free it. NULL: no memory.
 */
struct ssl_st *transport_tls_dials(const struct transport_tls *tls);
/* The same of one that was accepted; without a certificate of the authority the handshake fails. */
struct ssl_st *transport_tls_accepts(const struct transport_tls *tls);

/*
 * The names that a certificate is for (DNS names, else its common name), between commas; what does not
 * fit, or has a character that no member's name has, is left out.
 */
void transport_tls_names(const struct x509_st *certificate, char names[TRANSPORT_NAMES_BYTES]);
/* True: `name` is one of them. */
bool transport_tls_is(const char *names, const char *name);

#endif
