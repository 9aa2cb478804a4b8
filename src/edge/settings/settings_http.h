/*
 * settings_http: the part of the config that is about HTTP: where it is served, and what its heads say.
 *
 * Each call takes the texts of the file, or writes them.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_HTTP_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_HTTP_H

#include "edge/settings/settings.h"
#include "edge/settings/settings_reader.h"

/* The values of listen.http, http.limit_headers and http.request_headers; NULL: not given. */
bool settings_read_http(const struct settings_reader *reader, struct settings *settings, const char *address,
                        const char *limit_headers, const char *request_headers);
const char *http_limit_fields_name(enum http_limit_fields fields);
/* As request_headers has them; room for SETTINGS_HEADERS_BYTES. */
void settings_print_sources(const struct http_settings *http, char *text);

#endif
