#include "http/put.h"

void put_string(struct output *output, struct bytes text)
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
        else if (c > 0x7f)
            put_text(output, "?");
        else
            output_append(output, &text.data[i], 1);
    }
    put_text(output, "\"");
}
