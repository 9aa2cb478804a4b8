#include "edge/settings/settings_outline.h"

#include "base/yaml_fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <yaml.h>

/* One mapping or list that is being read. */
struct level {
    char path[OUTLINE_PATH_BYTES];
    bool is_list;
    bool has_key; /* of a mapping: the next node is its value */
    size_t key_line;
    unsigned next; /* of a list: the index of the next entry */
};

struct outline_reader {
    struct outline *outline;
    const char *file;
    struct error *error;
    struct level levels[OUTLINE_DEPTH_MAX];
    size_t depth;
    char key[OUTLINE_PATH_BYTES]; /* path of the mapping's value that comes next */
    unsigned documents;
};

static bool fail(struct outline_reader *reader, size_t line, const char *what)
{
    return error_set(reader->error, EX_CONFIG, "%s:%zu: %s", reader->file, line, what);
}

/* Appends to a path, cutting what does not fit. */
static void join(char path[OUTLINE_PATH_BYTES], const char *base, const char *separator, const char *name,
                 size_t size)
{
    char joined[OUTLINE_PATH_BYTES];
    if (snprintf(joined, sizeof joined, "%s%s%.*s", base, separator, (int)(size < 255 ? size : 255), name) < 0)
        joined[0] = '\0';
    memcpy(path, joined, sizeof joined);
}

/* The path of the node that comes now, a value or the beginning of a mapping or list; *line becomes its key's. */
static void place(struct outline_reader *reader, char path[OUTLINE_PATH_BYTES], size_t *line)
{
    path[0] = '\0';
    if (reader->depth == 0)
        return;
    struct level *level = &reader->levels[reader->depth - 1];
    if (level->is_list) {
        char index[24];
        int size = snprintf(index, sizeof index, "[%u]", level->next++);
        join(path, level->path, "", index, (size_t)size);
    } else {
        memcpy(path, reader->key, OUTLINE_PATH_BYTES);
        level->has_key = false;
        *line = level->key_line;
    }
}

static bool add(struct outline_reader *reader, const char *path, size_t line, enum outline_kind kind)
{
    struct outline *outline = reader->outline;
    if (outline->count == OUTLINE_NODES_MAX)
        return fail(reader, line, "there are too many keys and values: expected at most 4096");
    struct outline_node *node = &outline->nodes[outline->count++];
    memcpy(node->path, path, OUTLINE_PATH_BYTES);
    node->line = (unsigned)line;
    node->kind = kind;
    return true;
}

static bool begin(struct outline_reader *reader, size_t line, bool is_list)
{
    char path[OUTLINE_PATH_BYTES];
    place(reader, path, &line);
    if (!add(reader, path, line, is_list ? OUTLINE_LIST : OUTLINE_MAP))
        return false;
    if (reader->depth == OUTLINE_DEPTH_MAX)
        return fail(reader, line, "this is nested too deep: expected at most 8 levels");
    struct level *level = &reader->levels[reader->depth++];
    memset(level, 0, sizeof *level);
    memcpy(level->path, path, sizeof path);
    level->is_list = is_list;
    return true;
}

static bool scalar(struct outline_reader *reader, const yaml_event_t *event, size_t line)
{
    struct level *level = reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;
    if (level && !level->is_list && !level->has_key) {
        const char *name = (const char *)event->data.scalar.value;
        join(reader->key, level->path, level->path[0] ? "." : "", name, event->data.scalar.length);
        level->has_key = true;
        level->key_line = line;
        return true;
    }
    char path[OUTLINE_PATH_BYTES];
    place(reader, path, &line);
    return add(reader, path, line, OUTLINE_VALUE);
}

/* A key that is itself a mapping or a list would put the levels out of step. */
static bool key_is_missing(const struct outline_reader *reader)
{
    const struct level *level = reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;
    return level && !level->is_list && !level->has_key;
}

static bool take(struct outline_reader *reader, const yaml_event_t *event)
{
    size_t line = event->start_mark.line + 1;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return scalar(reader, event, line);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        if (key_is_missing(reader))
            return fail(reader, line, "a key is itself a list or a mapping: expected a word");
        return begin(reader, line, event->type == YAML_SEQUENCE_START_EVENT);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        reader->depth--;
        return true;
    case YAML_ALIAS_EVENT:
        return fail(reader, line, "an alias (*) is used: expected the value itself");
    case YAML_DOCUMENT_START_EVENT:
        if (++reader->documents > 1)
            return fail(reader, line, "a second document (---) begins: expected one");
        return true;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return true;
    }
    return true;
}

bool outline_read(struct outline *outline, struct bytes text, const char *file, struct error *error)
{
    struct outline_reader reader = {.outline = outline, .file = file, .error = error};
    yaml_parser_t parser;
    outline->count = 0;
    outline->nodes = calloc(OUTLINE_NODES_MAX, sizeof *outline->nodes);
    if (!outline->nodes || !yaml_parser_initialize(&parser))
        return error_set(error, EX_OSERR, "out of memory while reading %s", file);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.size);
    bool good = true, ended = false;
    while (good && !ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            good = yaml_fault(&parser, text, file, EX_CONFIG, error);
            break;
        }
        good = take(&reader, &event);
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return good;
}

void outline_close(struct outline *outline)
{
    free(outline->nodes);
    outline->nodes = NULL;
    outline->count = 0;
}

const struct outline_node *outline_find(const struct outline *outline, const char *path)
{
    for (size_t i = 0; i < outline->count; i++)
        if (strncmp(outline->nodes[i].path, path, OUTLINE_PATH_BYTES - 1) == 0)
            return &outline->nodes[i];
    return NULL;
}

unsigned outline_last_line(const struct outline *outline, const char *path)
{
    for (size_t i = outline->count; i-- > 0;)
        if (strncmp(outline->nodes[i].path, path, OUTLINE_PATH_BYTES - 1) == 0)
            return outline->nodes[i].line;
    return outline_line(outline, path);
}

unsigned outline_line(const struct outline *outline, const char *path)
{
    char shorter[OUTLINE_PATH_BYTES];
    join(shorter, "", "", path, strlen(path));
    while (shorter[0]) {
        const struct outline_node *node = outline_find(outline, shorter);
        if (node)
            return node->line;
        char *last = shorter + strlen(shorter);
        while (last > shorter && *last != '.' && *last != '[')
            last--;
        *last = '\0';
    }
    return outline->count > 0 ? outline->nodes[0].line : 1;
}
