/*
 * Writes JSON. `began` says at each depth whether a comma must come first.
 */
#include "operator/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
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

bool json_draft(struct json *json, char bracket)
{
    json_init(json, NULL);
    json->out = open_memstream(&json->draft, &json->draft_size);
    if (json->out)
        json_open(json, NULL, bracket);
    return json->out;
}

void json_end_draft(struct json *json, bool good)
{
    (void)fclose(json->out);
    if (good && json->draft)
        (void)fwrite(json->draft, 1, json->draft_size, stdout);
    free(json->draft);
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

/* ---- replies of daemons ---- */

static bool is_among(const char *name, const char *const *names)
{
    while (names && *names && strcmp(*names, name) != 0)
        names++;
    return names && *names;
}

static void json_value(struct json *json, const char *name, const struct headgate_reply *value,
                       const struct json_types *types)
{
    if (value->kind == HEADGATE_REPLY_ARRAY)
        json_list(json, name, value, types);
    else if (value->kind == HEADGATE_REPLY_INTEGER && types && name && is_among(name, types->flags))
        json_bool(json, name, value->integer != 0);
    else if (value->kind == HEADGATE_REPLY_INTEGER)
        json_integer(json, name, value->integer);
    else if (value->kind == HEADGATE_REPLY_TEXT && types && name && is_among(name, types->numbers))
        json_number(json, name, strtod(value->text, NULL));
    else if (value->kind == HEADGATE_REPLY_TEXT)
        json_text(json, name, value->text, value->size);
    else
        json_null(json, name);
}

void json_map(struct json *json, const char *name, const struct headgate_reply *map, const struct json_types *types)
{
    json_open(json, name, '{');
    for (uint32_t i = 0; i + 1 < map->count; i += 2) {
        const struct headgate_reply *key = headgate_reply_at(map, i);
        if (key->kind == HEADGATE_REPLY_TEXT)
            json_value(json, key->text, headgate_reply_at(map, i + 1), types);
    }
    json_close(json, '}');
}

void json_list(struct json *json, const char *name, const struct headgate_reply *list,
               const struct json_types *types)
{
    json_open(json, name, '[');
    for (uint32_t i = 0; i < list->count; i++) {
        const struct headgate_reply *element = headgate_reply_at(list, i);
        if (element->kind == HEADGATE_REPLY_ARRAY)
            json_map(json, NULL, element, types);
        else
            json_value(json, NULL, element, types);
    }
    json_close(json, ']');
}
