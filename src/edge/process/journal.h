/*
 * journal: a file that lines are added to, by any thread, without waiting for a disk.
 *
 * The one idea: a line is copied into a buffer of fixed size, and a thread of the journal's own writes the buffer. When
 * the disk is slow or full, lines are dropped or lost, and counted; whoever wrote them goes on. The file is only added
 * to, and can be opened anew after it was renamed. Does not know what the lines say.
 */
#ifndef HEADGATE_EDGE_PROCESS_JOURNAL_H
#define HEADGATE_EDGE_PROCESS_JOURNAL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JOURNAL_BYTES = 256 << 10, /* of lines that wait to be written */
    JOURNAL_LINE_MAX_BYTES = 2048,
};

/* X(name, what it counts) */
#define JOURNAL_STATS(X)                                                                                           \
    X(lines, "lines that were written")                                                                            \
    X(dropped, "lines dropped because too many waited for the disk")                                               \
    X(lost, "lines lost because a write failed")

struct journal_stats {
#define X(name, help) uint64_t name;
    JOURNAL_STATS(X)
#undef X
    bool failing; /* the last write, or the last opening, failed */
    int reason;   /* why it failed, as errno has it */
};

struct journal;

/* Opens the file, or makes it (mode 0640), and starts the thread. NULL with `error` (EX_CANTCREAT, EX_OSERR). */
struct journal *journal_open(const char *path, struct error *error);
/* Writes what waits, and closes. */
void journal_close(struct journal **journal);

/* Adds a line, with its end. False: it was dropped. */
bool journal_put(struct journal *journal, const char *line, size_t size);
/* The file is opened by its path again before the next line is written. */
void journal_reopen(struct journal *journal);
void journal_stats(struct journal *journal, struct journal_stats *stats);

#endif
