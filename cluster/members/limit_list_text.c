/*
 * limit_list_text writes and reads versions of limits. Each number and name is checked before it is used, and a text is
 * refused as a whole. It does not judge stamps: limit_list.c does.
 */
#include "cluster/members/limit_list_text.h"

#include "base/hash.h"
#include "cluster/codec/pack.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- writing ---- */

struct printer {
    char *text;
    size_t size;
};

static void put(struct printer *printer, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct printer *printer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const size_t room = LIMITS_TEXT_MAX_BYTES - printer->size;
    const int size = vsnprintf(printer->text + printer->size, room, format, arguments);
    va_end(arguments);
    assert(size >= 0 && (size_t)size < room);
    printer->size += (size_t)size;
}

static void put_limits(struct printer *printer, const struct named_limits *limits)
{
    for (uint16_t i = 0; i < limits->count; i++) {
        const struct named_limit *limit = &limits->limit[i];
        put(printer, "limit %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %d %s\n", limit->terms.capacity,
            limit->terms.rate, limit->terms.period_ns, limit->terms.overshoot, limit->patience_ms,
            i == limits->by_default, limit->name);
    }
}

size_t limit_list_print(const struct limit_list *list, bool file, char text[LIMITS_TEXT_MAX_BYTES])
{
    struct printer printer = {.text = text};
    text[0] = '\0';
    if (list->stamp.number == 0)
        return 0;
    put(&printer, "version %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", list->stamp.number, list->stamp.maker,
        list->wall_ms, list->author[0] ? list->author : "-");
    for (uint32_t i = 0; i < list->config_count; i++)
        put(&printer, "config %" PRIu64 " %" PRIu64 "\n", list->config[i].number, list->config[i].digest);
    put_limits(&printer, &list->limits);
    if (file)
        put(&printer, "file %" PRIu64 "\n", list->file);
    return printer.size;
}

uint64_t limit_list_hash(const struct named_limits *limits)
{
    static const struct hash_key key = {{0}};
    char text[LIMITS_TEXT_MAX_BYTES];
    struct printer printer = {.text = text};
    put_limits(&printer, limits);
    return hash_64(&key, text, printer.size);
}

/* ---- reading ---- */

/* Takes the bytes up to `end` off the text, and `end` as well. */
static struct bytes take_until(struct bytes *text, char end)
{
    const char *at = text->size > 0 ? memchr(text->data, end, text->size) : NULL;
    const struct bytes taken = {text->data, at ? (size_t)(at - text->data) : text->size};
    const size_t used = taken.size + (at != NULL);
    *text = (struct bytes){text->data + used, text->size - used};
    return taken;
}

static bool read_number(struct bytes *line, uint64_t *number)
{
    const struct bytes word = take_until(line, ' ');
    *number = 0;
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] < '0' || word.data[i] > '9' || __builtin_mul_overflow(*number, 10u, number) ||
            __builtin_add_overflow(*number, (uint64_t)(word.data[i] - '0'), number))
            return false;
    return word.size > 0;
}

static bool read_version(struct bytes line, struct limit_list *list)
{
    if (list->stamp.number > 0 || !read_number(&line, &list->stamp.number) ||
        !read_number(&line, &list->stamp.maker) || !read_number(&line, &list->wall_ms) || list->stamp.number == 0 ||
        list->stamp.number > LIMITS_NUMBER_MAX || !label_is_sound(line, 1, sizeof list->author))
        return false;
    memcpy(list->author, line.data, line.size);
    return true;
}

static bool read_config(struct bytes line, struct limit_list *list)
{
    if (list->config_count == LIMIT_LIST_CONFIGS_MAX)
        return false;
    struct limit_list_config *config = &list->config[list->config_count++];
    return read_number(&line, &config->number) && read_number(&line, &config->digest) && line.size == 0;
}

static bool read_limit(struct bytes line, struct named_limits *limits)
{
    struct limit_terms terms = {0};
    struct error error;
    uint64_t patience_ms, by_default;
    if (limits->count == NAMED_LIMITS_MAX || !read_number(&line, &terms.capacity) ||
        !read_number(&line, &terms.rate) || !read_number(&line, &terms.period_ns) ||
        !read_number(&line, &terms.overshoot) || !read_number(&line, &patience_ms) ||
        patience_ms > PATIENCE_MAX_MS || !read_number(&line, &by_default) || by_default > 1 ||
        !label_is_sound(line, 1, LIMIT_NAME_BYTES))
        return false;
    struct named_limit *limit = &limits->limit[limits->count];
    if (!named_limit_init(limit, line, &terms, &error) || named_limit_find_id(limits, limit->id) >= 0)
        return false;
    limit->patience_ms = (uint16_t)patience_ms;
    if (by_default)
        limits->by_default = limits->count;
    limits->count++;
    return true;
}

static bool read_line(struct bytes line, struct limit_list *list)
{
    const struct bytes word = take_until(&line, ' ');
    if (bytes_equal(word, bytes_of("version")))
        return read_version(line, list);
    if (bytes_equal(word, bytes_of("config")))
        return read_config(line, list);
    if (bytes_equal(word, bytes_of("limit")))
        return read_limit(line, &list->limits);
    return !bytes_equal(word, bytes_of("file")) || read_number(&line, &list->file);
}

bool limit_list_read(struct bytes text, struct limit_list *list)
{
    memset(list, 0, sizeof *list);
    while (text.size > 0)
        if (!read_line(take_until(&text, '\n'), list))
            return false;
    return list->stamp.number > 0 && list->limits.count > 0;
}
