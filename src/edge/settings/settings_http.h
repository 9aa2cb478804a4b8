/*
 * settings_http: the part of the config that is about HTTP and gRPC: where they are served, and what heads say.
 *
 * settings_keys reads http.limit_headers, whose value stands for itself.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_HTTP_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_HTTP_H

#include "edge/settings/settings.h"
#include "edge/settings/settings_reader.h"

/* Reads listen.http, listen.grpc and http.request_headers; the other listen addresses must be known. */
bool settings_read_http(const struct settings_reader *reader, struct settings *settings);
/* Two addresses with one port are a mistake, even if their hosts differ: most hosts are all interfaces. */
bool settings_check_port(const struct settings_reader *reader, const struct settings *settings, const char *path,
                         const char *address);
/* As request_headers has them; room for SETTINGS_HEADERS_BYTES. */
void settings_print_sources(const struct http_settings *http, char *text);

#endif
