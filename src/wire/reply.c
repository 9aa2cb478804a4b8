/*
 * A parser that continues: `open` holds the arrays whose elements are still to come, `scanned` and
 * `in_text` the place within a value.
 */
#include "wire/reply.h"

#include <assert.h>

void reply_parser_init(struct reply_parser *parser, struct reply_node *nodes, uint32_t node_room, size_t max_bytes)
{
    assert(nodes && node_room > 0 && max_bytes > 0);
    memset(parser, 0, sizeof *parser);
    parser->node = nodes;
    parser->node_room = node_room;
    parser->max_bytes = max_bytes;
}

void reply_parser_reset(struct reply_parser *parser)
{
    parser->node_count = 0;
    parser->position = parser->scanned = 0;
    parser->depth = 0;
    parser->in_text = false;
}

/* Parses an optional sign and 1..19 digits that fit 64 bits. */
static bool parse_integer(struct bytes text, int64_t *value)
{
    bool negative = text.size > 0 && text.data[0] == '-';
    size_t i = text.size > 0 && (negative || text.data[0] == '+');
    if (i == text.size)
        return false;
    int64_t result = 0;
    for (; i < text.size; i++) {
        int digit = text.data[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(result, 10, &result) ||
            __builtin_sub_overflow(result, digit, &result))
            return false;
    }
    if (!negative && result == INT64_MIN)
        return false;
    *value = negative ? result : -result; /* collected below zero, where the range is wider by one */
    return true;
}

/* Ends a value, and every array of which it is the last element. */
static void end_value(struct reply_parser *parser)
{
    while (parser->depth > 0 && --parser->open[parser->depth - 1].left == 0) {
        struct reply_node *array = &parser->node[parser->open[parser->depth - 1].node];
        array->span = parser->node_count - (uint32_t)(array - parser->node);
        parser->depth--;
    }
}

static enum reply_progress begin_array(struct reply_parser *parser, struct reply_node *node, int64_t count)
{
    if (count == -1) {
        node->kind = REPLY_NIL;
        end_value(parser);
        return REPLY_COMPLETE;
    }
    if (count < 0)
        return REPLY_INVALID;
    /* Refuses a declared count before anything relies on it. */
    if (count > parser->node_room - parser->node_count)
        return REPLY_TOO_LARGE;
    node->count = (uint32_t)count;
    if (count == 0) {
        end_value(parser);
        return REPLY_COMPLETE;
    }
    if (parser->depth == REPLY_DEPTH_MAX)
        return REPLY_TOO_LARGE;
    parser->open[parser->depth].node = (uint32_t)(node - parser->node);
    parser->open[parser->depth].left = node->count;
    parser->depth++;
    return REPLY_COMPLETE;
}

static enum reply_progress begin_text(struct reply_parser *parser, struct reply_node *node, int64_t size)
{
    if (size == -1) {
        node->kind = REPLY_NIL;
        end_value(parser);
        return REPLY_COMPLETE;
    }
    if (size < 0)
        return REPLY_INVALID;
    if ((uint64_t)size > parser->max_bytes - parser->position)
        return REPLY_TOO_LARGE;
    node->offset = parser->position;
    node->size = (size_t)size;
    parser->in_text = true;
    return REPLY_COMPLETE;
}

/* Begins the value whose first line is `line`: its type, then the text before CR LF. */
static enum reply_progress begin_value(struct reply_parser *parser, struct bytes line, size_t offset)
{
    if (parser->node_count == parser->node_room)
        return REPLY_TOO_LARGE;
    struct reply_node *node = &parser->node[parser->node_count++];
    *node = (struct reply_node){.span = 1, .offset = offset + 1, .size = line.size - 1};
    if (line.data[0] == '+' || line.data[0] == '-') {
        node->kind = line.data[0] == '+' ? REPLY_STATUS : REPLY_ERROR;
        end_value(parser);
        return REPLY_COMPLETE;
    }
    int64_t number;
    if (!parse_integer((struct bytes){line.data + 1, line.size - 1}, &number))
        return REPLY_INVALID;
    node->size = 0;
    if (line.data[0] == '*') {
        node->kind = REPLY_ARRAY;
        return begin_array(parser, node, number);
    }
    if (line.data[0] == '$') {
        node->kind = REPLY_TEXT;
        return begin_text(parser, node, number);
    }
    node->kind = REPLY_INTEGER;
    node->integer = number;
    end_value(parser);
    return REPLY_COMPLETE;
}

static enum reply_progress parse_line(struct reply_parser *parser, struct bytes input)
{
    size_t start = parser->position;
    if (start == input.size)
        return REPLY_INCOMPLETE;
    if (!memchr("+-:$*", input.data[start], 5))
        return REPLY_INVALID;
    bool is_number = input.data[start] != '+' && input.data[start] != '-';
    size_t from = parser->scanned > start ? parser->scanned : start + 1;
    const char *end = from < input.size ? memchr(input.data + from, '\r', input.size - from) : NULL;
    size_t line_size = (end ? (size_t)(end - input.data) : input.size) - start;
    if (is_number && line_size > REPLY_HEADER_MAX_BYTES)
        return REPLY_INVALID;
    if (!end || (size_t)(end - input.data) + 1 == input.size) {
        parser->scanned = start + line_size;
        return REPLY_INCOMPLETE;
    }
    if (end[1] != '\n')
        return REPLY_INVALID;
    parser->position = start + line_size + 2;
    return begin_value(parser, (struct bytes){input.data + start, line_size}, start);
}

static enum reply_progress parse_text(struct reply_parser *parser, struct bytes input)
{
    const struct reply_node *node = &parser->node[parser->node_count - 1];
    size_t there = input.size - parser->position;
    if (there > node->size && input.data[node->offset + node->size] != '\r')
        return REPLY_INVALID;
    if (there < node->size + 2)
        return REPLY_INCOMPLETE;
    if (input.data[node->offset + node->size + 1] != '\n')
        return REPLY_INVALID;
    parser->position += node->size + 2;
    parser->in_text = false;
    end_value(parser);
    return REPLY_COMPLETE;
}

enum reply_progress reply_parse(struct reply_parser *parser, struct bytes input)
{
    assert(input.size >= parser->position);
    /* Looks at nothing beyond the limit, so that the result does not depend on how the bytes
     * arrived. */
    bool cut = input.size >= parser->max_bytes;
    if (cut)
        input.size = parser->max_bytes;
    do {
        enum reply_progress progress = parser->in_text ? parse_text(parser, input) : parse_line(parser, input);
        if (progress == REPLY_INCOMPLETE && cut)
            return REPLY_TOO_LARGE;
        if (progress != REPLY_COMPLETE)
            return progress;
    } while (parser->in_text || parser->depth > 0);
    return REPLY_COMPLETE;
}
