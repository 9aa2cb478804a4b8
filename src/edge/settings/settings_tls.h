/*
 * settings_tls: the part of the config that is about TLS: the ports that speak it, and the files of the certificate.
 *
 * The one idea: a port speaks TLS or does not, and each service may have one of either kind. The text of the config
 * is checked without a look at the files; settings_tls_open reads them.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_TLS_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_TLS_H

#include "edge/settings/settings.h"
#include "edge/settings/settings_reader.h"

struct tls;

/* Reads the ports and `tls`; the other listen addresses must be known. */
bool settings_read_tls(const struct settings_reader *reader, struct settings *settings);

/* True: some port speaks TLS. */
bool settings_has_tls(const struct settings *settings);

/*
 * Reads the files into *tls: what was there serves on if a file is wrong. `file` is the config's name in the sentence
 * about a mistake.
 */
bool settings_tls_open(const struct settings *settings, const char *file, struct tls **tls, struct error *error);

#endif
