/*
 * central_tls: the files of TLS to the central store, read and found good before the daemon starts.
 *
 * The one idea: a mistake in a file is the operator's, so it is told as other mistakes of the config are, and not when
 * the store is first asked.
 */
#ifndef HEADGATE_EDGE_CENTRAL_CENTRAL_TLS_H
#define HEADGATE_EDGE_CENTRAL_CENTRAL_TLS_H

#include "edge/settings/central_settings.h"

#include <stdbool.h>

struct client_tls;
struct tls_fault;

/* False: a file is wrong, as the fault says. */
bool central_tls_check(const struct central_settings *settings, struct tls_fault *fault);

/* Fills in the digest of the files, so that settings which name the same files can be told apart. */
void central_tls_digest(struct central_settings *settings);

/* For one connection after the other. NULL: memory is short. */
struct client_tls *central_tls_create(const struct central_settings *settings);

#endif
