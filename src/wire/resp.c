/*
 * Parses frames. Headers of one or two digits and arguments of up to 99 bytes, which nearly all
 * are, have a short path; everything else, mistakes included, takes the long path.
 */
#include "wire/resp.h"

#include "wire/resp_short.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum {
    HEADER_MAX_BYTES = 32, /* "*64" or "$61440" with its end, and room for wrong headers */
    NUMBER_MAX_DIGITS = 10,
};

/* The position of the parser: `at` never passes `end`. `frame_end` is the end, or the latest end
 * that the frame can have. */
struct cursor {
    const char *start, *at, *end, *frame_end;
    const char *error;
};

static enum resp_status wrong(struct cursor *cursor, const char *error)
{
    cursor->error = error;
    return RESP_ERROR;
}

/* Parses a decimal number without leading zeros or a plus; "-0" is no number. */
static bool parse_number(const char *text, size_t size, int64_t *number)
{
    const bool negative = size > 1 && text[0] == '-';
    if (negative && text[1] == '0')
        return false;
    text += negative;
    size -= negative;
    if (size == 0 || size > NUMBER_MAX_DIGITS || (text[0] == '0' && size > 1))
        return false;
    int64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *number = negative ? -value : value;
    return true;
}

/* Reads a header of one or two digits in place. False: the caller takes the long path. */
static inline bool parse_short_header(struct cursor *cursor, int64_t *number)
{
    const char *at = cursor->at;
    if (cursor->end - at < 5)
        return false;
    unsigned first = (unsigned)(unsigned char)at[1] - '0', second = (unsigned)(unsigned char)at[2] - '0';
    if (first - 1 > 8) /* excludes 0 as well: it may be a leading zero */
        return false;
    if (memcmp(at + 2, "\r\n", 2) == 0) {
        *number = first;
        cursor->at = at + 4;
        return true;
    }
    if (second > 9 || memcmp(at + 3, "\r\n", 2) != 0)
        return false;
    *number = first * 10 + second;
    cursor->at = at + 5;
    return true;
}

static enum resp_status parse_long_header(struct cursor *cursor, int64_t *number, const char *bad)
{
    size_t available = (size_t)(cursor->end - cursor->at);
    size_t searched = available < HEADER_MAX_BYTES ? available : HEADER_MAX_BYTES;
    const char *line_end = memchr(cursor->at, '\r', searched);
    if (line_end == NULL)
        return searched == HEADER_MAX_BYTES ? wrong(cursor, bad) : RESP_MORE;
    if (line_end + 1 == cursor->end)
        return RESP_MORE;
    if (line_end[1] != '\n' || !parse_number(cursor->at + 1, (size_t)(line_end - cursor->at - 1), number))
        return wrong(cursor, bad);
    cursor->at = line_end + 2;
    return RESP_COMMAND;
}

/* Parses the number between a type byte, at which `at` stands, and its CR LF. `bad` is the error
 * for anything else. */
static inline enum resp_status parse_header(struct cursor *cursor, int64_t *number, const char *bad)
{
    return parse_short_header(cursor, number) ? RESP_COMMAND : parse_long_header(cursor, number, bad);
}

/*
 * Parses an argument of up to 99 bytes that has arrived whole. Returns its end. NULL: the caller
 * takes the long path.
 */
static inline const char *parse_short_bulk(const char *at, const char *end, struct bytes *argument)
{
    size_t size;
    const char *text = end - at < RESP_SHORT_LEAST_BYTES ? NULL : resp_short_text(at, &size);
    if (!text || (size_t)(end - text) < size + 2 || memcmp(text + size, "\r\n", 2) != 0)
        return NULL;
    *argument = (struct bytes){text, size};
    return text + size + 2;
}

static enum resp_status parse_bulk(struct cursor *cursor, struct bytes *argument)
{
    if (cursor->at == cursor->end)
        return RESP_MORE;
    if (*cursor->at != '$')
        return wrong(cursor, "Protocol error: expected '$' before each argument");
    int64_t size;
    enum resp_status status = parse_header(cursor, &size, "Protocol error: invalid bulk length");
    if (status != RESP_COMMAND)
        return status;
    if (size < 0)
        return wrong(cursor, "Protocol error: invalid bulk length");
    if (size > RESP_BULK_MAX_BYTES)
        return wrong(cursor, "Protocol error: bulk too long, at most 61440 bytes");
    if (cursor->frame_end - cursor->at < size + 2)
        return cursor->at - cursor->start + size + 2 > RESP_FRAME_MAX_BYTES
                   ? wrong(cursor, "Protocol error: request too long, at most 65536 bytes")
                   : RESP_MORE;
    if (memcmp(cursor->at + size, "\r\n", 2) != 0)
        return wrong(cursor, "Protocol error: expected CR LF after an argument of the length announced");
    *argument = (struct bytes){cursor->at, (size_t)size};
    cursor->at += size + 2;
    return RESP_COMMAND;
}

static enum resp_status parse_array(struct cursor *cursor, struct resp_command *command)
{
    int64_t count;
    enum resp_status status = parse_header(cursor, &count, "Protocol error: invalid multibulk length");
    if (status != RESP_COMMAND)
        return status;
    if (count > RESP_ARGS_MAX)
        return wrong(cursor, "Protocol error: too many arguments, at most 64");
    for (int64_t i = 0; i < count; i++) {
        const char *next = parse_short_bulk(cursor->at, cursor->frame_end, &command->args[i]);
        if (next) {
            cursor->at = next;
            continue;
        }
        status = parse_bulk(cursor, &command->args[i]);
        if (status != RESP_COMMAND)
            return status;
    }
    command->count = count < 0 ? 0 : (uint32_t)count;
    return RESP_COMMAND;
}

/* ---- inline ---- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The character of an escape in double quotes, as redis-cli writes it. Moves *at behind the escape. */
static char unescape(const char **at, const char *end)
{
    const char *text = *at;
    if (text[0] == 'x' && end - text > 2) {
        int high = hex_digit(text[1]), low = hex_digit(text[2]);
        if (high >= 0 && low >= 0) {
            *at = text + 3;
            return (char)(unsigned char)(high << 4 | low);
        }
    }
    *at = text + 1;
    switch (text[0]) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'a':
        return '\a';
    default:
        return text[0];
    }
}

/*
 * Reads the quoted word at *at and writes its text to *out, which is never longer than the word.
 * False: the quote does not end, or ends within a word.
 */
static bool unquote(const char **at, const char *end, char **out)
{
    char quote = *(*at)++;
    while (*at < end && **at != quote) {
        char c = *(*at)++;
        if (c == '\\' && quote == '"' && *at < end)
            c = unescape(at, end);
        else if (c == '\\' && quote == '\'' && *at < end && **at == '\'')
            c = *(*at)++;
        *(*out)++ = c;
    }
    if (*at == end)
        return false;
    (*at)++;
    return *at == end || is_space(**at);
}

/* Splits a line at blanks. A quote inside a word belongs to the word, as in redis: a"b c" is one
 * word. */
static enum resp_status parse_words(struct cursor *cursor, const char *end, struct resp_command *command)
{
    const char *at = cursor->at;
    char *out = command->unquoted;
    command->count = 0;
    for (;;) {
        while (at < end && is_space(*at))
            at++;
        if (at == end)
            return RESP_COMMAND;
        if (command->count == RESP_ARGS_MAX)
            return wrong(cursor, "Protocol error: too many arguments, at most 64");
        const char *word = at;
        while (at < end && !is_space(*at) && *at != '"' && *at != '\'')
            at++;
        size_t size = (size_t)(at - word);
        if (at < end && !is_space(*at)) {
            char *copy = out;
            memcpy(out, word, size);
            out += size;
            if (!unquote(&at, end, &out))
                return wrong(cursor, "Protocol error: unbalanced quotes in request");
            word = copy;
            size = (size_t)(out - copy);
            assert(out <= command->unquoted + sizeof command->unquoted);
        }
        command->args[command->count++] = (struct bytes){word, size};
    }
}

static enum resp_status parse_inline(struct cursor *cursor, struct resp_command *command)
{
    size_t available = (size_t)(cursor->end - cursor->at);
    size_t limit = RESP_INLINE_MAX_BYTES + 2; /* with CR LF */
    const char *line_end = memchr(cursor->at, '\n', available < limit ? available : limit);
    if (line_end == NULL)
        return available >= limit ? wrong(cursor, "Protocol error: line too long, at most 4096 bytes") : RESP_MORE;
    const char *text_end = line_end > cursor->at && line_end[-1] == '\r' ? line_end - 1 : line_end;
    if (text_end - cursor->at > RESP_INLINE_MAX_BYTES)
        return wrong(cursor, "Protocol error: line too long, at most 4096 bytes");
    enum resp_status status = parse_words(cursor, text_end, command);
    cursor->at = line_end + 1;
    return status;
}

enum resp_status resp_parse(struct bytes input, struct resp_command *command, size_t *consumed, const char **error)
{
    *consumed = 0;
    *error = NULL;
    if (input.size == 0)
        return RESP_MORE;
    size_t frame_max = input.size < RESP_FRAME_MAX_BYTES ? input.size : RESP_FRAME_MAX_BYTES;
    struct cursor cursor = {
        .start = input.data,
        .at = input.data,
        .end = input.data + input.size,
        .frame_end = input.data + frame_max,
    };
    enum resp_status status = *cursor.at == '*' ? parse_array(&cursor, command) : parse_inline(&cursor, command);
    if (status == RESP_COMMAND)
        *consumed = (size_t)(cursor.at - cursor.start);
    else if (status == RESP_ERROR)
        *error = cursor.error;
    return status;
}
