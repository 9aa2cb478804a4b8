/*
 * Reads files of overrides: lines of comma-separated values, "for,amount" or "for,amount,until", as spreadsheets and
 * databases write them. Values are those of `overrides` in a rule; a first line of these names is skipped. Each sheet
 * is written as the text of a rule and read by the reader of rules, so that there is one reader of overrides.
 */
#include "operator/rules_overrides.h"

#include "base/array.h"
#include "base/hash.h"
#include "edge/process/text_file.h"
#include "rules/rule_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum {
    COLUMNS = 3,
    SHEETS_MAX = 64,
    SHEET_OVERRIDES = 128,        /* on average, so that no sheet has too many */
    SHEET_TEXT_BYTES = 24 * 1024, /* on average at most */
    PATH_BYTES = 4096,
    ROW_EXTRA_BYTES = 64, /* what a sheet has around the values of a row */
};
static const char *const column_names[COLUMNS] = {"for", "amount", "until"};

struct row {
    unsigned line;
    struct bytes value[COLUMNS]; /* views of the file, in which quotes were taken off */
    uint64_t hash;
};

struct table {
    const char *file;
    char *text;
    struct row *row;
    uint32_t count;
};

/* ---- comma-separated values ---- */

/* Takes a value up to a comma or the end of the line, and moves *at behind it. Quotes are taken off in place. */
static bool take_value(char **at, const char *end, struct bytes *value)
{
    char *from = *at, *to = from;
    if (from < end && *from == '"') {
        char *out = from;
        for (to = from + 1; to < end; to++) {
            if (*to != '"')
                *out++ = *to;
            else if (to + 1 < end && to[1] == '"')
                *out++ = *to++;
            else
                break;
        }
        if (to == end)
            return false;
        to++;
        *value = (struct bytes){from, (size_t)(out - from)};
    } else {
        while (to < end && *to != ',')
            to++;
        *value = (struct bytes){from, (size_t)(to - from)};
        while (value->size > 0 && value->data[value->size - 1] == ' ')
            value->size--;
        for (; value->size > 0 && *value->data == ' '; value->data++)
            value->size--;
    }
    if (to < end && *to != ',')
        return false;
    *at = to < end ? to + 1 : to;
    return true;
}

static bool is_heading(const struct row *row)
{
    return bytes_equal(row->value[0], bytes_of(column_names[0]));
}

/* Reads one line. *skip: it has no row. */
static bool read_row(const struct table *table, char *from, char *end, struct row *row, bool *skip,
                     struct error *error)
{
    char *at = from;
    size_t columns = 0;
    if (end > from && end[-1] == '\r')
        end--;
    *skip = from == end || *from == '#';
    for (; !*skip && at < end && columns < COLUMNS; columns++)
        if (!take_value(&at, end, &row->value[columns]))
            return error_set(error, EX_DATAERR, "%s:%u: expected values between commas, in quotes or without any",
                             table->file, row->line);
    if (*skip)
        return true;
    if (at < end || columns < 2)
        return error_set(error, EX_DATAERR, "%s:%u: expected for,amount or for,amount,until", table->file,
                         row->line);
    *skip = row->line == 1 && is_heading(row);
    return true;
}

/* The same for the same text, at all times: sheets keep their lines. */
static uint64_t hash_of(struct bytes text)
{
    const uint64_t hash = hash_fnv(HASH_FNV_FIRST, text);
    return hash ^ hash >> 32;
}

static bool read_table(struct table *table, struct error *error)
{
    size_t size = 0, room = 0;
    table->text = text_file_read(table->file, RULES_TEXT_MAX_BYTES, "a file of overrides", &size, error);
    if (!table->text)
        return false;
    if (size > RULES_TEXT_MAX_BYTES)
        return error_set(error, EX_DATAERR, "%s: it has more than %d bytes: expected fewer", table->file,
                         RULES_TEXT_MAX_BYTES);
    unsigned line = 1;
    const size_t mark = size >= 3 && memcmp(table->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* of UTF-8 */
    for (char *at = table->text + mark, *end = table->text + size; at < end; line++) {
        char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        struct row row = {.line = line};
        bool skip;
        if (!read_row(table, at, stop, &row, &skip, error))
            return false;
        at = stop + 1;
        if (skip)
            continue;
        if (table->count == RULE_OVERRIDES_ALL_MAX)
            return error_set(error, EX_DATAERR, "%s:%u: one override too many: expected at most %d", table->file,
                             line, RULE_OVERRIDES_ALL_MAX);
        if (!ARRAY_RESERVE(table->row, room, table->count + 1))
            return error_set(error, EX_OSERR, "out of memory while reading %s", table->file);
        row.hash = hash_of(row.value[0]);
        table->row[table->count++] = row;
    }
    return true;
}

/* ---- who stands there twice ---- */

struct named {
    struct bytes value; /* of the one dimension that the rule counts by, or with its dimension */
    unsigned line;
};

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    const int order = bytes_compare(a->value, b->value);
    return order != 0 ? order : a->line < b->line ? -1 : 1;
}

static struct bytes without_dimension(const struct rule *rule, struct bytes value)
{
    const size_t size = rule->by_count == 1 ? rule->by[0].size : 0;
    if (size > 0 && value.size > size && value.data[size] == '=' &&
        bytes_equal((struct bytes){value.data, size}, rule->by[0]))
        return (struct bytes){value.data + size + 1, value.size - size - 1};
    return value;
}

/* False: a line names whom another one names, perhaps in another sheet. */
static bool names_each_once(const struct table *table, const struct rule *rule, struct error *error)
{
    struct named *named = reallocarray(NULL, table->count + 1, sizeof *named);
    if (!named)
        return error_set(error, EX_OSERR, "out of memory while reading %s", table->file);
    for (uint32_t i = 0; i < table->count; i++)
        named[i] = (struct named){without_dimension(rule, table->row[i].value[0]), table->row[i].line};
    qsort(named, table->count, sizeof *named, compare_named);
    bool good = true;
    for (uint32_t i = 1; i < table->count && good; i++)
        if (bytes_equal(named[i - 1].value, named[i].value))
            good =
                error_set(error, EX_DATAERR, "%s:%u: %.*s stands in line %u already: expected it once", table->file,
                          named[i].line, (int)named[i].value.size, named[i].value.data, named[i - 1].line);
    free(named);
    return good;
}

/* ---- sheets ---- */

/* A text that grows; memory that is short ends it. */
struct text {
    char *data;
    size_t size, room;
    bool failed;
};

static void put(struct text *text, const char *data, size_t size)
{
    if (!ARRAY_RESERVE(text->data, text->room, text->size + size)) {
        text->failed = true;
        return;
    }
    memcpy(text->data + text->size, data, size);
    text->size += size;
}

static void put_string(struct text *text, const char *string)
{
    put(text, string, strlen(string));
}

static void put_quoted(struct text *text, struct bytes value)
{
    put_string(text, "\"");
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] == '"' || value.data[i] == '\\')
            put_string(text, "\\");
        put(text, &value.data[i], 1);
    }
    put_string(text, "\"");
}

static void put_head(struct text *text, const struct rule *rule, const char *id)
{
    put_string(text, "id: ");
    put_quoted(text, bytes_of(id));
    put_string(text, "\nservice: ");
    put_quoted(text, rule->service);
    put_string(text, "\nby: [");
    for (uint8_t i = 0; i < rule->by_count; i++) {
        put_string(text, i > 0 ? ", " : "");
        put_quoted(text, rule->by[i]);
    }
    put_string(text, "]\nalgorithm: ");
    put_string(text, rule_algorithm_name(rule->algorithm));
    put_string(text, "\noverrides_of: ");
    put_quoted(text, rule->id);
    put_string(text, "\noverrides: [");
}

/* A bare count is in the window of the rule, which a sheet does not have. */
static void put_amount(struct text *text, const struct rule *rule, struct bytes value)
{
    static const struct rule_amount none = {.unlimited = true};
    char written[RULE_AMOUNT_TEXT_BYTES];
    struct rule_amount amount;
    if (rule_amount_parse(rule->algorithm, &rule->amount, value, &amount))
        value = bytes_of(rule_amount_text(rule->algorithm, &none, &amount, written, sizeof written));
    put_quoted(text, value);
}

static void put_row(struct text *text, const struct rule *rule, const struct row *row)
{
    put_string(text, "{for: ");
    put_quoted(text, row->value[0]);
    put_string(text, ", amount: ");
    put_amount(text, rule, row->value[1]);
    if (row->value[2].size > 0) {
        put_string(text, ", until: ");
        put_quoted(text, row->value[2]);
    }
    put_string(text, "}");
}

/* Says which line is wrong by itself. False: none is. */
static bool find_mistake(const struct table *table, const struct rule *rule, struct error *error)
{
    for (uint32_t i = 0; i < table->count; i++) {
        struct text text = {0};
        struct rule_list one = {0};
        for (unsigned line = 1; line < table->row[i].line; line++)
            put_string(&text, "\n"); /* the sentence names the line of the file */
        put_string(&text, "{id: ");
        put_quoted(&text, rule->id);
        put_string(&text, ", service: ");
        put_quoted(&text, rule->service);
        put_string(&text, ", by: [");
        for (uint8_t k = 0; k < rule->by_count; k++) {
            put_string(&text, k > 0 ? ", " : "");
            put_quoted(&text, rule->by[k]);
        }
        put_string(&text, "], algorithm: ");
        put_string(&text, rule_algorithm_name(rule->algorithm));
        put_string(&text, rule_has_rate(rule->algorithm) ? ", rate: unlimited" : ", limit: unlimited");
        put_string(&text, ", overrides: [");
        put_row(&text, rule, &table->row[i]);
        put_string(&text, "]}");
        const bool good =
            !text.failed && rules_parse((struct bytes){text.data, text.size}, table->file, &one, error);
        rules_close(&one);
        free(text.data);
        if (!good)
            return true;
    }
    return false;
}

static uint32_t sheet_count(const struct table *table)
{
    size_t bytes = 0;
    uint32_t count = 1;
    for (uint32_t i = 0; i < table->count; i++)
        bytes += table->row[i].value[0].size + table->row[i].value[1].size + table->row[i].value[2].size +
                 ROW_EXTRA_BYTES;
    while (count < SHEETS_MAX &&
           (table->count > count * SHEET_OVERRIDES || bytes > (size_t)count * SHEET_TEXT_BYTES))
        count *= 2;
    return count;
}

static bool add_sheet(struct rule_list *list, const struct table *table, const struct rule *rule, uint32_t number,
                      uint32_t of, struct error *error)
{
    char id[2 * RULE_NAME_MAX_BYTES];
    struct text text = {0};
    struct rule_list sheet = {0};
    uint32_t rows = 0;
    (void)snprintf(id, sizeof id, "%s%s%02u", rule->id.data, RULES_SHEET_SUFFIX, number);
    put_head(&text, rule, id);
    for (uint32_t i = 0; i < table->count; i++) {
        if ((table->row[i].hash & (of - 1)) != number)
            continue;
        put_string(&text, rows++ > 0 ? ",\n" : "\n");
        put_row(&text, rule, &table->row[i]);
    }
    put_string(&text, "]\n");
    bool good = text.failed ? error_set(error, EX_OSERR, "out of memory while reading %s", table->file)
                            : rules_parse((struct bytes){text.data, text.size}, table->file, &sheet, error);
    if (!good && error->exit_status == EX_DATAERR)
        (void)find_mistake(table, rule, error);
    good = good && (rules_append(list, &sheet) ||
                    error_set(error, EX_OSERR, "out of memory while reading %s", table->file));
    rules_close(&sheet);
    free(text.data);
    return good;
}

static bool read_file(struct rule_list *list, struct rule *rule, const char *path, struct error *error)
{
    char file[PATH_BYTES];
    const char *name = rule->overrides_file.data, *slash = path ? strrchr(path, '/') : NULL;
    const int directory = slash && name[0] != '/' ? (int)(slash - path) + 1 : 0;
    struct table table = {.file = file};
    if (snprintf(file, sizeof file, "%.*s%s", directory, directory > 0 ? path : "", name) >= PATH_BYTES)
        return error_set(error, EX_DATAERR, "rule %s/%s: the path of its overrides_file is too long",
                         rule->service.data, rule->id.data);
    bool good = read_table(&table, error) && names_each_once(&table, rule, error);
    const uint32_t count = sheet_count(&table);
    for (uint32_t i = 0; i < count && good; i++)
        good = add_sheet(list, &table, rule, i, count, error);
    free(table.text);
    free(table.row);
    return good;
}

bool rules_overrides_read(struct rule_list *list, const char *path, struct error *error)
{
    const size_t count = list->count;
    for (size_t i = 0; i < count; i++) {
        struct rule *rule = list->rule[i];
        if (rule->overrides_file.size == 0)
            continue;
        if (!read_file(list, rule, path, error))
            return false;
        rule->overrides_file = bytes_of("");
    }
    return true;
}
