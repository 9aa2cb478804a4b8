/*
 * settings_reader: single values of the config: text to number or name, or the sentence that says why not.
 *
 * Every function takes the key's path and its text (NULL: the key is absent, the result keeps its default),
 * and returns false after filling the reader's error.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_READER_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_READER_H

#include "base/error.h"
#include "edge/settings/settings_outline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct settings_reader {
    const char *file;
    const struct outline *outline;
    struct error *error;
};

/* "FILE:LINE: PATH is 'VALUE': expected ..." */
bool reader_wrong(const struct settings_reader *reader, const char *path, const char *value, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));
/* "FILE:LINE: PATH is missing: expected ..." */
bool reader_missing(const struct settings_reader *reader, const char *path, const char *expected);
/* "FILE:LINE: ..." */
bool reader_fail(const struct settings_reader *reader, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

bool read_duration(const struct settings_reader *reader, const char *path, const char *text, uint64_t least_ns,
                   uint64_t most_ns, uint64_t *ns);
bool read_size(const struct settings_reader *reader, const char *path, const char *text, uint64_t least,
               uint64_t most, uint64_t *bytes);
bool read_count(const struct settings_reader *reader, const char *path, const char *text, uint64_t least,
                uint64_t most, uint64_t *count);
bool read_bool(const struct settings_reader *reader, const char *path, const char *text, bool *value);
/* Letters, digits, dot, dash, underscore; at most room - 1 of them. An absent name is missing. */
bool read_name(const struct settings_reader *reader, const char *path, const char *text, char *name, size_t room,
               const char *expected);
/* "host:port", "[v6]:port", "*:port" into `address` (room NODE_ADDRESS_BYTES). */
bool read_address(const struct settings_reader *reader, const char *path, const char *text, char *address);
/* A decimal above 0 and at most 1, into billionths. An absent one is missing. */
bool read_weight(const struct settings_reader *reader, const char *path, const char *text, uint64_t *billionths);

/* The port of an address that read_address took. */
unsigned address_port(const char *address);
/* Its host, brackets included, into `host` (room NODE_ADDRESS_BYTES). */
void address_host(const char *address, char *host);
/* All interfaces: "*", "0.0.0.0", "[::]". */
bool host_is_wildcard(const char *host);

#endif
