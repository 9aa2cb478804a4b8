/*
 * store_mark: how many transactions a store's file must have, kept in a small file beside it.
 *
 * The one idea: SQLite reads its log up to the first page that is damaged, and takes what stands before for all there
 * ever was. So each transaction counts itself in the file, and is counted in the mark as soon as it is committed: a
 * file that has counted fewer has lost some. A mark that is behind, as after a crash, notices less; it is never ahead.
 */
#ifndef HEADGATE_EDGE_STORE_MARK_H
#define HEADGATE_EDGE_STORE_MARK_H

#include <stdbool.h>
#include <stdint.h>

struct store_count {
    uint64_t transactions, rules; /* of the file, ever; those of them that brought versions of rules */
};

/* Reads the mark at `path`; zeros when there is none, or none that was written by store_mark_write. */
struct store_count store_mark_read(const char *path);
/* Opens it for writing, and makes it if need be; -1: there cannot be one. To be closed with close(). */
int store_mark_open(const char *path);
void store_mark_write(int file, const struct store_count *count);

#endif
