/*
 * settings_reader finds values of the config by their paths, reads them, and makes the sentence
 * about a mistake from the place of the value in the file.
 */
#include "edge/settings/settings_reader.h"

#include "base/units.h"
#include "cluster/node.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum { SHOWN_BYTES = 64, PORT_MAX = 65535 };

/* ---- sentences ---- */

/* Makes a text from the file fit for one line of a terminal. */
static void show(char shown[SHOWN_BYTES + 4], const char *value)
{
    size_t size = 0;
    for (; size < SHOWN_BYTES && value[size]; size++)
        shown[size] = (unsigned char)value[size] < ' ' || value[size] == 127 ? '?' : value[size];
    memcpy(shown + size, value[size] ? "..." : "", value[size] ? 4 : 1);
}

/*
 * Returns the node at `path`, or the nearest node around it. *rest becomes the part of the path
 * that is absent.
 */
static const struct yaml_node *walk(const struct settings_reader *reader, const char *path, const char **rest)
{
    const struct yaml_node *at = reader->within;
    while (*path) {
        const struct bytes key = {path, strcspn(path, ".")};
        const struct yaml_node *child = yaml_first(at);
        while (child && !bytes_equal(child->key, key))
            child = yaml_next(reader->tree, at, child);
        if (!child)
            break;
        at = child;
        path += key.size + (path[key.size] == '.');
    }
    *rest = path;
    return at;
}

const struct yaml_node *reader_node(const struct settings_reader *reader, const char *path)
{
    const char *rest;
    const struct yaml_node *node = walk(reader, path, &rest);
    return *rest ? NULL : node;
}

const char *reader_text(const struct settings_reader *reader, const char *path)
{
    const struct yaml_node *node = reader_node(reader, path);
    return node && node->kind == YAML_TEXT ? node->text.data : NULL;
}

uint32_t reader_count(const struct settings_reader *reader, const char *path)
{
    const struct yaml_node *node = reader_node(reader, path);
    return node ? node->count : 0;
}

bool reader_entry(const struct settings_reader *reader, const char *path, uint32_t index,
                  struct settings_reader *entry)
{
    const struct yaml_node *list = reader_node(reader, path);
    if (!list || index >= list->count)
        return false;
    *entry = *reader;
    entry->within = yaml_first(list);
    while (index-- > 0)
        entry->within = yaml_next(reader->tree, list, entry->within);
    return true;
}

/* Writes "FILE:LINE: " and the sentence; if `named`, with the whole path and "is" between them. */
__attribute__((format(printf, 4, 0))) static bool say(const struct settings_reader *reader, const char *path,
                                                      bool named, const char *format, va_list arguments)
{
    char sentence[ERROR_TEXT_BYTES], whole[YAML_TREE_PATH_BYTES];
    const char *rest;
    const unsigned line = walk(reader, path, &rest)->line;
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    if (!named)
        return error_set(reader->error, EX_CONFIG, "%s:%u: %s", reader->file, line, sentence);
    (void)yaml_path(reader->tree, reader->within, whole);
    return error_set(reader->error, EX_CONFIG, "%s:%u: %s%s%s is %s", reader->file, line,
                     whole[0] || path[0] ? whole : "the file", whole[0] && path[0] ? "." : "", path, sentence);
}

bool reader_fail(const struct settings_reader *reader, const char *path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)say(reader, path, false, format, arguments);
    va_end(arguments);
    return false;
}

bool reader_is(const struct settings_reader *reader, const char *path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)say(reader, path, true, format, arguments);
    va_end(arguments);
    return false;
}

bool reader_wrong(const struct settings_reader *reader, const char *path, const char *value, const char *format,
                  ...)
{
    char expected[ERROR_TEXT_BYTES], shown[SHOWN_BYTES + 4];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    show(shown, value);
    return reader_is(reader, path, "'%s': expected %s", shown, expected);
}

bool reader_missing(const struct settings_reader *reader, const char *path, const char *expected)
{
    return reader_is(reader, path, "missing: expected %s", expected);
}

/* ---- numbers ---- */

bool read_duration(const struct settings_reader *reader, const char *path, uint64_t least_ns, uint64_t most_ns,
                   uint64_t *ns)
{
    const char *text = reader_text(reader, path);
    char least[UNITS_TEXT_BYTES], most[UNITS_TEXT_BYTES], example[UNITS_TEXT_BYTES];
    if (!text || units_take(bytes_of(text), units_parse_duration, least_ns, most_ns, ns))
        return true;
    return reader_wrong(reader, path, text, "a duration from %s to %s%s",
                        units_format_duration(least, sizeof least, least_ns),
                        units_format_duration(most, sizeof most, most_ns),
                        units_duration_examples(example, sizeof example, least_ns, most_ns));
}

bool read_duration_or_off(const struct settings_reader *reader, const char *path, uint64_t least_ns,
                          uint64_t most_ns, uint64_t *ns)
{
    const char *text = reader_text(reader, path);
    uint64_t value;
    if (text && strcmp(text, "off") == 0) {
        *ns = 0;
        return true;
    }
    if (text && !units_parse_duration(bytes_of(text), &value))
        return reader_wrong(reader, path, text, "off, or a duration such as 1h");
    return read_duration(reader, path, least_ns, most_ns, ns);
}

bool read_size(const struct settings_reader *reader, const char *path, uint64_t least, uint64_t most,
               uint64_t *bytes)
{
    const char *text = reader_text(reader, path);
    char from[UNITS_TEXT_BYTES], to[UNITS_TEXT_BYTES], example[UNITS_TEXT_BYTES];
    if (!text || units_take(bytes_of(text), units_parse_size, least, most, bytes))
        return true;
    return reader_wrong(reader, path, text, "a size from %s to %s%s", units_format_size(from, sizeof from, least),
                        units_format_size(to, sizeof to, most),
                        units_size_examples(example, sizeof example, least, most));
}

bool read_count(const struct settings_reader *reader, const char *path, uint64_t least, uint64_t most,
                uint64_t *count)
{
    const char *text = reader_text(reader, path);
    char from[UNITS_TEXT_BYTES], to[UNITS_TEXT_BYTES];
    if (!text || units_take(bytes_of(text), units_parse_count, least, most, count))
        return true;
    return reader_wrong(reader, path, text, "a whole number from %s to %s",
                        units_format_count(from, sizeof from, least), units_format_count(to, sizeof to, most));
}

bool read_small_count(const struct settings_reader *reader, const char *path, uint64_t least, uint64_t most,
                      uint32_t *count)
{
    uint64_t value = *count;
    if (!read_count(reader, path, least, most, &value))
        return false;
    *count = (uint32_t)value;
    return true;
}

const struct reader_choices reader_booleans = {"true or false", {"false", "true"}};

bool read_choice(const struct settings_reader *reader, const char *path, const struct reader_choices *choices,
                 unsigned *index)
{
    const char *text = reader_text(reader, path);
    if (!text)
        return true;
    for (unsigned i = 0; i < READER_CHOICES_MAX && choices->name[i]; i++)
        if (strcmp(text, choices->name[i]) == 0) {
            *index = i;
            return true;
        }
    return reader_wrong(reader, path, text, "%s", choices->expected);
}

bool read_weight(const struct settings_reader *reader, const char *path, uint64_t *billionths)
{
    static const char expected[] = "a decimal above 0 and at most 1, with at most 9 digits after the point";
    const char *text = reader_text(reader, path);
    if (!text)
        return reader_missing(reader, path, expected);
    const char *at = text;
    uint64_t value = 0, digit = 1000000000;
    if (*at == '0' || *at == '1')
        value = (uint64_t)(*at++ - '0') * digit;
    bool any = at > text;
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9' && digit > 1; at++, any = true)
            value += (uint64_t)(*at - '0') * (digit /= 10);
    if (!any || *at || value == 0 || value > 1000000000)
        return reader_wrong(reader, path, text, "%s", expected);
    *billionths = value;
    return true;
}

/* ---- texts ---- */

bool read_text(const struct settings_reader *reader, const char *path, char *out, size_t room, const char *expected)
{
    const char *text = reader_text(reader, path);
    if (text && (!text[0] || strlen(text) >= room))
        return reader_wrong(reader, path, text, "%s", expected);
    if (text)
        memcpy(out, text, strlen(text) + 1);
    return true;
}

static bool is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return text[0] && strspn(text, allowed) == strlen(text);
}

bool read_name(const struct settings_reader *reader, const char *path, char *name, size_t room,
               const char *expected)
{
    const char *text = reader_text(reader, path);
    if (!text)
        return reader_missing(reader, path, expected);
    if (!is_name(text) || strlen(text) >= room)
        return reader_wrong(reader, path, text, "%s: 1 to %zu letters, digits, dots, dashes or underscores",
                            expected, room - 1);
    memset(name, 0, room);
    memcpy(name, text, strlen(text));
    return true;
}

static bool is_host(const char *text, size_t size)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (size == 1 && text[0] == '*')
        return true;
    if (size > 2 && text[0] == '[' && text[size - 1] == ']')
        return strspn(text + 1, "0123456789abcdefABCDEF:.%") == size - 2;
    return size > 0 && strspn(text, allowed) == size;
}

bool host_port_parse(const char *text, char *address)
{
    const char *colon = strrchr(text, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    /* nng's limit on a URL leaves this many bytes after "tcp://" */
    bool good = colon && digits >= 1 && digits <= 5 && colon[1 + digits] == '\0' && strlen(text) < 120 &&
                is_host(text, (size_t)(colon - text));
    if (!good || address_port(text) < 1 || address_port(text) > PORT_MAX)
        return false;
    memset(address, 0, NODE_ADDRESS_BYTES);
    memcpy(address, text, strlen(text));
    return true;
}

bool read_address(const struct settings_reader *reader, const char *path, char *address)
{
    const char *text = reader_text(reader, path);
    return !text || host_port_parse(text, address) ||
           reader_wrong(reader, path, text, "host:port with a port from 1 to 65535");
}

unsigned address_port(const char *address)
{
    const char *colon = strrchr(address, ':');
    return colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
}

void address_host(const char *address, char *host)
{
    const char *colon = strrchr(address, ':');
    size_t size = colon ? (size_t)(colon - address) : strlen(address);
    memcpy(host, address, size);
    host[size] = '\0';
}

bool host_is_wildcard(const char *host)
{
    return strcmp(host, "*") == 0 || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "[::]") == 0;
}
