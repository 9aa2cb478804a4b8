/*
 * json: writes JSON to a stream, value by value; this module alone places commas, names and
 * brackets.
 *
 * Bytes that are not printable ASCII are written as \u00XX, so that the output is valid whatever a
 * server sends. Fractions have nine digits. json_map writes what a daemon answered as it is, so that
 * a field which a newer daemon adds is shown. Does not read JSON.
 */
#ifndef HEADGATE_OPERATOR_JSON_H
#define HEADGATE_OPERATOR_JSON_H

#include "headgate/client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 10 }; /* the arrays of a reply (REPLY_DEPTH_MAX), and two around them */

struct json {
    FILE *out;
    char *draft; /* where `out` is the memory of json_draft */
    size_t draft_size;
    int depth;
    bool began[JSON_DEPTH_MAX + 1]; /* a value was written at this depth */
};

void json_init(struct json *json, FILE *out);
/* The same, and opens the outermost bracket. */
void json_begin(struct json *json, FILE *out, char bracket);
/* `name` must be NULL in arrays and at the top. */
void json_open(struct json *json, const char *name, char bracket);
/*
 * The same, into memory, for commands that may fail in the middle: beside the sentence of an error nothing is printed.
 * False: not enough memory; nothing is to be ended.
 */
bool json_draft(struct json *json, char bracket);
/* Ends the draft, and prints it if it is good. */
void json_end_draft(struct json *json, bool good);
/* Ends the line when it closes the outermost bracket. */
void json_close(struct json *json, char bracket);
void json_text(struct json *json, const char *name, const char *text, size_t size);
void json_string(struct json *json, const char *name, const char *text);
/* The same; an empty text is null. */
void json_optional(struct json *json, const char *name, const char *text);
void json_integer(struct json *json, const char *name, int64_t value);
void json_count(struct json *json, const char *name, uint64_t value);
void json_number(struct json *json, const char *name, double value);
void json_bool(struct json *json, const char *name, bool value);
void json_null(struct json *json, const char *name);

/* Names of flags and of fractions, which RESP2 sends as integers and texts. NULL ends each list; it may be NULL. */
struct json_types {
    const char *const *flags, *const *numbers;
};

/* A map of a reply: names and values in turn. A value that is an array is a list. `types` may be NULL. */
void json_map(struct json *json, const char *name, const struct headgate_reply *map,
              const struct json_types *types);
/* A list of maps, texts and integers. */
void json_list(struct json *json, const char *name, const struct headgate_reply *list,
               const struct json_types *types);

#endif
