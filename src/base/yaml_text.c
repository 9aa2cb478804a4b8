#include "base/yaml_text.h"

#include <stdint.h>

/* ---- lines ---- */

/* The offset behind the line that begins at `at`. A line ends as libyaml has it: LF, CR LF or CR. */
static size_t next_line(struct bytes text, size_t at)
{
    while (at < text.size && text.data[at] != '\n' && text.data[at] != '\r')
        at++;
    return at + (at + 1 < text.size && text.data[at] == '\r' && text.data[at + 1] == '\n') + 1;
}

unsigned yaml_text_line(struct bytes text, size_t offset)
{
    unsigned line = 1;
    for (size_t at = next_line(text, 0); at <= offset && at < text.size; at = next_line(text, at))
        line++;
    return line;
}

bool yaml_text_has_tab(struct bytes text, unsigned line)
{
    size_t at = 0;
    for (unsigned i = 1; i < line; i++)
        at = next_line(text, at);
    while (at < text.size && (text.data[at] == ' ' || text.data[at] == '-'))
        at++;
    return at < text.size && text.data[at] == '\t';
}

/* ---- characters ---- */

/* Removes the first character from a text in UTF-8, which libyaml has checked, and returns the
 * character. */
static uint32_t take_character(struct bytes *text)
{
    unsigned char first = (unsigned char)text->data[0];
    size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t character = size == 1 ? first : first & (0x7fu >> size);
    for (size_t i = 1; i < size && i < text->size; i++)
        character = character << 6 | ((unsigned char)text->data[i] & 0x3fu);
    size = size < text->size ? size : text->size;
    text->data += size;
    text->size -= size;
    return character;
}

/* False for characters that an escape such as "\0" or "\u2028" can produce, and that would not be
 * read back when written as themselves. */
static bool is_printable(uint32_t c)
{
    return c >= 0x20 && (c < 0x7f || c >= 0xa0) && c != 0x2028 && c != 0x2029 && c != 0xfeff && c != 0xfffe &&
           c != 0xffff;
}

bool yaml_text_take_printable(struct bytes *text)
{
    return is_printable(take_character(text));
}

bool yaml_text_is_printable(struct bytes text)
{
    while (text.size > 0)
        if (!yaml_text_take_printable(&text))
            return false;
    return true;
}
