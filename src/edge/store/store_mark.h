/*
 * store_mark: the number of transactions that a store's file must have, in a small file beside it.
 *
 * The one idea: SQLite reads its log up to the first damaged page and ignores the rest without an
 * error. So each transaction counts itself in the store's file, and the mark gets the count as soon
 * as the transaction is committed. A file with a lower count than the mark has lost transactions. A
 * mark may be behind, for instance after a crash, and then detects less; a mark is never ahead.
 */
#ifndef HEADGATE_EDGE_STORE_STORE_MARK_H
#define HEADGATE_EDGE_STORE_STORE_MARK_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store_count {
    /* All transactions of the file; the ones among them that brought versions of rules. */
    uint64_t transactions, rules;
};

/* Reads the mark at `path`. Zeros: there is no mark, or the file was not written by
 * store_mark_write. */
struct store_count store_mark_read(const char *path);
/* Opens the mark for writing and makes it if it is absent; the caller closes it with close(). -1:
 * it cannot be made. */
int store_mark_open(const char *path);
void store_mark_write(int file, const struct store_count *count);

enum { STORE_MARK_NAMES = 256 }; /* rules whose names a mark remembers: those that changed last */

/*
 * Notes that the transaction of that number brings a version of the rule, before the transaction
 * commits: a note counts once store_mark_write has counted its transaction. `index` numbers the
 * notes; STORE_MARK_NAMES later, another note takes its place.
 */
void store_mark_note(int file, uint64_t index, uint64_t transaction, struct bytes service, struct bytes id);
/*
 * Writes "service/id, service/id and 3 more" of the rules that transactions after `from` up to `to`
 * brought, as far as the mark at `path` knows their names and `out` has room. Returns how many
 * names it knows.
 */
size_t store_mark_names(const char *path, uint64_t from, uint64_t to, char *out, size_t room);

#endif
