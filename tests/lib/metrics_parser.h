/*
 * metrics_parser: reads a page of metrics in the text form of Prometheus, and finds fault with its form.
 *
 * The one idea: a page is parsed as a whole, and its series are kept as they came. It is strict, so that a page which
 * some reader might refuse is refused here.
 */
#ifndef HEADGATE_TESTS_LIB_METRICS_PARSER_H
#define HEADGATE_TESTS_LIB_METRICS_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { METRICS_SERIES_MAX = 2000, METRICS_LINE_BYTES = 512 };

struct metrics_parsed {
    char line[METRICS_SERIES_MAX][METRICS_LINE_BYTES]; /* "name{labels} value", as they came */
    size_t series_count, family_count;
    char family[METRICS_LINE_BYTES]; /* of the last # TYPE */
    char families[64 * 1024];        /* " name name " of all */
    bool counter, histogram;
    char fault[2 * METRICS_LINE_BYTES]; /* the first one; "": none */
};
extern struct metrics_parsed metrics_parsed; /* the last page */

/* "": the page is as it should be; otherwise the first fault. */
const char *metrics_parse(const char *page);
/* True: the page has a metric of that name. */
bool metrics_has(const char *name, size_t size);
/* The value of "name" or "name{labels}", as it is written; "" if it is not there. */
const char *metrics_value(const char *series);
/* The sum of all series that begin so and have the label. */
uint64_t metrics_sum(const char *begin, const char *label);
/* How many series have the label. */
size_t metrics_count(const char *label);

#endif
