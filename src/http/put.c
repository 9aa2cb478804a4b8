#include "http/put.h"

#include <math.h>
#include <stdio.h>

static void put_quoted(struct output *output, struct bytes text, bool utf8)
{
    static const char digits[] = "0123456789abcdef";
    put_text(output, "\"");
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        const char escaped[] = {'\\', (char)c}, control[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
        if (c == '"' || c == '\\')
            output_append(output, escaped, sizeof escaped);
        else if (c < ' ' || c == 0x7f)
            output_append(output, control, sizeof control);
        else if (c > 0x7f && !utf8)
            put_text(output, "?");
        else
            output_append(output, &text.data[i], 1);
    }
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
