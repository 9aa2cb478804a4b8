/*
 * store: what a daemon keeps over its end: versions of rules and counters of quotas, in one SQLite file.
 *
 * The one idea: whoever puts something in only appends to a bounded queue in memory; one thread of the store's own
 * writes it, in whole transactions, and tries again each second while the disk does not take it. Everything put is
 * absolute, so that a newer value of a counter replaces one that still waits, and doing it twice is doing it once.
 * A file that is torn or corrupt is set aside, what can still be read is taken over, and a fresh one begins. What
 * versions and counters mean is not known here. All calls come from one thread, the owner's.
 */
#ifndef HEADGATE_EDGE_STORE_H
#define HEADGATE_EDGE_STORE_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "cluster/node.h"
#include "limit/limit.h"
#include "rules/rulebook.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STORE_PATH_BYTES = 512,          /* with the terminator */
    STORE_FIELD_MAX_BYTES = 1 << 20, /* the longest text of a version */
};

/*
 * What is used up of one key. `number`: of a BUCKET nothing, `until_wall_ns` says it all (when it is full again); else
 * tokens spent. `until_wall_ns`: when it means nothing any more; once that is over it is deleted.
 */
struct store_counter {
    struct key_id id;
    struct limit_terms terms;
    uint64_t number;
    uint64_t until_wall_ns;
};

enum store_sync {
    STORE_SYNC_NORMAL, /* rules reach the disk at once, counters with the next checkpoint: kill -9 loses neither */
    STORE_SYNC_FULL,   /* counters, too, at once: a power cut loses neither */
};

struct store_options {
    const char *directory;       /* exists and can be written; the file in it is headgate.db */
    uint64_t counters_max;       /* distinct keys that may wait to be written */
    uint64_t versions_max_bytes; /* versions that may wait: at least what all of them together need */
    enum store_sync sync;
    uint64_t secret; /* a fingerprint of what ids of counters are made with: those made with another are not read */
    void (*wake)(void *context); /* called by the store's thread: store_notice has something; may be NULL */
    void *context;
};

struct store;

/*
 * Opens the file, or makes it. A damaged one is renamed to headgate.db.corrupt-TIME, and a notice says so. NULL with
 * `error` set when there cannot be one: no room, no right, another process has it, or a newer headgated made it.
 */
struct store *store_open(const struct store_options *options, struct error *error);

/* Who is told of what is in the file. Views are valid during the call. */
struct store_reader {
    void *context;
    void (*versions)(void *context, const struct rule_record *version, size_t count);
    void (*counters)(void *context, const struct store_counter *counter, size_t count);
};

/*
 * Tells the reader of everything, in pages: versions of one rule from old to new, no counter of the past or under
 * another secret. Once, right after store_open.
 */
void store_read(struct store *store, const struct store_reader *reader);

/* Copies them into the queue; those of one call become durable together. */
void store_put_versions(struct store *store, const struct rule_record *version, size_t count);

/*
 * In any thread: the number of the newest call that put versions, and whether all up to that number is on the disk, so
 * that neither `kill -9` nor a power cut loses it. STORE_FAILS: it is in memory alone, and `why` says why: the last
 * write failed, or none was done for STORE_KEEP_WAIT_NS. It is tried again until it is kept.
 */
#define STORE_KEEP_WAIT_NS 10000000000u
enum store_kept { STORE_KEPT, STORE_KEEPS, STORE_FAILS };
uint64_t store_versions_put(struct store *store);
enum store_kept store_versions_kept(struct store *store, uint64_t number, char why[NODE_NOTICE_BYTES]);
/* The same for counters; no allocation. At counters_max, further keys are dropped and counted. */
void store_put_counters(struct store *store, const struct store_counter *counter, size_t count);

/*
 * True once after the file was made anew, or versions were dropped at the queue's bound: what the owner knows is to
 * be put in again, all of it.
 */
bool store_wants_all(struct store *store);

/* The next thing that an operator wants to read; false when there is none. */
bool store_notice(struct store *store, struct notice *notice);

/* X(name, what it counts) */
#define STORE_STATS(X)                                                                                             \
    X(versions_written, "versions of rules written")                                                               \
    X(counters_written, "counters written")                                                                        \
    X(counters_aside, "counters under another secret, which are kept and not used (now)")                          \
    X(counters_aside_dropped, "counters under another secret that were dropped at their bound")                    \
    X(counters_expired, "counters deleted because their time was over")                                            \
    X(transactions, "transactions committed")                                                                      \
    X(versions_waiting, "versions that wait to be written (now)")                                                  \
    X(counters_waiting, "counters that wait to be written (now)")                                                  \
    X(versions_dropped, "versions dropped at the queue's bound")                                                   \
    X(counters_dropped, "counters dropped at the queue's bound")                                                   \
    X(write_failures, "writes that failed, and were or will be tried again")                                       \
    X(transactions_lost, "committed transactions that a file had lost when it was opened")                         \
    X(files_set_aside, "damaged files set aside")                                                                  \
    X(commit_ns, "the last transaction's time (now)")                                                              \
    X(file_bytes, "size of the file and its log (now)")

struct store_stats {
#define X(name, help) uint64_t name;
    STORE_STATS(X)
#undef X
    bool failing;                    /* the last write failed */
    char failure[NODE_NOTICE_BYTES]; /* why; "" when it did not */
};

void store_stats(struct store *store, struct store_stats *stats);
const char *store_path(const struct store *store);

/* Waits until everything that was put is written: false after `timeout_ns`. For tests. */
bool store_flush(struct store *store, uint64_t timeout_ns);

/* Writes what waits, trying once, and ends. False: it could not be written and is lost. */
bool store_close(struct store **store);

#endif
