/*
 * Any path: its spelling is what a slower reader with room for all makes of it, stays the same when it is spelled
 * again, and has no segment that is to be removed.
 */
#include "wire/path.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST = 4096 };

/* The bytes of a path behind its slash, and of those of its segments where they end; decoded, "/" as 256 + '/'. */
struct model {
    unsigned short unit[MOST];
    size_t units, end[MOST], segments;
};

static void model_close(struct model *model, size_t begun, bool last, bool merges)
{
    const size_t size = model->units - begun;
    const bool one = size == 1 && model->unit[begun] == '.';
    const bool two = size == 2 && model->unit[begun] == '.' && model->unit[begun + 1] == '.';
    if (one || two)
        model->units = begun;
    if (two && model->segments > 0)
        model->units = --model->segments > 0 ? model->end[model->segments - 1] : 0;
    if (!last && (one || two || (size == 0 && merges)))
        return;
    model->end[model->segments++] = model->units;
}

static void model_read(struct model *model, struct bytes path, bool merges)
{
    size_t begun = 0;
    model->units = model->segments = 0;
    for (size_t i = 1; i < path.size; i++) {
        unsigned value = 0;
        int read = 0;
        char digits[3] = {0};
        if (path.data[i] == '/') {
            model_close(model, begun, false, merges);
            begun = model->units;
            continue;
        }
        if (path.data[i] == '%' && path.size - i > 2)
            memcpy(digits, path.data + i + 1, 2);
        if (strspn(digits, "0123456789abcdefABCDEF") == 2 && sscanf(digits, "%2x%n", &value, &read) == 1) {
            model->unit[model->units++] = (unsigned short)(value == '/' ? 256 + '/' : value);
            i += 2;
        } else {
            model->unit[model->units++] = (unsigned char)path.data[i];
        }
    }
    model_close(model, begun, true, merges);
}

static size_t model_write(const struct model *model, bool small, char *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@";
    size_t size = 0, at = 0;
    for (size_t i = 0; i < model->segments; i++) {
        out[size++] = '/';
        for (; at < model->end[i]; at++) {
            const unsigned unit = model->unit[at];
            if (unit > 0 && unit < 128 && strchr(plain, (int)unit) != NULL)
                out[size++] = (char)(small && unit >= 'A' && unit <= 'Z' ? unit + 32 : unit);
            else
                size += (size_t)snprintf(out + size, 4, "%%%02X", unit & 255);
        }
    }
    return size;
}

/* `written` begins with a slash, and has neither query nor fragment. */
static void check(struct bytes written, enum path_spelling spelling)
{
    static struct model model;
    static char expected[4 * MOST];
    char room[PATH_ROOM_BYTES], again[PATH_ROOM_BYTES];
    struct bytes path = path_spell(written, spelling, room);
    model_read(&model, written, spelling != PATH_KEEP_SLASHES);
    const size_t size = model_write(&model, spelling == PATH_IGNORE_CASE, expected);
    if (path.size > PATH_ROOM_BYTES)
        path.size = PATH_ROOM_BYTES;
    assert(path.size == (size < PATH_ROOM_BYTES ? size : PATH_ROOM_BYTES));
    assert(memcmp(path.data, expected, path.size) == 0);
    if (size <= PATH_ROOM_BYTES)
        assert(path_spell(path, spelling, again).data == path.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct bytes text = {(const char *)bytes, size};
    char room[PATH_ROOM_BYTES];
    for (int spelling = PATH_MERGE_SLASHES; spelling <= PATH_AS_WRITTEN; spelling++) {
        const struct bytes path = path_spell(text, (enum path_spelling)spelling, room);
        assert(path.size <= size || path.data == room || bytes_equal(path, bytes_of("/")));
    }
    struct bytes written = text;
    for (written.size = 0; written.size < size && bytes[written.size] != '?' && bytes[written.size] != '#';)
        written.size++;
    if (written.size == 0 || written.size > MOST / 2 || written.data[0] != '/')
        return 0;
    for (int spelling = PATH_MERGE_SLASHES; spelling < PATH_AS_WRITTEN; spelling++)
        check(written, (enum path_spelling)spelling);
    return 0;
}
