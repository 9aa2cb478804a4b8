/*
 * bytes: a view of memory that somebody else owns.
 *
 * A view is valid as long as its owner says; it is not terminated by a zero. Copies are made only
 * where a declaration says so.
 */
#ifndef HEADGATE_BASE_BYTES_H
#define HEADGATE_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    const char *data; /* may be NULL only if size is 0 */
    size_t size;
};

/* A view of a terminated string, without its terminator. */
static inline struct bytes bytes_of(const char *text)
{
    return (struct bytes){.data = text, .size = strlen(text)};
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* The order of memcmp; of two that begin alike, the shorter one is first. Below 0: `a` is first. */
static inline int bytes_compare(struct bytes a, struct bytes b)
{
    const size_t common = a.size < b.size ? a.size : b.size;
    const int order = common > 0 ? memcmp(a.data, b.data, common) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

#endif
