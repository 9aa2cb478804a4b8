/*
 * limit_list_text writes and reads versions of limits. Each number and name is checked before it is used, and a text is
 * refused as a whole. It does not judge stamps: limit_list.c does.
 */
#include "cluster/members/limit_list_text.h"

#include "base/hash.h"
#include "cluster/codec/pack.h"
#include "cluster/members/version.h"

#include <inttypes.h>
#include <string.h>

/* ---- writing ---- */

static void put_limits(struct version_text *printer, const struct named_limits *limits)
{
    for (uint16_t i = 0; i < limits->count; i++) {
        const struct named_limit *limit = &limits->limit[i];
        version_put(printer, "limit %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %d %s\n",
                    limit->terms.capacity, limit->terms.rate, limit->terms.period_ns, limit->terms.overshoot,
                    limit->patience_ms, i == limits->by_default, limit->name);
    }
}

size_t limit_list_print(const struct limit_list *list, bool file, char text[LIMITS_TEXT_MAX_BYTES])
{
    struct version_text printer = {.text = text, .room = LIMITS_TEXT_MAX_BYTES};
    text[0] = '\0';
    if (list->stamp.number == 0)
        return 0;
    version_put(&printer, "version %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", list->stamp.number, list->stamp.maker,
                list->wall_ms, list->author[0] ? list->author : "-");
    for (uint32_t i = 0; i < list->config_count; i++)
        version_put(&printer, "config %" PRIu64 " %" PRIu64 "\n", list->config[i].number, list->config[i].digest);
    put_limits(&printer, &list->limits);
    if (file)
        version_put(&printer, "file %" PRIu64 "\n", list->file);
    return printer.size;
}

uint64_t limit_list_hash(const struct named_limits *limits)
{
    char text[LIMITS_TEXT_MAX_BYTES];
    struct version_text printer = {.text = text, .room = LIMITS_TEXT_MAX_BYTES};
    put_limits(&printer, limits);
    return version_text_hash(text, printer.size);
}

/* ---- reading ---- */

static bool read_version(struct bytes line, struct limit_list *list)
{
    if (list->stamp.number > 0 || !version_read_stamp(&line, LIMITS_NUMBER_MAX, &list->stamp, &list->wall_ms) ||
        !label_is_sound(line, 1, sizeof list->author))
        return false;
    memcpy(list->author, line.data, line.size);
    return true;
}

static bool read_config(struct bytes line, struct limit_list *list)
{
    if (list->config_count == LIMIT_LIST_CONFIGS_MAX)
        return false;
    struct limit_list_config *config = &list->config[list->config_count++];
    return version_read_number(version_take(&line, ' '), &config->number) &&
           version_read_number(version_take(&line, ' '), &config->digest) && line.size == 0;
}

static bool read_limit(struct bytes line, struct named_limits *limits)
{
    struct limit_terms terms = {0};
    struct error error;
    uint64_t patience_ms, by_default;
    if (limits->count == NAMED_LIMITS_MAX || !version_read_number(version_take(&line, ' '), &terms.capacity) ||
        !version_read_number(version_take(&line, ' '), &terms.rate) ||
        !version_read_number(version_take(&line, ' '), &terms.period_ns) ||
        !version_read_number(version_take(&line, ' '), &terms.overshoot) ||
        !version_read_number(version_take(&line, ' '), &patience_ms) || patience_ms > PATIENCE_MAX_MS ||
        !version_read_number(version_take(&line, ' '), &by_default) || by_default > 1 ||
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
    const struct bytes word = version_take(&line, ' ');
    if (bytes_equal(word, bytes_of("version")))
        return read_version(line, list);
    if (bytes_equal(word, bytes_of("config")))
        return read_config(line, list);
    if (bytes_equal(word, bytes_of("limit")))
        return read_limit(line, &list->limits);
    return !bytes_equal(word, bytes_of("file")) || version_read_number(version_take(&line, ' '), &list->file);
}

bool limit_list_read(struct bytes text, struct limit_list *list)
{
    memset(list, 0, sizeof *list);
    while (text.size > 0)
        if (!read_line(version_take(&text, '\n'), list))
            return false;
    return list->stamp.number > 0 && list->limits.count > 0;
}
