/*
 * Reads fields of a rule from nodes of the tree, and makes the sentences about wrong ones.
 */
#include "rules/rule_reader.h"

#include "base/nearest.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

enum { SHOWN_BYTES = 64 };

/* The number of bytes of `text` that a sentence shows, in whole characters. */
static int shown(struct bytes text)
{
    size_t size = text.size < SHOWN_BYTES ? text.size : SHOWN_BYTES;
    while (size > 0 && size < text.size && ((unsigned char)text.data[size] & 0xc0) == 0x80)
        size--;
    return (int)size;
}

/*
 * Marks the parts of a sentence that ends with `what`: "FIELD is 'VALUE': expected EXPECTED", of which all but the
 * field may be missing or otherwise: "FIELD is unknown: did you mean EXPECTED?" is one such. Nothing is marked where
 * the sentence was cut, or is about the rule itself (it).
 */
static void mark_parts(struct error *error, const char *what)
{
    static const char is[] = " is '", expected[] = ": expected ", did_you_mean[] = " is unknown: did you mean ";
    const size_t size = strlen(error->text), what_size = strlen(what), field_size = strcspn(what, " ");
    const bool is_whole = what_size <= size && strcmp(error->text + size - what_size, what) == 0;
    if (!is_whole || strncmp(what, "it ", 3) == 0 || strncmp(what, "its ", 4) == 0)
        return;
    const size_t begins = size - what_size;
    const char *meant = strstr(what, did_you_mean), *expects = strstr(what, expected),
               *value = what + field_size + sizeof is - 1;
    error->field = (struct error_part){(uint16_t)begins, (uint16_t)field_size};
    for (const char *next = expects; next; next = strstr(next + 1, expected))
        expects = next; /* a value may say the same */
    if (meant && what[what_size - 1] == '?') {
        const size_t meant_at = (size_t)(meant - what) + sizeof did_you_mean - 1;
        error->expected = (struct error_part){(uint16_t)(begins + meant_at), (uint16_t)(what_size - 1 - meant_at)};
    }
    if (!expects)
        return;
    const size_t expects_at = (size_t)(expects - what) + sizeof expected - 1;
    error->expected = (struct error_part){(uint16_t)(begins + expects_at), (uint16_t)(what_size - expects_at)};
    if (strncmp(what + field_size, is, sizeof is - 1) == 0 && expects > value && expects[-1] == '\'')
        error->value =
            (struct error_part){(uint16_t)(begins + (size_t)(value - what)), (uint16_t)(expects - 1 - value)};
}

bool rule_fail(const struct rule_reader *reader, unsigned line, const char *format, ...)
{
    char what[ERROR_TEXT_BYTES], number[16];
    bool named = reader->service.size > 0 && !bytes_equal(reader->service, bytes_of(RULE_DEFAULT_SERVICE));
    struct bytes id = reader->id;
    if (id.size == 0) {
        (void)snprintf(number, sizeof number, "%u", reader->number);
        id = bytes_of(number);
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    (void)error_set(reader->error, EX_DATAERR, "%s:%u: rule %.*s%s%.*s: %s", reader->file, line,
                    named ? shown(reader->service) : 0, named ? reader->service.data : "", named ? "/" : "",
                    shown(id), id.data, what);
    mark_parts(reader->error, what);
    return false;
}

bool rule_unknown(const struct rule_reader *reader, const struct yaml_node *node, const char *within,
                  const char *const *names, size_t count, const char *expected)
{
    struct nearest nearest = {.written = node->key};
    for (size_t i = 0; i < count; i++)
        nearest_try(&nearest, names[i]);
    if (yaml_is_rest_of_number(node))
        return rule_fail(reader, node->line, "%s%.32s is unknown: expected " YAML_NUMBER_EXPECTED, within,
                         node->key.data);
    if (nearest.name)
        return rule_fail(reader, node->line, "%s%.64s is unknown: did you mean %s?", within, node->key.data,
                         nearest.name);
    return rule_fail(reader, node->line, "%s%.64s is unknown: expected %s", within, node->key.data, expected);
}

bool rule_wrong(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                const char *expected)
{
    if (node->kind != YAML_TEXT)
        return rule_fail(reader, node->line, "%s is a %s: expected %s", field,
                         node->kind == YAML_MAP ? "map" : "list", expected);
    if (yaml_is_rest_of_number(node))
        expected = YAML_NUMBER_EXPECTED;
    bool cut = shown(node->text) < (int)node->text.size;
    return rule_fail(reader, node->line, "%s is '%.*s%s': expected %s", field, shown(node->text), node->text.data,
                     cut ? "..." : "", expected);
}

bool rule_read_text(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                    size_t most_bytes, const char *expected, struct bytes *text)
{
    if (!node)
        return true;
    if (node->kind != YAML_TEXT || node->text.size == 0 || node->text.size > most_bytes)
        return rule_wrong(reader, node, field, expected);
    *text = node->text;
    return true;
}

bool rule_is_name(struct bytes text, const char *also)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                    c == '-' || c == '_' || (c && strchr(also, c));
        if (!good)
            return false;
    }
    return text.size > 0;
}

bool rule_read_name(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                    size_t most_bytes, struct bytes *name)
{
    char expected[96];
    (void)snprintf(expected, sizeof expected, "1 to %zu letters, digits, dots, dashes, underscores", most_bytes);
    if (node && (node->kind != YAML_TEXT || !rule_is_name(node->text, "")))
        return rule_wrong(reader, node, field, expected);
    return rule_read_text(reader, node, field, most_bytes, expected, name);
}

bool rule_read_choice(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                      const struct rule_choices *choices, int *choice)
{
    char expected[160];
    if (!node)
        return true;
    int index = node->kind == YAML_TEXT ? rule_choice(choices, node->text) : -1;
    if (index < 0)
        return rule_wrong(reader, node, field, rule_choices_text(choices, expected, sizeof expected));
    *choice = index;
    return true;
}

bool rule_read_count(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                     uint64_t least, uint64_t most, uint64_t *count)
{
    char expected[96];
    if (!node || (node->kind == YAML_TEXT && units_take(node->text, units_parse_count, least, most, count)))
        return true;
    (void)snprintf(expected, sizeof expected, "a count from %" PRIu64 " to %" PRIu64, least, most);
    return rule_wrong(reader, node, field, expected);
}

bool rule_read_duration(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                        uint64_t least_ns, uint64_t most_ns, uint64_t *ns)
{
    char expected[256], least[UNITS_TEXT_BYTES], most[UNITS_TEXT_BYTES], example[UNITS_TEXT_BYTES];
    if (!node || (node->kind == YAML_TEXT && units_take(node->text, units_parse_duration, least_ns, most_ns, ns)))
        return true;
    (void)snprintf(expected, sizeof expected, "a duration from %s to %s%s",
                   rule_duration_text(least_ns, least, sizeof least),
                   rule_duration_text(most_ns, most, sizeof most),
                   units_duration_examples(example, sizeof example, least_ns, most_ns));
    return rule_wrong(reader, node, field, expected);
}

bool rule_read_percent(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                       uint64_t least, uint64_t most, uint64_t *millionths)
{
    char expected[96], low[32], high[32];
    if (!node || (node->kind == YAML_TEXT && units_take(node->text, units_parse_percent, least, most, millionths)))
        return true;
    (void)snprintf(expected, sizeof expected, "a part from %s to %s", rule_percent_text(least, low, sizeof low),
                   rule_percent_text(most, high, sizeof high));
    return rule_wrong(reader, node, field, expected);
}

bool rule_read_group(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                     enum yaml_kind kind, uint32_t most)
{
    if (!node)
        return true;
    if (node->kind != kind)
        return rule_wrong(reader, node, field, kind == YAML_MAP ? "a map" : "a list");
    if (node->count > most)
        return rule_fail(reader, node->line, "%s has %u entries: expected at most %u", field, node->count, most);
    return true;
}
