/*
 * far: how far memory is at that moment: random cache lines of more of it than any cache holds, in huge pages.
 *
 * The one idea: what else the machine does only adds to it, so of each small part the fastest of all tries counts. It
 * depends on what others do to the memory that a machine shares with them, and so does whatever touches many keys.
 */
#ifndef HEADGATE_TESTS_BENCH_FAR_H
#define HEADGATE_TESTS_BENCH_FAR_H

#include "base/random.h"
#include "tests/bench/measure.h"

#include <string.h>
#include <sys/mman.h>

enum {
    FAR_LINE_BYTES = 64,
    FAR_LINES = 1 << 13,
    FAR_PARTS = 32,
    FAR_HUGE_PAGE_BYTES = 2 << 20,
    FAR_HUGE_PAGES = 128
};

/* All zeros before far_open. */
struct far {
    char *line;
    /* For FAR_LINES of them, side by side and one after the other: the fastest. */
    uint64_t many_ns[FAR_PARTS], one_ns[FAR_PARTS];
};

static inline void far_open(struct far *far)
{
    const size_t bytes = (size_t)FAR_HUGE_PAGES * FAR_HUGE_PAGE_BYTES;
    far->line = aligned_alloc(FAR_HUGE_PAGE_BYTES, bytes);
    if (!far->line)
        give_up("not enough memory");
    (void)madvise(far->line, bytes, MADV_HUGEPAGE);
    memset(far->line, 0, bytes);
}

static inline void far_close(struct far *far)
{
    free(far->line);
}

/* Zeros all of them; that `after` goes into the place makes it wait for what was read before. */
static inline uint64_t far_read_line(const struct far *far, struct random *random, uint64_t after)
{
    const uint64_t lines = (uint64_t)FAR_HUGE_PAGES * FAR_HUGE_PAGE_BYTES / FAR_LINE_BYTES;
    return (uint64_t) * (const volatile char *)(far->line + (random_u64(random) + after) % lines * FAR_LINE_BYTES);
}

/* One try. */
static inline void far_read(struct far *far, struct random *random)
{
    for (int part = 0; part < FAR_PARTS; part++) {
        uint64_t read = 0, began_ns = clock_ns();
        for (int i = 0; i < FAR_LINES; i++)
            (void)far_read_line(far, random, 0);
        uint64_t then_ns = clock_ns(), many_ns = then_ns - began_ns;
        for (int i = 0; i < FAR_LINES; i++)
            read = far_read_line(far, random, read);
        uint64_t one_ns = clock_ns() - then_ns;
        keep_least(&far->many_ns[part], many_ns);
        keep_least(&far->one_ns[part], one_ns);
    }
}

static inline double far_per_line(const uint64_t *part_ns)
{
    uint64_t sum_ns = 0;
    for (int i = 0; i < FAR_PARTS; i++)
        sum_ns += part_ns[i];
    return (double)sum_ns / FAR_PARTS / FAR_LINES;
}

/* The beginning of a line. */
static inline void far_print(const struct far *far)
{
    printf("  a cache line from memory: %.1f ns, many at once %.1f ns each", far_per_line(far->one_ns),
           far_per_line(far->many_ns));
}

#endif
