/*
 * Reads and writes the patterns of lists and overrides. Escapes are removed first; `escaped`
 * remembers which characters had a backslash and are literals.
 */
#include "rules/rule_pattern.h"

#include "base/network.h"

#include <stdio.h>

/* A text without its backslashes. */
struct unescaped {
    size_t size;
    char text[PATTERN_TEXT_MAX_BYTES];
    bool escaped[PATTERN_TEXT_MAX_BYTES];
};

static bool is_special(char c)
{
    return c && strchr("\\*?[/-", c);
}

static void unescape(struct bytes text, struct unescaped *out)
{
    out->size = 0;
    for (size_t i = 0; i < text.size; i++) {
        bool escaped = text.data[i] == '\\' && i + 1 < text.size && is_special(text.data[i + 1]);
        i += escaped;
        out->text[out->size] = text.data[i];
        out->escaped[out->size++] = escaped;
    }
}

/* The index, from `from` on, of the first unescaped character of `characters`; out->size if there
 * is none. */
static size_t find(const struct unescaped *in, size_t from, const char *characters)
{
    while (from < in->size && (in->escaped[from] || !in->text[from] || !strchr(characters, in->text[from])))
        from++;
    return from;
}

static bool consists_of(struct bytes text, const char *characters)
{
    for (size_t i = 0; i < text.size; i++)
        if (!text.data[i] || !strchr(characters, text.data[i]))
            return false;
    return text.size > 0;
}

/* True for digits with the separators of addresses, followed by a slash and a number. */
static bool looks_like_network(struct bytes address, struct bytes bits)
{
    bool dotted = memchr(address.data, '.', address.size) || memchr(address.data, ':', address.size);
    return consists_of(address, dotted ? "0123456789abcdefABCDEF.:" : "0123456789") &&
           consists_of(bits, "0123456789.");
}

static bool refuse(char *expected, const char *text)
{
    (void)snprintf(expected, PATTERN_EXPECTED_BYTES, "%s", text);
    return false;
}

static bool read_network(struct bytes text, struct rule_pattern *pattern, char *expected)
{
    struct network network;
    char canonical[NETWORK_TEXT_BYTES];
    enum network_status status = network_parse(text, &network);
    if (status == NETWORK_MALFORMED)
        return refuse(expected, "a network such as 10.0.0.0/8 or 2001:db8::/32, or \\/ for the character itself");
    (void)network_text(&network, canonical);
    if (status == NETWORK_BEYOND) {
        (void)snprintf(expected, PATTERN_EXPECTED_BYTES, "%s, the network that it lies in, or all of its bits",
                       canonical);
        return false;
    }
    pattern->form = RULE_NETWORK;
    pattern->size = strlen(canonical);
    memcpy(pattern->value, canonical, pattern->size);
    return true;
}

static bool is_range(const struct unescaped *in)
{
    struct address ignored;
    size_t dash = find(in, 0, "-");
    return dash < in->size && address_parse((struct bytes){in->text, dash}, &ignored) &&
           address_parse((struct bytes){in->text + dash + 1, in->size - dash - 1}, &ignored);
}

bool rule_pattern_parse(struct bytes text, struct rule_pattern *pattern, char expected[PATTERN_EXPECTED_BYTES])
{
    struct unescaped in;
    if (text.size > PATTERN_TEXT_MAX_BYTES)
        return refuse(expected, "a value of at most 256 bytes");
    unescape(text, &in);
    const size_t size = in.size, star = find(&in, 0, "*"), slash = find(&in, 0, "/");
    if (star + 1 < size)
        return refuse(expected, "* as the last character, for all that begins so, or \\* for the character itself");
    if (find(&in, 0, "?[") < size)
        return refuse(expected,
                      "no ? or [, which are no patterns here, or \\? and \\[ for the characters themselves");
    if (slash == 0 && size > 1 && in.text[size - 1] == '/' && !in.escaped[size - 1])
        return refuse(expected, "no regular expression: a value, a beginning such as foo* or a network, or \\/");
    if (slash < size &&
        looks_like_network((struct bytes){in.text, slash}, (struct bytes){in.text + slash + 1, size - slash - 1}))
        return read_network((struct bytes){in.text, size}, pattern, expected);
    if (is_range(&in))
        return refuse(expected, "networks such as 10.0.0.0/8 instead of a range, or \\- for the character itself");
    pattern->form = star < size ? RULE_PREFIX : RULE_EXACT;
    pattern->size = star < size ? star : size;
    if (pattern->size >= RULE_VALUE_MAX_BYTES + (pattern->form == RULE_EXACT ? 1u : 0u))
        return refuse(expected, "a value of at most 256 bytes, a beginning of at most 255");
    memcpy(pattern->value, in.text, pattern->size);
    return true;
}

/* Copies `value` and puts a backslash before each character of `characters`. Returns the size. */
static size_t escape(struct bytes value, const char *characters, char *out)
{
    size_t size = 0;
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] && strchr(characters, value.data[i]))
            out[size++] = '\\';
        out[size++] = value.data[i];
    }
    return size;
}

size_t rule_pattern_text(enum rule_form form, struct bytes value, char out[PATTERN_TEXT_MAX_BYTES])
{
    struct rule_pattern same;
    char ignored[PATTERN_EXPECTED_BYTES];
    if (form == RULE_NETWORK) {
        memcpy(out, value.data, value.size);
        return value.size;
    }
    size_t size = escape(value, "\\*?[", out);
    if (form == RULE_PREFIX)
        out[size++] = '*';
    else if (!rule_pattern_parse((struct bytes){out, size}, &same, ignored) || same.form != RULE_EXACT)
        size = escape(value, "\\*?[/-", out);
    return size;
}
