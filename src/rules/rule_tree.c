/*
 * Builds the tree from the events of libyaml, a bounded number of events per call.
 */
#include "rules/rule_tree.h"

#include "base/yaml_fault.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <yaml.h>

struct tree_reader {
    struct rule_tree *tree;
    const char *file;
    struct bytes text;
    yaml_parser_t parser;
    struct error *error;                /* where the current call stores its sentence */
    uint32_t open[RULE_TREE_DEPTH_MAX]; /* the open maps and lists around the next node */
    unsigned depth;
    bool has_key; /* `key` was read, and its value comes next */
    struct bytes key;
    unsigned key_line;
    unsigned documents;
};

static bool fail(struct tree_reader *reader, unsigned line, const char *what)
{
    return error_set(reader->error, EX_DATAERR, "%s:%u: %s", reader->file, line, what);
}

/* ---- texts ---- */

/* Removes the first character from a text in UTF-8, which libyaml has checked, and returns the
 * character. */
static uint32_t take_character(struct bytes *text)
{
    unsigned char first = (unsigned char)text->data[0];
    size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t character = size == 1 ? first : first & (0x7fu >> size);
    for (size_t i = 1; i < size && i < text->size; i++)
        character = character << 6 | ((unsigned char)text->data[i] & 0x3fu);
    size = size < text->size ? size : text->size;
    text->data += size;
    text->size -= size;
    return character;
}

/* False for characters that an escape such as "\0" or "\u2028" can produce, and that would not be
 * read back when written as themselves. */
static bool is_printable(struct bytes text)
{
    while (text.size > 0) {
        uint32_t c = take_character(&text);
        if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe ||
            c == 0xffff)
            return false;
    }
    return true;
}

/* Copies a text of an event. An escape may make a text longer, but never four times as long. */
static bool keep(struct tree_reader *reader, const yaml_event_t *event, unsigned line, struct bytes *kept)
{
    struct rule_tree *tree = reader->tree;
    struct bytes text = {.data = (const char *)event->data.scalar.value, .size = event->data.scalar.length};
    if (!is_printable(text))
        return fail(reader, line, "a text has a character that cannot be printed: expected plain text");
    if (text.size >= tree->texts_room - tree->texts_size)
        return fail(reader, line, "the text is too long");
    kept->data = tree->texts + tree->texts_size;
    kept->size = text.size;
    memcpy(tree->texts + tree->texts_size, text.data, text.size);
    tree->texts[tree->texts_size + text.size] = '\0';
    tree->texts_size += text.size + 1;
    return true;
}

/* ---- nodes ---- */

static bool key_is_next(const struct tree_reader *reader)
{
    return reader->depth > 0 && !reader->has_key &&
           reader->tree->nodes[reader->open[reader->depth - 1]].kind == RULE_NODE_MAP;
}

static bool add(struct tree_reader *reader, enum rule_node_kind kind, unsigned line, struct bytes text)
{
    struct rule_tree *tree = reader->tree;
    if (tree->count == RULE_TREE_NODES_MAX)
        return fail(reader, line, "there are too many keys and values: expected at most 1,000,000");
    if (tree->count == tree->room) {
        uint32_t room = tree->room ? tree->room * 2 : 64;
        struct rule_node *nodes = reallocarray(tree->nodes, room, sizeof *nodes);
        if (!nodes)
            return error_set(reader->error, EX_OSERR, "out of memory while reading %s", reader->file);
        tree->nodes = nodes;
        tree->room = room;
    }
    struct rule_node *node = &tree->nodes[tree->count++];
    *node = (struct rule_node){.kind = kind, .line = line, .text = text, .end = tree->count};
    if (reader->has_key) {
        node->key = reader->key;
        node->line = reader->key_line;
        reader->has_key = false;
    }
    if (reader->depth > 0)
        tree->nodes[reader->open[reader->depth - 1]].count++;
    return true;
}

static bool begin(struct tree_reader *reader, enum rule_node_kind kind, unsigned line)
{
    if (key_is_next(reader))
        return fail(reader, line, "a key is itself a list or a map: expected a word");
    if (reader->depth == RULE_TREE_DEPTH_MAX)
        return fail(reader, line, "this is nested too deep: expected at most 8 levels");
    if (!add(reader, kind, line, (struct bytes){"", 0}))
        return false;
    reader->open[reader->depth++] = reader->tree->count - 1;
    return true;
}

static void end(struct tree_reader *reader)
{
    struct rule_tree *tree = reader->tree;
    tree->nodes[reader->open[--reader->depth]].end = tree->count;
}

/* Compares a key with the few keys of the map that is being read. */
static bool key_is_new(struct tree_reader *reader, unsigned line)
{
    const struct rule_tree *tree = reader->tree;
    const struct rule_node *map = &tree->nodes[reader->open[reader->depth - 1]];
    if (map->count >= RULE_TREE_KEYS_MAX)
        return fail(reader, line, "a map has too many keys: expected at most 64");
    uint32_t index = reader->open[reader->depth - 1] + 1;
    for (uint32_t i = 0; i < map->count; i++, index = tree->nodes[index].end)
        if (bytes_equal(tree->nodes[index].key, reader->key))
            return error_set(reader->error, EX_DATAERR, "%s:%u: %.64s is given twice, first in line %u",
                             reader->file, line, reader->key.data, tree->nodes[index].line);
    return true;
}

static bool scalar(struct tree_reader *reader, const yaml_event_t *event, unsigned line)
{
    struct bytes text = {"", 0};
    if (event->data.scalar.tag || event->data.scalar.anchor)
        return fail(reader, line, "a tag (!) or an anchor (&) is used: expected plain values");
    if (!keep(reader, event, line, &text))
        return false;
    if (!key_is_next(reader))
        return add(reader, RULE_NODE_TEXT, line, text);
    reader->key = text;
    reader->key_line = line;
    reader->has_key = true;
    return key_is_new(reader, line);
}

static bool take(struct tree_reader *reader, const yaml_event_t *event)
{
    unsigned line = (unsigned)event->start_mark.line + 1;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return scalar(reader, event, line);
    case YAML_SEQUENCE_START_EVENT:
        if (event->data.sequence_start.tag || event->data.sequence_start.anchor)
            return fail(reader, line, "a tag (!) or an anchor (&) is used: expected plain values");
        return begin(reader, RULE_NODE_LIST, line);
    case YAML_MAPPING_START_EVENT:
        if (event->data.mapping_start.tag || event->data.mapping_start.anchor)
            return fail(reader, line, "a tag (!) or an anchor (&) is used: expected plain values");
        return begin(reader, RULE_NODE_MAP, line);
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

struct tree_reader *tree_reader_create(struct rule_tree *tree, struct bytes text, const char *file)
{
    struct tree_reader *reader = calloc(1, sizeof *reader);
    *tree = (struct rule_tree){.texts_room = text.size * 4 + 1};
    tree->texts = malloc(tree->texts_room);
    if (!tree->texts || !reader || !yaml_parser_initialize(&reader->parser)) {
        free(reader);
        return NULL;
    }
    reader->tree = tree;
    reader->text = text;
    reader->file = file;
    yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader->parser, (const unsigned char *)(text.data ? text.data : ""), text.size);
    return reader;
}

void tree_reader_destroy(struct tree_reader **reader)
{
    if (*reader)
        yaml_parser_delete(&(*reader)->parser);
    free(*reader);
    *reader = NULL;
}

bool tree_reader_go_on(struct tree_reader *reader, unsigned events, bool *ended, struct error *error)
{
    bool good = true;
    reader->error = error;
    for (*ended = false; good && !*ended && events > 0; events--) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reader->parser, &event))
            return yaml_fault(&reader->parser, reader->text, reader->file, EX_DATAERR, error);
        good = take(reader, &event);
        *ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    return good;
}

void rule_tree_close(struct rule_tree *tree)
{
    free(tree->nodes);
    free(tree->texts);
    *tree = (struct rule_tree){0};
}
