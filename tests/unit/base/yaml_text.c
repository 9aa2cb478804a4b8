/* Lines, tabs and characters of a text, as sentences about it need them. */
#include "base/yaml_text.h"

#include "tests/lib/tap.h"

static unsigned line_of(const char *text, size_t offset)
{
    return yaml_text_line(bytes_of(text), offset);
}

static void lines(void)
{
    OK_U64(line_of("a\nb", 0), 1, "the first byte");
    OK_U64(line_of("a\nb", 1), 1, "the end of a line belongs to the line");
    OK_U64(line_of("a\nb", 2), 2, "LF ends a line");
    OK_U64(line_of("a\r\nb", 3), 2, "CR LF ends one line");
    OK_U64(line_of("a\rb", 2), 2, "CR ends a line");
    OK_U64(line_of("a\n\nb", 3), 3, "an empty line counts");
    OK_U64(line_of("a\n", 2), 1, "no line begins behind the text");
    OK_U64(line_of("", 0), 1, "an empty text has one line");
}

static void tabs(void)
{
    const struct bytes text = bytes_of("a:\n\tb: 1\n  -\tc\nd:\te\n");
    OK(!yaml_text_has_tab(text, 1), "no tab");
    OK(yaml_text_has_tab(text, 2), "a tab at the begin of a line indents it");
    OK(yaml_text_has_tab(text, 3), "a tab behind a dash does so as well");
    OK(!yaml_text_has_tab(text, 4), "a tab behind a key does not");
    OK(!yaml_text_has_tab(text, 9), "a line that is not there has no tab");
}

static void characters(void)
{
    struct bytes text = bytes_of("a\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80");
    OK(yaml_text_take_printable(&text) && text.size == 9, "a character of one byte");
    OK(yaml_text_take_printable(&text) && text.size == 7, "one of two");
    OK(!yaml_text_take_printable(&text) && text.size == 4, "U+2028, of three, is not printable");
    OK(yaml_text_take_printable(&text) && text.size == 0, "one of four");
    OK(yaml_text_is_printable(bytes_of("caf\xc3\xa9")), "a text of such characters");
    OK(yaml_text_is_printable(bytes_of("")), "and an empty one");
    OK(!yaml_text_is_printable(bytes_of("a\x1b[0m")), "an escape of terminals is not printable");
    OK(!yaml_text_is_printable(bytes_of("\xc2\x85")), "nor is U+0085");
    OK(!yaml_text_is_printable((struct bytes){"a\0b", 3}), "nor is a zero byte");
}

int main(void)
{
    lines();
    tabs();
    characters();
    return tap_done();
}
