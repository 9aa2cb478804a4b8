/*
 * settings_reader: single values of the config: from text to number or name, or to the sentence
 * that names the mistake.
 *
 * The one idea: a path such as "listen.clients" is read within a map of the tree: the whole file,
 * or one entry of a list. Every function of the second half takes such a path, leaves the result
 * unchanged if the key is absent, and returns false after it has filled the reader's error. This
 * file does not know which keys the config has.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_READER_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_READER_H

#include "base/error.h"
#include "base/yaml_tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { READER_CHOICES_MAX = 4 };

struct settings_reader {
    const char *file;
    const struct yaml_tree *tree;
    const struct yaml_node *within; /* paths begin here */
    struct error *error;
};

/* ---- nodes of the file, and sentences about them ---- */

/* The node at `path`; NULL: the key is absent. "": the map of the reader itself. */
const struct yaml_node *reader_node(const struct settings_reader *reader, const char *path);
/* The value at `path`, terminated; NULL: the key is absent. */
const char *reader_text(const struct settings_reader *reader, const char *path);
/* The number of entries of the list at `path`; 0 if the key is absent. */
uint32_t reader_count(const struct settings_reader *reader, const char *path);
/* *entry reads within that entry of the list. False: the list has no such entry. */
bool reader_entry(const struct settings_reader *reader, const char *path, uint32_t index,
                  struct settings_reader *entry);

/*
 * "FILE:LINE: PATH is 'VALUE': expected ...". The line is the line of `path`, or of the nearest
 * node around it.
 */
bool reader_wrong(const struct settings_reader *reader, const char *path, const char *value, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));
/* "FILE:LINE: PATH is missing: expected ..." */
bool reader_missing(const struct settings_reader *reader, const char *path, const char *expected);
/* "FILE:LINE: PATH is ..." */
bool reader_is(const struct settings_reader *reader, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "FILE:LINE: ..." */
bool reader_fail(const struct settings_reader *reader, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- values ---- */

bool read_duration(const struct settings_reader *reader, const char *path, uint64_t least_ns, uint64_t most_ns,
                   uint64_t *ns);
/* "off" is 0. */
bool read_duration_or_off(const struct settings_reader *reader, const char *path, uint64_t least_ns,
                          uint64_t most_ns, uint64_t *ns);
bool read_size(const struct settings_reader *reader, const char *path, uint64_t least, uint64_t most,
               uint64_t *bytes);
bool read_count(const struct settings_reader *reader, const char *path, uint64_t least, uint64_t most,
                uint64_t *count);
bool read_small_count(const struct settings_reader *reader, const char *path, uint64_t least, uint64_t most,
                      uint32_t *count);

/* The names that a value may have, in the order of the enum. */
struct reader_choices {
    const char *expected; /* for sentences */
    const char *name[READER_CHOICES_MAX];
};
extern const struct reader_choices reader_booleans;
bool read_choice(const struct settings_reader *reader, const char *path, const struct reader_choices *choices,
                 unsigned *index);

/* At least one character, and fewer than `room`. */
bool read_text(const struct settings_reader *reader, const char *path, char *out, size_t room,
               const char *expected);
/*
 * Reads letters, digits, dot, dash and underscore; at most room - 1 of them. An absent name is a
 * mistake.
 */
bool read_name(const struct settings_reader *reader, const char *path, char *name, size_t room,
               const char *expected);
/* Reads "host:port", "[v6]:port" or "*:port" into `address` (room NODE_ADDRESS_BYTES). */
bool read_address(const struct settings_reader *reader, const char *path, char *address);
/* Reads a decimal above 0 and at most 1 in billionths. An absent weight is a mistake. */
bool read_weight(const struct settings_reader *reader, const char *path, uint64_t *billionths);

/* ---- addresses ---- */

/* Takes the texts that read_address takes. */
bool host_port_parse(const char *text, char *address);
/* The port of an address that host_port_parse has accepted. */
unsigned address_port(const char *address);
/* Writes the host of the address, with its brackets, to `host` (room NODE_ADDRESS_BYTES). */
void address_host(const char *address, char *host);
/* True for all interfaces: "*", "0.0.0.0", "[::]". */
bool host_is_wildcard(const char *host);

#endif
