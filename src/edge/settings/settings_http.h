/*
 * settings_http: the part of the config that is about HTTP: where it is served, and what its heads say.
 *
 * settings_keys reads http.limit_headers, whose value stands for itself.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_HTTP_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_HTTP_H

#include "edge/settings/settings.h"
#include "edge/settings/settings_reader.h"

/* Reads listen.http and http.request_headers; the other listen addresses must be known. */
bool settings_read_http(const struct settings_reader *reader, struct settings *settings);
/* As request_headers has them; room for SETTINGS_HEADERS_BYTES. */
void settings_print_sources(const struct http_settings *http, char *text);

#endif
