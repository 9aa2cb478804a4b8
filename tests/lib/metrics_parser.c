#include "tests/lib/metrics_parser.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct metrics_parsed metrics_parsed;

static void fault(const char *line, const char *why)
{
    if (metrics_parsed.fault[0] == '\0')
        (void)snprintf(metrics_parsed.fault, sizeof metrics_parsed.fault, "%s: %s", why, line);
}

static size_t name_size(const char *text)
{
    size_t size = 0;
    while (islower((unsigned char)text[size]) || text[size] == '_')
        size++;
    return size;
}

bool metrics_has(const char *name, size_t size)
{
    char wanted[METRICS_LINE_BYTES];
    (void)snprintf(wanted, sizeof wanted, " %.*s ", (int)size, name);
    return strstr(metrics_parsed.families, wanted) != NULL;
}

static void parse_type(const char *line)
{
    const char *name = line + strlen("# TYPE ");
    const size_t size = name_size(name);
    const bool total = size > 6 && strncmp(name + size - 6, "_total", 6) == 0;
    metrics_parsed.counter = strcmp(name + size, " counter") == 0;
    metrics_parsed.histogram = strcmp(name + size, " histogram") == 0;
    if (!metrics_parsed.counter && !metrics_parsed.histogram && strcmp(name + size, " gauge") != 0)
        fault(line, "no type");
    if (metrics_parsed.counter != total)
        fault(line, "counters end with _total, gauges do not");
    if (strncmp(name, "headgate_", 9) != 0 && strncmp(name, "process_", 8) != 0)
        fault(line, "a name of somebody else");
    if (metrics_has(name, size))
        fault(line, "a metric in two places");
    (void)snprintf(metrics_parsed.family, sizeof metrics_parsed.family, "%.*s", (int)size, name);
    const size_t used = strlen(metrics_parsed.families);
    (void)snprintf(metrics_parsed.families + used, sizeof metrics_parsed.families - used, "%s%s ",
                   used == 0 ? " " : "", metrics_parsed.family);
    metrics_parsed.family_count++;
}

/* What follows a label's value, which begins at `text` behind its quote; NULL: it is no value. */
static const char *after_label(const char *text)
{
    for (; *text != '"'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return NULL;
        if (*text == '\\' && strchr("\\\"n", *++text) == NULL)
            return NULL;
    }
    return text + 1;
}

static const char *after_labels(const char *text)
{
    do {
        const size_t size = name_size(++text);
        if (size == 0 || strncmp(text + size, "=\"", 2) != 0)
            return NULL;
        text = after_label(text + size + 2);
    } while (text != NULL && *text == ',');
    return text != NULL && *text == '}' ? text + 1 : NULL;
}

/* The size of the family's name in a series' name of `size` bytes. */
static size_t family_size(const char *line, size_t size)
{
    static const char *const ends[] = {"_bucket", "_sum", "_count"};
    for (size_t i = 0; metrics_parsed.histogram && i < sizeof ends / sizeof ends[0]; i++) {
        const size_t end = strlen(ends[i]);
        if (size > end && strncmp(line + size - end, ends[i], end) == 0)
            return size - end;
    }
    return metrics_parsed.histogram ? 0 : size;
}

static void parse_series(const char *line)
{
    const size_t size = name_size(line), family = family_size(line, size);
    const char *rest = line[size] == '{' ? after_labels(line + size) : line + size;
    char *stop = NULL;
    if (strlen(metrics_parsed.family) != family || strncmp(line, metrics_parsed.family, family) != 0)
        fault(line, "not below its own type");
    if (rest == NULL || *rest != ' ' || !isdigit((unsigned char)rest[1])) {
        fault(line, "no value");
        return;
    }
    (void)strtod(rest + 1, &stop);
    if (*stop != '\0')
        fault(line, "more than a value");
    for (size_t i = 0; i < metrics_parsed.series_count; i++)
        if (strncmp(metrics_parsed.line[i], line, (size_t)(rest - line) + 1) == 0)
            fault(line, "there twice");
    assert(metrics_parsed.series_count < METRICS_SERIES_MAX);
    (void)snprintf(metrics_parsed.line[metrics_parsed.series_count++], METRICS_LINE_BYTES, "%s", line);
}

const char *metrics_parse(const char *page)
{
    memset(&metrics_parsed, 0, sizeof metrics_parsed);
    while (*page != '\0') {
        char line[METRICS_LINE_BYTES];
        const size_t size = strcspn(page, "\n");
        (void)snprintf(line, sizeof line, "%.*s", (int)size, page);
        if (page[size] == '\0' || size >= METRICS_LINE_BYTES)
            fault(line, "a line without an end");
        if (strncmp(line, "# TYPE ", 7) == 0)
            parse_type(line);
        else if (strncmp(line, "# HELP ", 7) != 0)
            parse_series(line);
        else if (line[7 + name_size(line + 7)] != ' ' || strstr(line, "(now)") != NULL)
            fault(line, "no help");
        page += size + (page[size] != '\0');
    }
    return metrics_parsed.fault;
}

const char *metrics_value(const char *series)
{
    const size_t size = strlen(series);
    for (size_t i = 0; i < metrics_parsed.series_count; i++)
        if (strncmp(metrics_parsed.line[i], series, size) == 0 && metrics_parsed.line[i][size] == ' ')
            return metrics_parsed.line[i] + size + 1;
    return "";
}

uint64_t metrics_sum(const char *begin, const char *label)
{
    uint64_t all = 0;
    for (size_t i = 0; i < metrics_parsed.series_count; i++)
        if (strncmp(metrics_parsed.line[i], begin, strlen(begin)) == 0 &&
            strstr(metrics_parsed.line[i], label) != NULL)
            all += strtoull(strrchr(metrics_parsed.line[i], ' ') + 1, NULL, 10);
    return all;
}

size_t metrics_count(const char *label)
{
    size_t all = 0;
    for (size_t i = 0; i < metrics_parsed.series_count; i++)
        all += strstr(metrics_parsed.line[i], label) != NULL;
    return all;
}
