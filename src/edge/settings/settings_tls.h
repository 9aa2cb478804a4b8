/*
 * settings_tls: the part of the config that is about TLS: the ports that speak it, and the files of the certificates.
 *
 * The one idea: a port speaks TLS or does not, and each service may have one of either kind; peers speak it with all
 * or with none. The text of the config is checked without a look at the files; settings_tls_open and
 * settings_peers_tls_open read them.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_TLS_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_TLS_H

#include "edge/settings/settings.h"
#include "edge/settings/settings_reader.h"

struct tls;
struct transport_tls;

/* Reads the ports, `tls` and `peers_tls`; the other listen addresses must be known. */
bool settings_read_tls(const struct settings_reader *reader, struct settings *settings);

/* True: some port of clients speaks TLS. */
bool settings_has_tls(const struct settings *settings);
/* True: peers speak TLS. */
bool settings_has_peers_tls(const struct settings *settings);

/*
 * Reads the files into *tls: what was there serves on if a file is wrong. `file` is the config's name in the sentence
 * about a mistake.
 */
bool settings_tls_open(const struct settings *settings, const char *file, struct tls **tls, struct error *error);

/* The same of `peers_tls`, into a new one; the caller must release it. */
bool settings_peers_tls_open(const struct settings *settings, const char *file, struct transport_tls **tls,
                             struct error *error);

#endif
