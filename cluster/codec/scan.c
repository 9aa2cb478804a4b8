/*
 * scan walks over the headers of msgpack values without building the values. It bounds nesting and
 * sizes, and reads the first fields of a message from the bytes.
 */
#include "cluster/codec/scan.h"

enum { DEPTH_MAX = 10, INNER_DEPTH = 2 };

struct scanner {
    const uint8_t *at;
    size_t left;
};

/* Reads a big-endian number of `width` bytes. False: fewer bytes are left. */
static bool number(struct scanner *scanner, size_t width, uint64_t *value)
{
    if (scanner->left < width)
        return false;
    *value = 0;
    for (size_t i = 0; i < width; i++)
        *value = *value << 8 | *scanner->at++;
    scanner->left -= width;
    return true;
}

static bool skip(struct scanner *scanner, uint64_t size)
{
    if (scanner->left < size)
        return false;
    scanner->at += size;
    scanner->left -= size;
    return true;
}

/*
 * Passes over one header and its payload. `children`: how many of the following values belong to
 * this value.
 */
static bool pass_value(struct scanner *scanner, uint64_t *children)
{
    uint64_t head, size;
    *children = 0;
    if (!number(scanner, 1, &head))
        return false;
    if (head <= 0x7f || head >= 0xe0 || head == 0xc0 || head == 0xc2 || head == 0xc3)
        return true; /* small integers, nil, booleans */
    if (head >= 0x90 && head <= 0x9f) {
        *children = head & 0x0f;
        return *children <= scanner->left;
    }
    if (head >= 0xa0 && head <= 0xbf)
        return skip(scanner, head & 0x1f);
    if (head >= 0xc4 && head <= 0xc6) /* bin 8, 16, 32 */
        return number(scanner, (size_t)1 << (head - 0xc4), &size) && skip(scanner, size);
    if (head >= 0xcc && head <= 0xcf) /* uint 8..64 */
        return skip(scanner, (uint64_t)1 << (head - 0xcc));
    if (head >= 0xd0 && head <= 0xd3) /* int 8..64 */
        return skip(scanner, (uint64_t)1 << (head - 0xd0));
    if (head >= 0xd9 && head <= 0xdb) /* str 8, 16, 32 */
        return number(scanner, (size_t)1 << (head - 0xd9), &size) && skip(scanner, size);
    if (head == 0xdc || head == 0xdd) /* array 16, 32: each element takes a byte at least */
        return number(scanner, head == 0xdc ? 2 : 4, children) && *children <= scanner->left;
    return false;
}

bool scan_is_sound(struct bytes bytes, uint64_t inner_max)
{
    struct scanner scanner = {(const uint8_t *)bytes.data, bytes.size};
    uint64_t open[DEPTH_MAX] = {1}; /* values still to come at each level */
    int depth = 0;
    while (depth >= 0) {
        if (open[depth] == 0) {
            depth--;
            continue;
        }
        open[depth]--;
        uint64_t children;
        if (!pass_value(&scanner, &children) || (depth == INNER_DEPTH && children > inner_max))
            return false;
        if (children > 0) {
            if (++depth == DEPTH_MAX)
                return false;
            open[depth] = children;
        }
    }
    return scanner.left == 0;
}

static bool array_of(struct scanner *scanner, uint64_t *count)
{
    uint64_t head;
    if (!number(scanner, 1, &head))
        return false;
    if (head >= 0x90 && head <= 0x9f) {
        *count = head & 0x0f;
        return true;
    }
    return (head == 0xdc || head == 0xdd) && number(scanner, head == 0xdc ? 2 : 4, count);
}

static bool unsigned_number(struct scanner *scanner, uint64_t *value)
{
    uint64_t head;
    if (!number(scanner, 1, &head))
        return false;
    if (head <= 0x7f) {
        *value = head;
        return true;
    }
    return head >= 0xcc && head <= 0xcf && number(scanner, (size_t)1 << (head - 0xcc), value);
}

/* Reads a text of less than 256 bytes. */
static bool text_of(struct scanner *scanner, struct bytes *text)
{
    uint64_t head, size;
    if (!number(scanner, 1, &head))
        return false;
    if (head >= 0xa0 && head <= 0xbf)
        size = head & 0x1f;
    else if (head != 0xd9 || !number(scanner, 1, &size))
        return false;
    *text = (struct bytes){(const char *)scanner->at, size};
    return skip(scanner, size);
}

void scan_head(struct bytes bytes, struct scan_head *head)
{
    struct scanner scanner = {(const uint8_t *)bytes.data, bytes.size};
    uint64_t values;
    struct bytes text;
    *head = (struct scan_head){.count = 0};
    if (!array_of(&scanner, &values))
        return;
    while (head->count < SCAN_HEAD_NUMBERS && head->count < values &&
           unsigned_number(&scanner, &head->number[head->count]))
        head->count++;
    if (head->count == SCAN_HEAD_NUMBERS && values > SCAN_HEAD_NUMBERS && text_of(&scanner, &text))
        head->text = text;
}
