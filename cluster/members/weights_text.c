/*
 * weights_text writes and reads versions of weights. Each number and name is checked against its
 * bound before it is used, and a text is refused as a whole. It does not judge stamps: weights.c
 * does.
 */
#include "cluster/members/weights_text.h"

#include "cluster/codec/pack.h"
#include "cluster/members/version.h"

#include <inttypes.h>
#include <string.h>

/* ---- writing ---- */

static void put_version(struct version_text *printer, const char *word, const struct weights_version *version)
{
    if (version->stamp.number == 0)
        return;
    version_put(printer, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %s", word, version->stamp.number,
                version->stamp.maker, version->wall_ms, version->author[0] ? version->author : "-");
    for (uint32_t i = 0; i < version->count; i++)
        version_put(printer, " %s=%" PRIu64, version->part[i].region, version->part[i].billionths);
    version_put(printer, "\n");
}

size_t weights_print(const struct weights_known *known, bool past, char text[WEIGHTS_TEXT_MAX_BYTES])
{
    struct version_text printer = {.text = text, .room = WEIGHTS_TEXT_MAX_BYTES};
    text[0] = '\0';
    put_version(&printer, "base", &known->base);
    put_version(&printer, "newest", &known->newest);
    put_version(&printer, "floor", &known->floor);
    for (uint32_t i = 0; i < known->past_count && past; i++)
        put_version(&printer, "past", &known->past[i]);
    return printer.size;
}

/* ---- reading ---- */

static bool copy_label(struct bytes word, char room[NODE_NAME_BYTES])
{
    if (!label_is_sound(word, 1, NODE_NAME_BYTES))
        return false;
    memcpy(room, word.data, word.size);
    room[word.size] = '\0';
    return true;
}

static bool read_part(struct bytes word, struct weights_version *version, uint64_t *sum)
{
    struct weights_part *part = &version->part[version->count];
    size_t size = word.size;
    while (size > 0 && word.data[size - 1] != '=')
        size--;
    if (version->count == NODE_REGIONS_MAX || size == 0 ||
        !copy_label((struct bytes){word.data, size - 1}, part->region) ||
        !version_read_number((struct bytes){word.data + size, word.size - size}, &part->billionths) ||
        part->billionths > WEIGHT_ONE_BILLIONTHS - *sum)
        return false;
    for (uint32_t i = 0; i < version->count; i++)
        if (strcmp(version->part[i].region, part->region) == 0)
            return false;
    *sum += part->billionths;
    version->count++;
    return true;
}

static bool read_version(struct bytes line, struct weights_version *version)
{
    uint64_t sum = 0;
    memset(version, 0, sizeof *version);
    if (!version_read_stamp(&line, WEIGHTS_NUMBER_MAX, &version->stamp, &version->wall_ms) ||
        !copy_label(version_take(&line, ' '), version->author))
        return false;
    while (line.size > 0)
        if (!read_part(version_take(&line, ' '), version, &sum))
            return false;
    return true;
}

static struct weights_version *place_of(struct bytes word, struct weights_known *known)
{
    if (bytes_equal(word, bytes_of("base")))
        return &known->base;
    if (bytes_equal(word, bytes_of("newest")))
        return &known->newest;
    if (bytes_equal(word, bytes_of("floor")))
        return &known->floor;
    if (bytes_equal(word, bytes_of("past")) && known->past_count < WEIGHTS_PAST_MAX)
        return &known->past[known->past_count++];
    return NULL;
}

bool weights_read(struct bytes text, struct weights_known *known)
{
    known->base.stamp.number = known->newest.stamp.number = known->floor.stamp.number = known->past_count = 0;
    while (text.size > 0) {
        struct bytes line = version_take(&text, '\n');
        struct weights_version *version = place_of(version_take(&line, ' '), known);
        if (version && !read_version(line, version))
            return false;
    }
    return true;
}
