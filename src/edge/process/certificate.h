/*
 * certificate: makes keys and certificates, and writes them into files that only their owner can read.
 *
 * The one idea: an authority of one's own signs what daemons and clients show to each other. Keys are of the curve
 * P-256. A file that is there is never written over. This file makes certificates; edge/clients/tls.h uses them.
 */
#ifndef HEADGATE_EDGE_PROCESS_CERTIFICATE_H
#define HEADGATE_EDGE_PROCESS_CERTIFICATE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CERTIFICATE_NAME_MAX = 64, CERTIFICATE_HOSTS_MAX = 16 };

/* The files of a certificate and its key. */
struct certificate_files {
    const char *certificate, *key;
};

struct certificate_options {
    const char *name; /* at most CERTIFICATE_NAME_MAX bytes */
    /* names and addresses by which others connect to its owner; NULL behind the last one. NULL: an authority */
    const char *const *hosts;
    int64_t begins_s, ends_s; /* from now */
    struct certificate_files to;
    struct certificate_files signer; /* members NULL: it signs itself */
};

/* A name, of which the first part may be "*", or an address; neither has a port. */
bool certificate_is_host(const char *host);
/* False: `error` says which file, name or host is wrong, or is there already; then nothing was written. */
bool certificate_make(const struct certificate_options *options, struct error *error);

#endif
