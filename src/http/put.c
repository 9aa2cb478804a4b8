#include "http/put.h"

#include <math.h>
#include <stdio.h>

static bool is_plain(unsigned char c, bool utf8)
{
    return c >= ' ' && c != '"' && c != '\\' && (c < 0x7f || (c > 0x7f && utf8));
}

/* Puts a character that does not stand for itself. */
static void put_escaped(struct output *output, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    const char escaped[] = {'\\', (char)c}, control[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
    if (c == '"' || c == '\\')
        output_append(output, escaped, sizeof escaped);
    else if (c <= 0x7f)
        output_append(output, control, sizeof control);
    else
        put_text(output, "?");
}

/* Most texts are plain as a whole, and are put as a whole. */
static void put_quoted(struct output *output, struct bytes text, bool utf8)
{
    size_t begun = 0;
    put_text(output, "\"");
    for (size_t i = 0; i < text.size; i++) {
        if (is_plain((unsigned char)text.data[i], utf8))
            continue;
        output_append(output, text.data + begun, i - begun);
        put_escaped(output, (unsigned char)text.data[i]);
        begun = i + 1;
    }
    output_append(output, text.data + begun, text.size - begun);
    put_text(output, "\"");
}

void put_string(struct output *output, struct bytes text)
{
    put_quoted(output, text, false);
}

void put_utf8(struct output *output, struct bytes text)
{
    put_quoted(output, text, true);
}

void put_optional(struct output *output, const char *before, struct bytes text)
{
    put_text(output, before);
    if (text.size > 0)
        put_string(output, text);
    else
        put_text(output, "null");
}

void put_real(struct output *output, double number, int places)
{
    char text[64];
    const int size = snprintf(text, sizeof text, "%.*f", places, number);
    if (isfinite(number) && size > 0 && (size_t)size < sizeof text)
        output_append(output, text, (size_t)size);
    else
        put_text(output, "null");
}
