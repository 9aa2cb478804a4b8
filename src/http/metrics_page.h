/*
 * metrics_page: the text format of Prometheus, in a room of fixed size. Internal to src/http.
 *
 * The one idea: a page consists of pieces, which are whole lines. A piece that does not fit is left out as a whole,
 * and so are all pieces behind it; page->truncated remembers that. What a metric means is not its business.
 *
 * A row of a table of figures (X(name, help)) becomes a metric by its name and its help alone:
 *   - help that ends with "(now)" or "(most)": a gauge; else a counter, whose name ends with _total
 *   - a name with _ms or _ns at its end: a time, in _seconds
 *   - "total_" before a name falls away
 */
#ifndef HEADGATE_HTTP_METRICS_PAGE_H
#define HEADGATE_HTTP_METRICS_PAGE_H

#include "base/bytes.h"
#include "wire/output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct metrics_page {
    struct output *output;
    bool truncated;
    size_t begun; /* the piece */
};

void page_begin(struct metrics_page *page);
/* False: the piece was left out. */
bool page_end(struct metrics_page *page);

/*
 * The two lines before the values of a metric: a piece. `type` is "counter", "gauge" or "histogram"; `name` without
 * "headgate_".
 */
void page_head(struct metrics_page *page, const char *name, const char *type, const char *help);
/*
 * The parts of a value's line, in this order: page_name, any number of page_label, page_value. `labels` counts those
 * that were written.
 */
void page_name(struct metrics_page *page, const char *name);
void page_label(struct metrics_page *page, unsigned labels, const char *name, struct bytes value);
/* value / divisor, exactly; `divisor` is a power of ten. */
void page_value(struct metrics_page *page, unsigned labels, uint64_t value, uint64_t divisor);
/* The same of a value that may be below zero. */
void page_signed_value(struct metrics_page *page, unsigned labels, int64_t value, uint64_t divisor);

/* A gauge with one value: a piece. */
void page_gauge(struct metrics_page *page, const char *name, const char *help, uint64_t value, uint64_t divisor);
/* A row of a table of figures: a piece. `prefix` comes before its name. */
void page_row(struct metrics_page *page, const char *prefix, const char *name, const char *help, uint64_t value);

#endif
