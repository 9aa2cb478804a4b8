/*
 * store_file: the SQLite file behind the store: opened, checked, read, written, set aside when it is damaged.
 *
 * The one idea: every row carries a seal, a hash of all that is in it, so that a page that was scribbled on is
 * noticed even where the file's structure is whole; only rows whose seal holds are ever told to anyone. One thread at
 * a time; nothing here waits, except for the disk.
 */
#ifndef HEADGATE_EDGE_STORE_FILE_H
#define HEADGATE_EDGE_STORE_FILE_H

#include "edge/store.h"
#include "edge/store_mark.h"

struct sqlite3;
struct sqlite3_stmt;

enum store_file_status {
    STORE_FILE_GOOD,
    STORE_FILE_FAILED,  /* now: the disk is full, an error of the device; to be tried again */
    STORE_FILE_DAMAGED, /* the file is not what was written */
    STORE_FILE_REFUSED, /* another process has it, it may not be opened, or a newer headgated made it */
};

enum store_statement {
    STORE_BEGIN,
    STORE_COMMIT,
    STORE_ROLLBACK,
    STORE_VERSION_PUT,
    STORE_VERSION_TRIM,
    STORE_COUNTER_PUT,
    STORE_COUNTER_DELETE,
    STORE_COUNTER_SCAN,
    STORE_COUNT_PUT,
    STORE_STATEMENTS,
};

struct store_file {
    struct sqlite3 *db; /* NULL: not open */
    struct sqlite3_stmt *statement[STORE_STATEMENTS];
    char path[STORE_PATH_BYTES];
    uint64_t device, inode;          /* of the file that was opened */
    struct key_id cursor;            /* the prune's: the last counter that it looked at */
    bool synced;                     /* the next commit reaches the disk before it returns */
    bool was_empty;                  /* store_file_open found a file of no bytes, */
    bool was_open;                   /* or one that others could read or write, */
    bool was_short;                  /* or one that had lost transactions; */
    struct store_count count, lost;  /* what it has; what was lost then */
    bool settled;                    /* what is in the table of counters is of the secret in use */
    bool brings_rules;               /* so does the transaction that was begun */
    int mark;                        /* above 0, or there is none */
    char failure[NODE_NOTICE_BYTES]; /* why the last call was not STORE_FILE_GOOD */
};

/* Opens or makes the file at `path`. It is to be closed whatever the result is. */
enum store_file_status store_file_open(struct store_file *file, const char *path);
void store_file_close(struct store_file *file);
/* The same in good order: what is in its log is in the file then, and the mark beside it goes. */
void store_file_end(struct store_file *file);

/* The mark beside the file at `path` goes: another file takes its place. */
void store_file_forget_mark(const char *path);

/* Reads everything once: STORE_FILE_DAMAGED unless all of it is as it was written. */
enum store_file_status store_file_check(struct store_file *file);

/*
 * Tells the reader of all rows whose seal holds, in pages, of one rule from old to new. Counters whose time is before
 * `wall_ns` are left out. STORE_FILE_DAMAGED: not all could be read, or not every seal holds.
 */
enum store_file_status store_file_read(struct store_file *file, const struct store_reader *reader,
                                       uint64_t wall_ns);
/* The same of a damaged file, as much as can be read; a version may be told twice. */
void store_file_rescue(struct store_file *file, const struct store_reader *reader, uint64_t wall_ns);

/*
 * A transaction: begin, puts, commit. After a failure, store_file_cancel; then nothing of it happened. `synced`: it
 * survives a power cut as soon as it is committed.
 */
enum store_file_status store_file_begin(struct store_file *file, bool synced);
enum store_file_status store_file_put_version(struct store_file *file, const struct rule_record *version);
/* Deletes it when its time is not after `wall_ns`. */
enum store_file_status store_file_put_counter(struct store_file *file, const struct store_counter *counter,
                                              uint64_t wall_ns);
enum store_file_status store_file_commit(struct store_file *file);
void store_file_cancel(struct store_file *file);

/* Counters under other secrets: how many lie aside; how many a call took back, and dropped at the bound. */
enum { STORE_ASIDE_MAX = 1 << 22 };
struct store_aside {
    uint64_t kept, returned, dropped;
};

/*
 * From now on ids of counters are made with the secret of that fingerprint. Those in the file that were
 * made with another one are laid aside: nothing tells of them, until their secret is in use again or their time is
 * over. At STORE_ASIDE_MAX those go that end first. A file that knows of no secret is of this one.
 */
enum store_file_status store_file_use_secret(struct store_file *file, uint64_t secret, uint64_t wall_ns,
                                             struct store_aside *aside);
/* Deletes those laid aside whose time is over, `most` at most; says how many. */
enum store_file_status store_file_prune_aside(struct store_file *file, uint64_t most, uint64_t wall_ns,
                                              uint64_t *deleted);
/* Puts into `file`, within its transaction, the secret of the damaged file `old`, and what lies aside there. */
enum store_file_status store_file_rescue_aside(struct store_file *old, struct store_file *file);

/* Looks at the next `count` counters, around and around, and deletes those whose time is over; says how many. */
enum store_file_status store_file_prune(struct store_file *file, size_t count, uint64_t wall_ns, uint64_t *deleted);

/*
 * Renames the closed file at `path` to PATH.corrupt-TIME, whose full name comes out in `aside` (room
 * STORE_PATH_BYTES); of earlier ones the newest two are kept. False when it cannot be renamed.
 */
bool store_file_set_aside(const char *path, uint64_t wall_ns, char *aside);

/* Puts into `file`, which is open and whole, what can still be read of the one at `aside`; says how many rows. */
enum store_file_status store_file_salvage(struct store_file *file, const char *aside, uint64_t wall_ns,
                                          uint64_t *versions, uint64_t *counters);

/* The file that is open is no longer the one at its path. */
bool store_file_is_gone(const struct store_file *file);
/* Of the file and what SQLite keeps next to it. */
uint64_t store_file_bytes(const struct store_file *file);

/* In store_rows.c and store_read.c, for the functions above. */
enum store_file_status store_rows_failed(struct store_file *file, int code);
bool store_rows_prepare(struct store_file *file);
/* The transactions that the file has counted. */
enum store_file_status store_rows_count(struct store_file *file);
extern const char store_rows_schema[], store_rows_count_schema[];
/* What stands in a row; false when it is not as it was written. Its texts are SQLite's, until the next step. */
bool store_rows_take_version(struct sqlite3_stmt *row, struct rule_record *version);
bool store_rows_take_counter(struct sqlite3_stmt *row, struct store_counter *counter);
void store_rows_bind_id(struct sqlite3_stmt *statement, int column, struct key_id id);

#endif
