/*
 * populate: has the system back large memory before the first request that needs it.
 *
 * The one idea: memory of a table is reserved at the start, and each page of it is zeroed when it is first touched: in
 * the middle of a request, which may take milliseconds. Here another thread asks for the pages, a slice at a time,
 * while requests are served; what memory holds is neither read nor written. Nothing depends on it.
 */
#ifndef HEADGATE_EDGE_POPULATE_H
#define HEADGATE_EDGE_POPULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

enum { POPULATE_PARTS_MAX = 4 };

struct populate {
    uv_work_t work;
    struct populate_part {
        char *memory; /* whole pages */
        size_t bytes;
    } part[POPULATE_PARTS_MAX];
    size_t part_count, part_at;
    size_t offset; /* of the next slice in part_at */
    size_t bytes;  /* that are there */
    int failed;    /* errno of the slice that was not to be had; 0: none yet */
    bool stopping;
    void (*ended)(void *context, size_t bytes, int failed);
    void *context;
};

/* Memory of the caller's that stays until the loop has run empty; before populate_start. At most POPULATE_PARTS_MAX. */
void populate_add(struct populate *populate, void *memory, size_t bytes);

/*
 * Begins, all zero but for what was added. `ended` is called in the loop when so many bytes are there, with 0, or where
 * the system refused: with its errno, EINVAL if it does not know how. It is not called after populate_stop. False: no
 * thread is to be had.
 */
bool populate_start(struct populate *populate, uv_loop_t *loop,
                    void (*ended)(void *context, size_t bytes, int failed), void *context);
/* No slice is begun any more; the loop runs empty when the one under way is done. */
void populate_stop(struct populate *populate);

#endif
