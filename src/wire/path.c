#include "wire/path.h"

/* A path that becomes one spelling: each of its segments begins with a slash. */
struct spelled {
    char *room;
    size_t size;     /* at most PATH_ROOM_BYTES */
    uint32_t beyond; /* segments that begin where there is no room */
    enum path_spelling spelling;
};

/* ---- bytes ---- */

static bool is_letter(unsigned char c)
{
    return (unsigned)(c | 0x20) - 'a' < 26;
}

/* May stand in a segment as it is (`pchar` of RFC 3986): letters, digits, and -._~!$&'()*+,;=:@ */
static bool is_plain(unsigned char c)
{
    static const uint32_t plain[256 / 32] = {0, 0x2fff7fd2, 0x87ffffff, 0x47fffffe};
    return (plain[c >> 5] >> (c & 31) & 1) != 0;
}

/* 16: it is no hexadecimal digit. */
static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    const unsigned letter = (unsigned)(c | 0x20) - 'a';
    return letter < 6 ? letter + 10 : 16;
}

/* Returns how many bytes of `text` stand for *byte: "%41" is one. */
static size_t read_byte(struct bytes text, size_t at, unsigned char *byte)
{
    *byte = (unsigned char)text.data[at];
    if (*byte != '%' || text.size - at < 3)
        return 1;
    const unsigned high = digit_of(text.data[at + 1]), low = digit_of(text.data[at + 2]);
    if (high == 16 || low == 16)
        return 1;
    *byte = (unsigned char)(high << 4 | low);
    return 3;
}

static void put(struct spelled *spelled, char c)
{
    if (spelled->size < PATH_ROOM_BYTES)
        spelled->room[spelled->size++] = c;
}

static void put_byte(struct spelled *spelled, unsigned char byte)
{
    static const char digits[] = "0123456789ABCDEF";
    if (is_plain(byte)) {
        put(spelled, (char)(spelled->spelling == PATH_IGNORE_CASE && is_letter(byte) ? byte | 0x20 : byte));
        return;
    }
    put(spelled, '%');
    put(spelled, digits[byte >> 4]);
    put(spelled, digits[byte & 15]);
}

/* ---- segments ---- */

/* 1 or 2 if the segment is "." or "..", however it is encoded; else 0. */
static unsigned dots_of(struct bytes segment)
{
    unsigned dots = 0;
    unsigned char byte;
    for (size_t at = 0; at < segment.size; dots++) {
        at += read_byte(segment, at, &byte);
        if (byte != '.' || dots == 2)
            return 0;
    }
    return dots;
}

static void push(struct spelled *spelled, struct bytes segment)
{
    unsigned char byte;
    if (spelled->size == PATH_ROOM_BYTES) {
        spelled->beyond++;
        return;
    }
    put(spelled, '/');
    for (size_t at = 0; at < segment.size && spelled->size < PATH_ROOM_BYTES;) {
        at += read_byte(segment, at, &byte);
        put_byte(spelled, byte);
    }
}

static void pop(struct spelled *spelled)
{
    if (spelled->beyond > 0) {
        spelled->beyond--;
        return;
    }
    while (spelled->size > 0 && spelled->room[--spelled->size] != '/') {
    }
}

/* Behind "." and ".." a path goes on with the next segment, and one that ends there ends with a slash. */
static void add(struct spelled *spelled, struct bytes segment, bool last)
{
    const unsigned dots = dots_of(segment);
    const bool merges = segment.size == 0 && spelled->spelling != PATH_KEEP_SLASHES;
    if (dots == 2)
        pop(spelled);
    if (dots > 0)
        segment.size = 0;
    if (last || (dots == 0 && !merges))
        push(spelled, segment);
}

/* ---- paths ---- */

static struct bytes before(struct bytes text, char end)
{
    const char *at = text.size > 0 ? memchr(text.data, end, text.size) : NULL;
    return (struct bytes){text.data, at != NULL ? (size_t)(at - text.data) : text.size};
}

/* Of "http://c/a" what follows the authority. size 0: the text is no target. */
static struct bytes path_of(struct bytes text)
{
    if (text.size == 0 || text.data[0] == '/')
        return text;
    const char *mark = memmem(text.data, text.size, "://", 3);
    if (mark == NULL)
        return (struct bytes){0};
    const struct bytes rest = {mark + 3, text.size - (size_t)(mark + 3 - text.data)};
    const size_t authority = before(rest, '/').size;
    return authority < rest.size ? (struct bytes){rest.data + authority, rest.size - authority} : bytes_of("/");
}

/* Most paths are: there is nothing to do. */
static bool is_spelled(struct bytes path, enum path_spelling spelling)
{
    for (size_t i = 0; i < path.size; i++) {
        const unsigned char c = (unsigned char)path.data[i];
        const char next = i + 1 < path.size ? path.data[i + 1] : 'a';
        if (c == '/' ? next == '/' || next == '.' : !is_plain(c))
            return false;
        if (spelling == PATH_IGNORE_CASE && is_letter(c) && (c & 0x20) == 0)
            return false;
    }
    return true;
}

struct bytes path_spell(struct bytes text, enum path_spelling spelling, char room[PATH_ROOM_BYTES])
{
    const struct bytes path = path_of(before(before(text, '?'), '#'));
    if (path.size == 0 || spelling == PATH_AS_WRITTEN)
        return before(text, '?');
    if (is_spelled(path, spelling))
        return path;
    struct spelled spelled = {.room = room, .spelling = spelling};
    for (size_t at = 0; at < path.size;) {
        const struct bytes rest = {path.data + at + 1, path.size - at - 1}, segment = before(rest, '/');
        add(&spelled, segment, segment.size == rest.size);
        at += 1 + segment.size;
    }
    const bool whole =
        spelled.size == path.size || (spelled.size == PATH_ROOM_BYTES && path.size > PATH_ROOM_BYTES);
    if (whole && memcmp(room, path.data, spelled.size) == 0)
        return (struct bytes){path.data, spelled.size};
    return (struct bytes){room, spelled.size};
}
