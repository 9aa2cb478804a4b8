#include "http/metrics_page.h"

#include "http/put.h"

#include <assert.h>
#include <string.h>

enum { NAME_BYTES = 96 }; /* with the terminator; names are constants */

void page_begin(struct metrics_page *page)
{
    page->begun = page->output->size;
}

bool page_end(struct metrics_page *page)
{
    struct output *output = page->output;
    if (!output->overflowed)
        return true;
    output->size = output->room = page->begun; /* nothing fits any more */
    output->overflowed = false;
    page->truncated = true;
    return false;
}

static void put_metric(struct output *output, const char *name)
{
    put_text(output, strncmp(name, "process_", 8) == 0 ? "" : "headgate_");
    put_text(output, name);
}

static void put_head(struct output *output, const char *name, const char *type, struct bytes help)
{
    put_text(output, "# HELP ");
    put_metric(output, name);
    put_text(output, " ");
    put_bytes(output, help);
    put_text(output, "\n# TYPE ");
    put_metric(output, name);
    put_text(output, " ");
    put_text(output, type);
    put_text(output, "\n");
}

void page_head(struct metrics_page *page, const char *name, const char *type, const char *help)
{
    page_begin(page);
    put_head(page->output, name, type, bytes_of(help));
    (void)page_end(page);
}

void page_name(struct metrics_page *page, const char *name)
{
    put_metric(page->output, name);
}

void page_label(struct metrics_page *page, unsigned labels, const char *name, struct bytes value)
{
    struct output *output = page->output;
    put_text(output, labels == 0 ? "{" : ",");
    put_text(output, name);
    put_text(output, "=\"");
    for (size_t i = 0; i < value.size; i++) {
        const unsigned char c = (unsigned char)value.data[i];
        if (c == '\n')
            put_text(output, "\\n");
        else if (c == '"' || c == '\\')
            output_append(output, (const char[]){'\\', (char)c}, 2);
        else
            output_append(output, c >= ' ' && c < 0x7f ? (const char *)&value.data[i] : "?", 1);
    }
    put_text(output, "\"");
}

static void put_value(struct output *output, uint64_t value, uint64_t divisor)
{
    put_number(output, value / divisor);
    if (divisor > 1)
        put_text(output, ".");
    for (divisor /= 10; divisor > 0; divisor /= 10)
        put_number(output, value / divisor % 10);
    put_text(output, "\n");
}

void page_value(struct metrics_page *page, unsigned labels, uint64_t value, uint64_t divisor)
{
    put_text(page->output, labels > 0 ? "} " : " ");
    put_value(page->output, value, divisor);
}

void page_signed_value(struct metrics_page *page, unsigned labels, int64_t value, uint64_t divisor)
{
    put_text(page->output, labels > 0 ? "} " : " ");
    put_text(page->output, value < 0 ? "-" : "");
    put_value(page->output, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, divisor);
}

void page_gauge(struct metrics_page *page, const char *name, const char *help, uint64_t value, uint64_t divisor)
{
    page_begin(page);
    put_head(page->output, name, "gauge", bytes_of(help));
    page_name(page, name);
    page_value(page, 0, value, divisor);
    (void)page_end(page);
}

/* Takes `tail` away from the end of `text`. False: the text does not end so. */
static bool cut(struct bytes *text, const char *tail)
{
    const size_t size = strlen(tail);
    if (text->size < size || memcmp(text->data + text->size - size, tail, size) != 0)
        return false;
    text->size -= size;
    return true;
}

void page_row(struct metrics_page *page, const char *prefix, const char *name, const char *help, uint64_t value)
{
    char room[NAME_BYTES];
    struct output full = output_over(room, sizeof room);
    struct bytes stem = bytes_of(strncmp(name, "total_", 6) == 0 ? name + 6 : name), text = bytes_of(help);
    const uint64_t divisor = cut(&stem, "_ms") ? 1000 : cut(&stem, "_ns") ? 1000000000 : 1;
    struct bytes most = text; /* that mark stays in the help: the gauge is a maximum */
    const bool gauge = cut(&text, " (now)") || cut(&most, " (most)");
    put_text(&full, prefix);
    put_bytes(&full, stem);
    put_text(&full, divisor > 1 ? "_seconds" : "");
    put_text(&full, gauge ? "" : "_total");
    output_append(&full, "", 1);
    assert(!full.overflowed);
    page_begin(page);
    put_head(page->output, room, gauge ? "gauge" : "counter", text);
    page_name(page, room);
    page_value(page, 0, value, divisor);
    (void)page_end(page);
}
