/*
 * Writes JSON. `began` says at each depth whether a comma must come first.
 */
#include "operator/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static void write_text(FILE *out, const char *text, size_t size)
{
    fputc('"', out);
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (byte == '\n')
            fputs("\\n", out);
        else if (byte < 0x20 || byte >= 0x7f)
            fprintf(out, "\\u%04x", byte);
        else
            fputc(byte, out);
    }
    fputc('"', out);
}

static void begin(struct json *json, const char *name)
{
    if (json->began[json->depth])
        fputc(',', json->out);
    json->began[json->depth] = true;
    if (name) {
        write_text(json->out, name, strlen(name));
        fputc(':', json->out);
    }
}

void json_init(struct json *json, FILE *out)
{
    *json = (struct json){.out = out};
}

void json_open(struct json *json, const char *name, char bracket)
{
    begin(json, name);
    fputc(bracket, json->out);
    assert(json->depth < JSON_DEPTH_MAX);
    json->began[++json->depth] = false;
}

void json_begin(struct json *json, FILE *out, char bracket)
{
    json_init(json, out);
    json_open(json, NULL, bracket);
}

void json_close(struct json *json, char bracket)
{
    assert(json->depth > 0);
    json->depth--;
    fputc(bracket, json->out);
    if (json->depth == 0)
        fputc('\n', json->out);
}

void json_text(struct json *json, const char *name, const char *text, size_t size)
{
    begin(json, name);
    write_text(json->out, text, size);
}

void json_string(struct json *json, const char *name, const char *text)
{
    json_text(json, name, text, strlen(text));
}

void json_optional(struct json *json, const char *name, const char *text)
{
    if (text[0] != '\0')
        json_string(json, name, text);
    else
        json_null(json, name);
}

void json_integer(struct json *json, const char *name, int64_t value)
{
    begin(json, name);
    fprintf(json->out, "%" PRId64, value);
}

void json_count(struct json *json, const char *name, uint64_t value)
{
    begin(json, name);
    fprintf(json->out, "%" PRIu64, value);
}

void json_number(struct json *json, const char *name, double value)
{
    begin(json, name);
    if (isfinite(value))
        fprintf(json->out, "%.9g", value);
    else
        fputs("null", json->out);
}

void json_bool(struct json *json, const char *name, bool value)
{
    begin(json, name);
    fputs(value ? "true" : "false", json->out);
}

void json_null(struct json *json, const char *name)
{
    begin(json, name);
    fputs("null", json->out);
}
