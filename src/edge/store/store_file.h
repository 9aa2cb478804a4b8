/*
 * store_file: the SQLite file behind the store: opens, checks, reads and writes it, and sets it
 * aside when it is damaged.
 *
 * The one idea: every row carries a seal, a hash of its content. So a page with wrong bytes is
 * noticed even where the structure of the file is whole, and only rows with a valid seal reach a
 * reader. One thread at a time may use a file; calls wait for the disk only.
 */
#ifndef HEADGATE_EDGE_STORE_STORE_FILE_H
#define HEADGATE_EDGE_STORE_STORE_FILE_H

#include "edge/store/store.h"
#include "edge/store/store_mark.h"

struct sqlite3;
struct sqlite3_stmt;

enum store_file_status {
    STORE_FILE_GOOD,
    STORE_FILE_FAILED,  /* for now: the disk is full or the device fails; the caller should retry */
    STORE_FILE_DAMAGED, /* the content is not what this program wrote */
    STORE_FILE_REFUSED, /* another process has the file, it may not be opened, or a newer headgated made it */
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
    STORE_PART_PUT, /* what follows needs the table of parts */
    STORE_PART_DELETE,
    STORE_STATEMENTS,
};

struct store_file {
    struct sqlite3 *db; /* NULL: not open */
    struct sqlite3_stmt *statement[STORE_STATEMENTS];
    char path[STORE_PATH_BYTES];
    uint64_t device, inode;          /* identify the opened file */
    struct key_id cursor;            /* of store_file_prune: the last counter that it looked at */
    bool synced;                     /* the next commit reaches the disk before it returns */
    bool was_missing;                /* store_file_open found no file */
    bool was_empty;                  /* store_file_open found an empty file */
    bool was_open;                   /* store_file_open found a file that others could read or write */
    bool was_short;                  /* store_file_open found a file that had lost transactions */
    struct store_count count, lost;  /* transactions in the file; transactions found missing at its opening */
    bool settled;                    /* all rows in the table of counters belong to the secret in use */
    bool brings_rules;               /* the open transaction puts versions of rules */
    int mark;                        /* a descriptor above 0, or none */
    uint64_t notes;                  /* the number of the next note in the mark: at opening, count.rules */
    char lost_rules[120];            /* names of rules whose last versions are among what is lost; "" */
    char failure[NODE_NOTICE_BYTES]; /* why the last call was not STORE_FILE_GOOD */
};

/* Opens or makes the file at `path`. The caller must close it whatever the result is. */
enum store_file_status store_file_open(struct store_file *file, const char *path);
void store_file_close(struct store_file *file);
/* Closes an intact file: its log goes into the file, and its mark is removed. False: the log could not go there. */
bool store_file_end(struct store_file *file);
/* Removes the closed file, its log and its mark. */
void store_file_remove(const char *path);

/* Removes the mark of the file at `path`, since another file takes its place. */
void store_file_forget_mark(const char *path);

/* Reads everything once. STORE_FILE_DAMAGED: some part is not as it was written. */
enum store_file_status store_file_check(struct store_file *file);

/*
 * Passes all rows with a valid seal to the reader, in pages, the versions of a rule from old to
 * new. Leaves out counters that end before `wall_ns`. STORE_FILE_DAMAGED: some rows could not be
 * read or have a wrong seal.
 */
enum store_file_status store_file_read(struct store_file *file, const struct store_reader *reader,
                                       uint64_t wall_ns);
/* As store_file_read, for a damaged file, as far as it can be read; a version may come twice. */
void store_file_rescue(struct store_file *file, const struct store_reader *reader, uint64_t wall_ns);

/*
 * A transaction is begin, puts, commit. After a failure the caller must call store_file_cancel,
 * which undoes all puts. `synced`: the transaction survives a power cut once commit returns.
 */
enum store_file_status store_file_begin(struct store_file *file, bool synced);
enum store_file_status store_file_put_version(struct store_file *file, const struct rule_record *version);
/* Deletes the counter instead if it ends at `wall_ns` or before. */
enum store_file_status store_file_put_counter(struct store_file *file, const struct store_counter *counter,
                                              uint64_t wall_ns);
enum store_file_status store_file_commit(struct store_file *file);
void store_file_cancel(struct store_file *file);

/* Counters under other secrets: the number that lies aside, the number that a call took back, and
 * the number that a call dropped at the bound. */
enum { STORE_ASIDE_MAX = 1 << 22 };
struct store_aside {
    uint64_t kept, returned, dropped;
};

/*
 * Sets the secret, by fingerprint, with which ids of counters are made from now on. Counters of
 * another secret are laid aside: no reader gets them until their secret is in use again or they
 * end. At STORE_ASIDE_MAX the counters that end first are dropped. A file without a secret belongs
 * to this one.
 */
enum store_file_status store_file_use_secret(struct store_file *file, uint64_t secret, uint64_t wall_ns,
                                             struct store_aside *aside);
/* Deletes up to `most` counters that lie aside and have ended; *deleted becomes their number. */
enum store_file_status store_file_prune_aside(struct store_file *file, uint64_t most, uint64_t wall_ns,
                                              uint64_t *deleted);
/* Puts the secret of the damaged file `old`, and the counters that lie aside in it, into `file`,
 * within the open transaction of `file`. */
enum store_file_status store_file_rescue_aside(struct store_file *old, struct store_file *file);

/* Looks at the next `count` counters, round and round, and deletes those counters that have ended;
 * *deleted becomes their number. */
enum store_file_status store_file_prune(struct store_file *file, size_t count, uint64_t wall_ns, uint64_t *deleted);

/*
 * Renames the closed file at `path` to PATH.corrupt-TIME and writes the new name to `aside` (room
 * STORE_PATH_BYTES). Keeps the two newest earlier ones. False: the file cannot be renamed.
 */
bool store_file_set_aside(const char *path, uint64_t wall_ns, char *aside);

/*
 * Behind the name of a damaged file: of the file that takes its place, while it is made. It is whole before the damaged
 * one is set aside; so whoever opens a file that is missing takes the fresh one, if there is one.
 */
#define STORE_FRESH ".fresh"

/* Puts every readable row of the damaged file at `damaged` into `file`, which must be open and whole;
 * *versions and *counters become the numbers of rows. */
enum store_file_status store_file_salvage(struct store_file *file, const char *damaged, uint64_t wall_ns,
                                          uint64_t *versions, uint64_t *counters);

/* True if the path no longer leads to the open file. */
bool store_file_is_gone(const struct store_file *file);
/* The bytes of the file and of the files that SQLite keeps beside it. */
uint64_t store_file_bytes(const struct store_file *file);

/* store_rows.c, store_parts.c and store_read.c define the following, for the functions above. */
enum store_file_status store_rows_failed(struct store_file *file, int code);
/* Prepares the first `count` statements. False: the tables are not this program's. */
bool store_rows_prepare(struct store_file *file, size_t count);
/* Reads the number of transactions that the file has counted. */
enum store_file_status store_rows_count(struct store_file *file);
extern const char store_rows_schema[], store_rows_count_schema[];
/* Read a row. False: the row is not as it was written. Its texts belong to SQLite and are valid
 * until the next step. */
bool store_rows_take_version(struct sqlite3_stmt *row, struct rule_record *version);
bool store_rows_take_counter(struct sqlite3_stmt *row, struct store_counter *counter);
void store_rows_bind_id(struct sqlite3_stmt *statement, int column, struct key_id id);
enum { STORE_PAIR_BYTES = 16 }; /* a stamp, the id of a key, or a part */
void store_rows_put_pair(uint8_t out[STORE_PAIR_BYTES], uint64_t high, uint64_t low);
void store_rows_take_pair(const uint8_t in[STORE_PAIR_BYTES], uint64_t *high, uint64_t *low);
uint64_t store_rows_seal(const uint64_t *number, size_t count);
uint64_t store_rows_seal_counter(const struct store_counter *counter);
enum store_file_status store_rows_run(struct store_file *file, enum store_statement which);

/* The parts of counters have a table of their own, which files of older versions do not have. */
enum store_file_status store_parts_add_table(struct store_file *file);
/* The counter's parts, in place of those that it had. */
enum store_file_status store_parts_put(struct store_file *file, const struct store_counter *counter);
enum store_file_status store_parts_delete(struct store_file *file, struct key_id id);
/* Deletes parts of counters that are not there any more. */
enum store_file_status store_parts_tidy(struct store_file *file);
/* Columns of STORE_PARTS_COLUMNS, from `column` on, and the join that has them. */
#define STORE_PARTS_COLUMNS "part.counter, part.list, part.seal"
#define STORE_PARTS_JOIN "LEFT JOIN part ON part.id=counter.id"
/*
 * Reads the parts of a counter whose other columns are read, into `room` for STORE_PARTS_MAX of them. None, if the
 * counter has none, or an older headgated has written it since. False: they are not as they were written.
 */
bool store_parts_take(struct sqlite3_stmt *row, int column, struct store_counter *counter, struct store_part *room);

#endif
