#include "edge/settings/settings_reader.h"

#include "base/units.h"
#include "cluster/node.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum { SHOWN_BYTES = 64, SENTENCE_BYTES = 360, PORT_MAX = 65535 };

/* ---- sentences ---- */

/* What stands in the file, fit for one line of a terminal. */
static void show(char shown[SHOWN_BYTES + 4], const char *value)
{
    size_t size = 0;
    for (; size < SHOWN_BYTES && value[size]; size++)
        shown[size] = (unsigned char)value[size] < ' ' || value[size] == 127 ? '?' : value[size];
    memcpy(shown + size, value[size] ? "..." : "", value[size] ? 4 : 1);
}

bool reader_wrong(const struct settings_reader *reader, const char *path, const char *value, const char *format,
                  ...)
{
    char expected[SENTENCE_BYTES], shown[SHOWN_BYTES + 4];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    show(shown, value);
    return error_set(reader->error, EX_CONFIG, "%s:%u: %s is '%s': expected %s", reader->file,
                     outline_line(reader->outline, path), path, shown, expected);
}

bool reader_missing(const struct settings_reader *reader, const char *path, const char *expected)
{
    return error_set(reader->error, EX_CONFIG, "%s:%u: %s is missing: expected %s", reader->file,
                     outline_line(reader->outline, path), path, expected);
}

bool reader_fail(const struct settings_reader *reader, const char *path, const char *format, ...)
{
    char sentence[SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return error_set(reader->error, EX_CONFIG, "%s:%u: %s", reader->file, outline_line(reader->outline, path),
                     sentence);
}

/* ---- numbers ---- */

bool read_duration(const struct settings_reader *reader, const char *path, const char *text, uint64_t least_ns,
                   uint64_t most_ns, uint64_t *ns)
{
    if (!text)
        return true;
    char least[UNITS_TEXT_BYTES], most[UNITS_TEXT_BYTES];
    uint64_t value;
    if (units_parse_duration(bytes_of(text), &value) && value >= least_ns && value <= most_ns) {
        *ns = value;
        return true;
    }
    return reader_wrong(reader, path, text, "a duration from %s to %s, such as 100ms or 2s",
                        units_format_duration(least, sizeof least, least_ns),
                        units_format_duration(most, sizeof most, most_ns));
}

bool read_size(const struct settings_reader *reader, const char *path, const char *text, uint64_t least,
               uint64_t most, uint64_t *bytes)
{
    if (!text)
        return true;
    char from[UNITS_TEXT_BYTES], to[UNITS_TEXT_BYTES];
    uint64_t value;
    if (units_parse_size(bytes_of(text), &value) && value >= least && value <= most) {
        *bytes = value;
        return true;
    }
    return reader_wrong(reader, path, text, "a size from %s to %s", units_format_size(from, sizeof from, least),
                        units_format_size(to, sizeof to, most));
}

bool read_count(const struct settings_reader *reader, const char *path, const char *text, uint64_t least,
                uint64_t most, uint64_t *count)
{
    if (!text)
        return true;
    char from[UNITS_TEXT_BYTES], to[UNITS_TEXT_BYTES];
    uint64_t value;
    if (units_parse_count(bytes_of(text), &value) && value >= least && value <= most) {
        *count = value;
        return true;
    }
    return reader_wrong(reader, path, text, "a whole number from %s to %s",
                        units_format_count(from, sizeof from, least), units_format_count(to, sizeof to, most));
}

bool read_bool(const struct settings_reader *reader, const char *path, const char *text, bool *value)
{
    if (!text)
        return true;
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return reader_wrong(reader, path, text, "true or false");
    *value = text[0] == 't';
    return true;
}

bool read_weight(const struct settings_reader *reader, const char *path, const char *text, uint64_t *billionths)
{
    static const char expected[] = "a decimal above 0 and at most 1, with at most 9 digits after the point";
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

/* ---- names and addresses ---- */

static bool is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return text[0] && strspn(text, allowed) == strlen(text);
}

bool read_name(const struct settings_reader *reader, const char *path, const char *text, char *name, size_t room,
               const char *expected)
{
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

bool read_address(const struct settings_reader *reader, const char *path, const char *text, char *address)
{
    if (!text)
        return true;
    const char *colon = strrchr(text, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    /* nng's own limit on an address leaves this much after "tcp://". */
    bool good = colon && digits >= 1 && digits <= 5 && colon[1 + digits] == '\0' && strlen(text) < 120 &&
                is_host(text, (size_t)(colon - text));
    if (!good || address_port(text) < 1 || address_port(text) > PORT_MAX)
        return reader_wrong(reader, path, text, "host:port with a port from 1 to 65535");
    memset(address, 0, NODE_ADDRESS_BYTES);
    memcpy(address, text, strlen(text));
    return true;
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
