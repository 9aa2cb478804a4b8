/*
 * json: writes JSON to a stream, piece by piece; commas and braces are counted here and nowhere else.
 *
 * Bytes that are not ASCII or not printable are written as \u00XX, so that the output is valid whatever a
 * server sends. Fractions have nine digits.
 */
#ifndef HEADGATE_OPERATOR_JSON_H
#define HEADGATE_OPERATOR_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 8 };

struct json {
    FILE *out;
    int depth;
    bool began[JSON_DEPTH_MAX + 1]; /* something was written at this depth */
};

void json_init(struct json *json, FILE *out);
/* `name` is NULL in arrays and at the top. */
void json_open(struct json *json, const char *name, char bracket);
/* Ends the line when it closes the outermost. */
void json_close(struct json *json, char bracket);
void json_text(struct json *json, const char *name, const char *text, size_t size);
void json_string(struct json *json, const char *name, const char *text);
void json_integer(struct json *json, const char *name, int64_t value);
void json_count(struct json *json, const char *name, uint64_t value);
void json_number(struct json *json, const char *name, double value);
void json_bool(struct json *json, const char *name, bool value);
void json_null(struct json *json, const char *name);

#endif
