/*
 * Builds the tree from the events of libyaml, a bounded number of events per call. libyaml says
 * where it gave up; the sentences name the usual causes (no text at all, a tab that indents).
 */
#include "base/yaml_tree.h"

#include "base/array.h"
#include "base/units.h"
#include "base/yaml_json.h"
#include "base/yaml_text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <yaml.h>

enum { KEY_SHOWN_BYTES = 64, SENTENCE_BYTES = 320 };

struct yaml_reader {
    struct yaml_tree *tree;
    struct yaml_source source;
    char *joined; /* the text that is read in the place of the source's; NULL: there is none */
    yaml_parser_t parser;
    struct error *error;                /* where the current call stores its sentence */
    uint32_t open[YAML_TREE_DEPTH_MAX]; /* the open maps and lists around the next node */
    unsigned depth;
    bool has_key; /* `key` was read, and its value comes next */
    struct bytes key;
    unsigned key_line;
    unsigned documents;
};

__attribute__((format(printf, 3, 4))) static bool fail(struct yaml_reader *reader, unsigned line,
                                                       const char *format, ...)
{
    char sentence[SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return error_set(reader->error, reader->source.exit_status, "%s:%u: %s", reader->source.file, line, sentence);
}

/* ---- what libyaml cannot read ---- */

/* The parser has failed. */
static bool explain(struct yaml_reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    struct bytes text = reader->source.text;
    const char *problem = parser->problem ? parser->problem : "it cannot be read";
    if (parser->error == YAML_MEMORY_ERROR)
        return error_set(reader->error, EX_OSERR, "out of memory while reading %s", reader->source.file);
    if (parser->error == YAML_READER_ERROR)
        return fail(reader, yaml_text_line(text, parser->problem_offset),
                    "this is not text (%s at byte %zu): expected YAML in UTF-8", problem, parser->problem_offset);
    unsigned line = (unsigned)parser->problem_mark.line + 1;
    for (unsigned near = line; near >= 1 && near + 1 >= line; near--)
        if (yaml_text_has_tab(text, near))
            return fail(reader, near, "a tab is used for indentation: expected spaces");
    return fail(reader, line, "this is not YAML (%s, column %zu): expected `key: value`", problem,
                parser->problem_mark.column + 1);
}

/* ---- paths, for sentences ---- */

/* The map or list that is being read; there must be one. */
static struct yaml_node *parent(const struct yaml_reader *reader)
{
    return &reader->tree->nodes[reader->open[reader->depth - 1]];
}

static bool key_is_next(const struct yaml_reader *reader)
{
    return reader->depth > 0 && !reader->has_key && parent(reader)->kind == YAML_MAP;
}

static void append_index(char path[YAML_TREE_PATH_BYTES], unsigned index)
{
    (void)snprintf(path + strlen(path), YAML_TREE_PATH_BYTES - strlen(path), "[%u]", index);
}

/* Appends a key to a path: at most KEY_SHOWN_BYTES of it, in whole characters that a terminal can
 * show. What does not fit is left out. */
static void append_key(char path[YAML_TREE_PATH_BYTES], struct bytes key)
{
    size_t size = strlen(path), most = size + KEY_SHOWN_BYTES;
    if (size > 0 && size + 1 < YAML_TREE_PATH_BYTES)
        path[size++] = '.';
    while (key.size > 0) {
        struct bytes rest = key;
        const bool shown = yaml_text_take_printable(&rest);
        const size_t bytes = shown ? key.size - rest.size : 1;
        if (size + bytes > most || size + bytes >= YAML_TREE_PATH_BYTES)
            break;
        memcpy(path + size, shown ? key.data : "?", bytes);
        size += bytes;
        key = rest;
    }
    path[size] = '\0';
}

/* The path of the node that comes next: of the key that was read, or of the next in a list. */
static const char *next_path(const struct yaml_reader *reader, char path[YAML_TREE_PATH_BYTES])
{
    if (reader->depth == 0)
        return "the text";
    (void)yaml_path(reader->tree, parent(reader), path);
    if (reader->has_key)
        append_key(path, reader->key);
    else
        append_index(path, parent(reader)->count);
    return path;
}

/* ---- nodes ---- */

/* Copies a text of an event. An escape may make a text longer, but never four times as long. */
static bool keep(struct yaml_reader *reader, const yaml_event_t *event, unsigned line, struct bytes *kept)
{
    struct yaml_tree *tree = reader->tree;
    struct bytes text = {.data = (const char *)event->data.scalar.value, .size = event->data.scalar.length};
    char path[YAML_TREE_PATH_BYTES];
    if (reader->source.strict ? !yaml_text_is_printable(text) : memchr(text.data, '\0', text.size) != NULL)
        return fail(reader, line, "%s has a character that cannot be printed: expected plain text",
                    key_is_next(reader) ? "a key" : next_path(reader, path));
    if (text.size >= tree->texts_room - tree->texts_size)
        return fail(reader, line, "the text is too long");
    kept->data = tree->texts + tree->texts_size;
    kept->size = text.size;
    memcpy(tree->texts + tree->texts_size, text.data, text.size);
    tree->texts[tree->texts_size + text.size] = '\0';
    tree->texts_size += text.size + 1;
    return true;
}

static bool add(struct yaml_reader *reader, enum yaml_kind kind, unsigned line, struct bytes text)
{
    struct yaml_tree *tree = reader->tree;
    char most[UNITS_TEXT_BYTES];
    if (tree->count == reader->source.nodes_max)
        return fail(reader, line, "there are too many keys and values: expected at most %s",
                    units_format_count(most, sizeof most, reader->source.nodes_max));
    if (!ARRAY_RESERVE(tree->nodes, tree->room, tree->count + 1))
        return error_set(reader->error, EX_OSERR, "out of memory while reading %s", reader->source.file);
    struct yaml_node *node = &tree->nodes[tree->count++];
    /* An open map or list holds whatever comes. */
    *node = (struct yaml_node){.kind = kind,
                               .line = line,
                               .text = text,
                               .end = kind == YAML_TEXT ? tree->count : UINT32_MAX};
    if (reader->has_key) {
        node->key = reader->key;
        node->line = reader->key_line;
        reader->has_key = false;
    }
    if (reader->depth > 0)
        parent(reader)->count++;
    return true;
}

static bool begin(struct yaml_reader *reader, enum yaml_kind kind, unsigned line)
{
    if (key_is_next(reader))
        return fail(reader, line, "a key is itself a list or a map: expected a word");
    if (reader->depth == YAML_TREE_DEPTH_MAX)
        return fail(reader, line, "this is nested too deep: expected at most %d levels", YAML_TREE_DEPTH_MAX);
    if (!add(reader, kind, line, (struct bytes){"", 0}))
        return false;
    reader->open[reader->depth++] = reader->tree->count - 1;
    return true;
}

static void end(struct yaml_reader *reader)
{
    parent(reader)->end = reader->tree->count;
    reader->depth--;
}

/* Three digits, and then no digit. */
static bool is_rest(struct bytes key)
{
    size_t digits = 0;
    while (digits < key.size && key.data[digits] >= '0' && key.data[digits] <= '9')
        digits++;
    return digits == 3;
}

/* Compares a key with the few keys of the map that is being read. */
static bool key_is_new(struct yaml_reader *reader, unsigned line)
{
    const struct yaml_tree *tree = reader->tree;
    const struct yaml_node *map = parent(reader);
    char path[YAML_TREE_PATH_BYTES];
    if (map->count >= YAML_TREE_KEYS_MAX)
        return fail(reader, line, "a map has too many keys: expected at most %d", YAML_TREE_KEYS_MAX);
    uint32_t index = reader->open[reader->depth - 1] + 1;
    for (uint32_t i = 0; i < map->count; i++, index = tree->nodes[index].end)
        if (bytes_equal(tree->nodes[index].key, reader->key))
            return is_rest(reader->key)
                       ? fail(reader, line, "%s is given twice: expected " YAML_NUMBER_EXPECTED,
                              next_path(reader, path))
                       : fail(reader, line, "%s is given twice, first in line %u: expected it once",
                              next_path(reader, path), tree->nodes[index].line);
    return true;
}

/* YAML's and JSON's words for no value, not in quotes: as texts they would be secrets that anybody guesses. */
static bool is_null(const yaml_event_t *event, struct bytes text)
{
    static const char *const words[] = {"~", "null", "Null", "NULL"};
    bool is = false;
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            is |= bytes_equal(text, bytes_of(words[i]));
    return is;
}

static bool scalar(struct yaml_reader *reader, const yaml_event_t *event, unsigned line)
{
    struct bytes text = {"", 0};
    char path[YAML_TREE_PATH_BYTES];
    if (!keep(reader, event, line, &text))
        return false;
    if (!key_is_next(reader) && is_null(event, text)) {
        const char *field = next_path(reader, path);
        (void)fail(reader, line, "%s is null: expected a value, in quotes if it is that word, or no such line",
                   field);
        error_mark_field(reader->error, field);
        return false;
    }
    if (!key_is_next(reader))
        return add(reader, YAML_TEXT, line, text);
    reader->key = text;
    reader->key_line = line;
    reader->has_key = true;
    return key_is_new(reader, line);
}

static bool is_plain(struct yaml_reader *reader, unsigned line, const void *tag, const void *anchor)
{
    return !reader->source.strict || (!tag && !anchor) ||
           fail(reader, line, "a tag (!) or an anchor (&) is used: expected plain values");
}

static bool take(struct yaml_reader *reader, const yaml_event_t *event)
{
    unsigned line = (unsigned)event->start_mark.line + 1;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return is_plain(reader, line, event->data.scalar.tag, event->data.scalar.anchor) &&
               scalar(reader, event, line);
    case YAML_SEQUENCE_START_EVENT:
        return is_plain(reader, line, event->data.sequence_start.tag, event->data.sequence_start.anchor) &&
               begin(reader, YAML_LIST, line);
    case YAML_MAPPING_START_EVENT:
        return is_plain(reader, line, event->data.mapping_start.tag, event->data.mapping_start.anchor) &&
               begin(reader, YAML_MAP, line);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        end(reader);
        return true;
    case YAML_ALIAS_EVENT:
        return fail(reader, line, "an alias (*) is used: expected the value itself, in quotes if it begins with *");
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

/* ---- reading ---- */

/* Reads JSON as its own text says it. False: memory is short. */
static bool join_pairs(struct yaml_reader *reader)
{
    struct bytes *text = &reader->source.text;
    if (!yaml_json_has_pairs(*text))
        return true;
    reader->joined = malloc(text->size);
    const size_t size = reader->joined != NULL ? yaml_json_join_pairs(*text, reader->joined) : 0;
    if (size > 0)
        *text = (struct bytes){reader->joined, size};
    return reader->joined != NULL;
}

struct yaml_reader *yaml_reader_create(struct yaml_tree *tree, const struct yaml_source *source)
{
    struct yaml_reader *reader = calloc(1, sizeof *reader);
    *tree = (struct yaml_tree){.texts_room = source->text.size * 4 + 1};
    tree->texts = malloc(tree->texts_room);
    if (reader)
        reader->source = *source;
    if (!tree->texts || !reader || !join_pairs(reader) || !yaml_parser_initialize(&reader->parser)) {
        free(reader ? reader->joined : NULL);
        free(reader);
        return NULL;
    }
    struct bytes text = reader->source.text;
    reader->tree = tree;
    if (source->strict)
        yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader->parser, (const unsigned char *)(text.data ? text.data : ""), text.size);
    return reader;
}

void yaml_reader_destroy(struct yaml_reader **reader)
{
    if (*reader) {
        yaml_parser_delete(&(*reader)->parser);
        free((*reader)->joined);
    }
    free(*reader);
    *reader = NULL;
}

bool yaml_reader_go_on(struct yaml_reader *reader, unsigned events, bool *ended, struct error *error)
{
    bool good = true;
    reader->error = error;
    for (*ended = false; good && !*ended && events > 0; events--) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reader->parser, &event))
            return explain(reader);
        good = take(reader, &event);
        *ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    return good;
}

bool yaml_tree_read(struct yaml_tree *tree, const struct yaml_source *source, struct error *error)
{
    bool ended;
    struct yaml_reader *reader = yaml_reader_create(tree, source);
    bool good = reader ? yaml_reader_go_on(reader, UINT_MAX, &ended, error)
                       : error_set(error, EX_OSERR, "out of memory while reading %s", source->file);
    yaml_reader_destroy(&reader);
    return good;
}

void yaml_tree_close(struct yaml_tree *tree)
{
    free(tree->nodes);
    free(tree->texts);
    *tree = (struct yaml_tree){0};
}

/* ---- finding one's way ---- */

const struct yaml_node *yaml_first(const struct yaml_node *node)
{
    return node->count > 0 ? node + 1 : NULL;
}

const struct yaml_node *yaml_next(const struct yaml_tree *tree, const struct yaml_node *node,
                                  const struct yaml_node *child)
{
    return child->end < node->end ? &tree->nodes[child->end] : NULL;
}

bool yaml_is_rest_of_number(const struct yaml_node *node)
{
    return node->kind == YAML_TEXT && node->text.size == 0 && is_rest(node->key);
}

const char *yaml_path(const struct yaml_tree *tree, const struct yaml_node *node, char out[YAML_TREE_PATH_BYTES])
{
    const struct yaml_node *at = tree->nodes;
    const uint32_t target = (uint32_t)(node - tree->nodes);
    out[0] = '\0';
    while (at != node) {
        const bool is_list = at->kind == YAML_LIST;
        unsigned index = 0;
        for (at++; at->end <= target; at = &tree->nodes[at->end])
            index++;
        if (is_list)
            append_index(out, index);
        else
            append_key(out, at->key);
    }
    return out;
}
