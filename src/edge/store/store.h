/*
 * store: the file that keeps versions of rules and counters of quotas over restarts, in SQLite.
 *
 * The one idea: a put only appends to a bounded queue in memory. The store's own thread writes the
 * queue in whole transactions, and retries each second while the disk fails. All values are
 * absolute: a newer value of a counter replaces one that still waits, and writing a value twice
 * changes nothing. A torn or corrupt file is set aside; a new file takes over everything that can
 * still be read. The store does not know the meaning of versions and counters. The owner's thread
 * alone makes calls, unless a declaration says otherwise.
 */
#ifndef HEADGATE_EDGE_STORE_STORE_H
#define HEADGATE_EDGE_STORE_STORE_H

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
    STORE_PARTS_MAX = COUNTER_PARTS_MAX,
};

/* Tokens of a LOG that count until then. */
struct store_part {
    uint64_t until_wall_ns, tokens;
};

/*
 * What a key has used. `number` is the spent tokens; it is unused for a BUCKET, where
 * `until_wall_ns` is the time at which the bucket is full again. `until_wall_ns` is the end of the
 * counter's meaning, after which the store deletes the counter: of a LOG, when the last of its tokens ends.
 */
struct store_counter {
    struct key_id id;
    struct limit_terms terms;
    uint64_t number;
    uint64_t until_wall_ns;
    /* Of a LOG: when all its tokens end, newest first; none: all end with the last. Valid as long as the counter is. */
    uint32_t part_count;
    const struct store_part *part;
};

enum store_sync {
    STORE_SYNC_NORMAL, /* rules reach the disk at once, counters at the next checkpoint: kill -9 loses neither */
    STORE_SYNC_FULL,   /* counters reach the disk at once as well: a power cut loses neither */
};

struct store_options {
    const char *directory;       /* must exist and be writable; the file in it is headgate.db */
    uint64_t counters_max;       /* distinct keys whose counters may wait */
    uint64_t versions_max_bytes; /* bytes of versions that may wait: at least the size of all versions */
    enum store_sync sync;
    /* Fingerprint of the secret behind the ids of counters; counters under another secret are not
     * read. */
    uint64_t secret;
    bool is_expected; /* a daemon has used the directory before: a notice says so if there is no file */
    /* The store's thread calls it when store_notice has a notice, or when further versions are kept; may be NULL. */
    void (*wake)(void *context);
    void *context;
};

struct store;

/*
 * Opens or makes the file. A damaged file is renamed to headgate.db.corrupt-TIME, and a notice says
 * so. NULL, with `error` set: no file is possible, because room or rights are missing, another
 * process has the file, or a newer headgated made it.
 */
struct store *store_open(const struct store_options *options, struct error *error);

/* Receives the content of the file. Views are valid during the call. */
struct store_reader {
    void *context;
    void (*versions)(void *context, const struct rule_record *version, size_t count);
    void (*counters)(void *context, const struct store_counter *counter, size_t count);
};

/*
 * Passes the whole content to the reader, in pages: the versions of a rule from old to new, and
 * counters that have not ended and belong to the secret in use. Must be called once, right after
 * store_open. False: the system has no thread for the store.
 */
bool store_read(struct store *store, const struct store_reader *reader, struct error *error);

/* Copies versions into the queue. The versions of one call become durable together. */
void store_put_versions(struct store *store, const struct rule_record *version, size_t count);

/*
 * May be called in any thread. store_versions_put gives the number of the newest call that put
 * versions. store_versions_kept says whether all calls up to a number are on disk, where neither
 * `kill -9` nor a power cut loses them. STORE_FAILS: they are in memory only, and `why` gives the
 * reason: the last write failed, or no write ended for STORE_KEEP_WAIT_NS. The store retries until
 * they are kept.
 */
#define STORE_KEEP_WAIT_NS 10000000000u
enum store_kept { STORE_KEPT, STORE_KEEPS, STORE_FAILS };
uint64_t store_versions_put(struct store *store);
enum store_kept store_versions_kept(struct store *store, uint64_t number, char why[NODE_NOTICE_BYTES]);
/* Copies counters into the queue; does not allocate. At counters_max further keys are dropped and
 * counted. Of a sixteenth of counters_max the parts may wait: further LOGs are kept without. */
void store_put_counters(struct store *store, const struct store_counter *counter, size_t count);

/*
 * True once after the file was made anew, or after versions were dropped because the queue was
 * full. The owner must then put everything again.
 */
bool store_wants_all(struct store *store);

/* Takes the next notice for the operator. False: there is none. */
bool store_notice(struct store *store, struct notice *notice);

/* X(name, meaning) */
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
    char failure[NODE_NOTICE_BYTES]; /* why the last write failed; "" if it did not */
};

void store_stats(struct store *store, struct store_stats *stats);
const char *store_path(const struct store *store);

/*
 * Writes the queue, trying once, and nothing from then on; what was kept is told as before. False: the queue could not
 * be written and is lost.
 */
bool store_finish(struct store *store);
/* Finishes the store, if it is not, and closes it. Returns what store_finish does. */
bool store_close(struct store **store);

#endif
