/*
 * The file as a whole: opening it safely, checking its schema and its count of transactions,
 * closing it, setting it aside and salvaging it.
 */
#include "edge/store/store_file.h"

#include "edge/store/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SCHEMA_VERSION = 1,
    APPLICATION_ID = 0x48474154, /* "HGAT" */
    OPEN_WAIT_MS = 1000,         /* for a process that is about to end */
    ASIDE_KEPT = 3,              /* damaged files that are kept, the newest included */
};

/* ---- opening ---- */

/*
 * The exclusive lock keeps two daemons from sharing a state, and needs no file of shared memory.
 * secure_delete=OFF spares writing zeros over deleted rows. An untrusted schema may not call
 * functions.
 */
static const char opening[] = "PRAGMA locking_mode=EXCLUSIVE;"
                              "PRAGMA trusted_schema=OFF;"
                              "PRAGMA cell_size_check=ON;"
                              "PRAGMA secure_delete=OFF;"
                              "PRAGMA temp_store=MEMORY;"
                              "PRAGMA cache_size=-8192;"
                              "PRAGMA journal_size_limit=4194304;"
                              "PRAGMA synchronous=NORMAL;";

static int run_sql(struct store_file *file, const char *sql)
{
    return sqlite3_exec(file->db, sql, NULL, NULL, NULL);
}

/* Reads the number in the first column of the first row. */
static int ask_number(struct store_file *file, const char *sql, int64_t *number)
{
    struct sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(file->db, sql, -1, &row, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(row);
    if (code == SQLITE_ROW)
        *number = sqlite3_column_int64(row, 0);
    (void)sqlite3_finalize(row);
    return code == SQLITE_ROW ? SQLITE_OK : code == SQLITE_DONE ? SQLITE_CORRUPT : code;
}

static int make_schema(struct store_file *file)
{
    char numbers[100];
    (void)snprintf(numbers, sizeof numbers, "PRAGMA application_id=%d; PRAGMA user_version=%d;", APPLICATION_ID,
                   SCHEMA_VERSION);
    int code = run_sql(file, "BEGIN IMMEDIATE");
    if (code == SQLITE_OK)
        code = run_sql(file, store_rows_schema);
    if (code == SQLITE_OK)
        code = run_sql(file, numbers);
    if (code == SQLITE_OK)
        code = run_sql(file, "COMMIT");
    if (code != SQLITE_OK && !sqlite3_get_autocommit(file->db))
        (void)run_sql(file, "ROLLBACK");
    return code;
}

/* Adds the table of counts. Writes nothing if the table exists. */
static int add_count(struct store_file *file)
{
    int64_t there = 0;
    int code = ask_number(file, "SELECT count(*) FROM sqlite_schema WHERE name='mark'", &there);
    return code == SQLITE_OK && there == 0 ? run_sql(file, store_rows_count_schema) : code;
}

static enum store_file_status check_schema(struct store_file *file)
{
    int64_t application = 0, version = 0, tables = 0;
    int code = ask_number(file, "SELECT count(*) FROM sqlite_schema", &tables);
    if (code == SQLITE_OK)
        code = ask_number(file, "PRAGMA application_id", &application);
    if (code == SQLITE_OK)
        code = ask_number(file, "PRAGMA user_version", &version);
    if (code == SQLITE_OK && tables == 0 && application == 0 && version == 0) {
        code = make_schema(file);
        application = APPLICATION_ID;
        version = SCHEMA_VERSION;
    }
    if (code == SQLITE_OK && application == APPLICATION_ID && version == SCHEMA_VERSION)
        code = add_count(file);
    if (code != SQLITE_OK)
        return store_rows_failed(file, code);
    if (application != APPLICATION_ID)
        return store_rows_failed(file, SQLITE_NOTADB);
    if (version > SCHEMA_VERSION) {
        (void)snprintf(file->failure, sizeof file->failure,
                       "a newer headgated made it (format %lld, this one knows %d)", (long long)version,
                       SCHEMA_VERSION);
        return STORE_FILE_REFUSED;
    }
    return STORE_FILE_GOOD;
}

/* Checks that no file that SQLite will open is a link, and closes all of them to other users. */
static bool prepare_files(struct store_file *file, const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-journal", "-mark"};
    char name[STORE_PATH_BYTES + 16], flaw[STATE_FLAW_BYTES];
    bool good = true, closed;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0] && good; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        good = state_dir_guard_file(name, flaw, &closed);
        file->was_open |= closed;
    }
    if (!good)
        (void)snprintf(file->failure, sizeof file->failure, "%s", flaw);
    return good;
}

/*
 * Makes the file, or its log, with its mode before SQLite opens it: SQLite would leave it readable to other users if
 * the umask allows that, and would tell of its last attempt to open it, which is only to read.
 */
static enum store_file_status make_file(struct store_file *file, const char *path)
{
    int made = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, STATE_DIR_FILE_MODE);
    if (made < 0) {
        const bool no_room = errno == ENOSPC || errno == EDQUOT;
        (void)snprintf(file->failure, sizeof file->failure, "it cannot be opened (%s)", strerror(errno));
        return no_room ? STORE_FILE_FAILED : STORE_FILE_REFUSED;
    }
    (void)close(made);
    return STORE_FILE_GOOD;
}

static int open_database(struct store_file *file, const char *path, bool salvage)
{
    int code =
        sqlite3_open_v2(path, &file->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(file->db, OPEN_WAIT_MS);
    if (code == SQLITE_OK && salvage)
        code = run_sql(file, "PRAGMA writable_schema=ON");
    if (code == SQLITE_OK)
        code = run_sql(file, opening);
    if (code == SQLITE_OK)
        code = run_sql(file, "PRAGMA journal_mode=WAL");
    return code;
}

/* Compares the count with the mark to find lost transactions. Must come before any write, which
 * would hide the loss. */
static enum store_file_status check_count(struct store_file *file, const char *path)
{
    char name[STORE_PATH_BYTES + 16];
    (void)snprintf(name, sizeof name, "%s-mark", path);
    struct store_count marked = store_mark_read(name);
    enum store_file_status status = store_rows_count(file);
    if (status != STORE_FILE_GOOD)
        return status;
    if (marked.transactions > file->count.transactions) {
        file->was_short = true;
        file->lost.transactions = marked.transactions - file->count.transactions;
        file->lost.rules = marked.rules > file->count.rules ? marked.rules - file->count.rules : 0;
        (void)store_mark_names(name, file->count.transactions, marked.transactions, file->lost_rules,
                               sizeof file->lost_rules);
        (void)snprintf(file->failure, sizeof file->failure, "its last %llu transactions are lost, of rules: %llu",
                       (unsigned long long)file->lost.transactions, (unsigned long long)file->lost.rules);
        return STORE_FILE_DAMAGED;
    }
    file->mark = store_mark_open(name);
    file->notes = file->count.rules; /* about: so those of the last changes stay for longest */
    return STORE_FILE_GOOD;
}

static bool is_missing(const char *path)
{
    struct stat status;
    return stat(path, &status) != 0 && errno == ENOENT;
}

/* A file that was to take the place of a damaged one is whole where that one lies aside already. */
static bool take_fresh(const char *path)
{
    char fresh[STORE_PATH_BYTES + 8];
    (void)snprintf(fresh, sizeof fresh, "%s" STORE_FRESH, path);
    return rename(fresh, path) == 0;
}

/* `salvage` also opens a file whose last pages are missing; SQLite does so only with a writable
 * schema. */
static enum store_file_status open_at(struct store_file *file, const char *path, bool salvage)
{
    char log[STORE_PATH_BYTES + 8];
    struct stat status;
    memset(file, 0, sizeof *file);
    file->mark = -1;
    (void)snprintf(file->path, sizeof file->path, "%s", path);
    file->was_missing = is_missing(path) && !take_fresh(path);
    file->was_empty = !file->was_missing && stat(path, &status) == 0 && status.st_size == 0;
    if (!prepare_files(file, path))
        return STORE_FILE_REFUSED;
    (void)snprintf(log, sizeof log, "%s-wal", path);
    enum store_file_status good = make_file(file, path);
    if (good == STORE_FILE_GOOD && !salvage)
        good = make_file(file, log);
    if (good != STORE_FILE_GOOD)
        return good;
    int code = open_database(file, path, salvage);
    if (code != SQLITE_OK)
        return store_rows_failed(file, code);
    good = check_schema(file);
    if (good == STORE_FILE_GOOD && !salvage)
        good = check_count(file, path);
    if (good == STORE_FILE_GOOD && !salvage)
        good = store_parts_add_table(file);
    if (good != STORE_FILE_GOOD)
        return good;
    if (!store_rows_prepare(file, salvage ? STORE_PART_PUT : STORE_STATEMENTS))
        return STORE_FILE_DAMAGED; /* the tables are not this program's */
    if (stat(path, &status) == 0) {
        file->device = status.st_dev;
        file->inode = status.st_ino;
    }
    return STORE_FILE_GOOD;
}

enum store_file_status store_file_open(struct store_file *file, const char *path)
{
    return open_at(file, path, false);
}

void store_file_close(struct store_file *file)
{
    for (size_t i = 0; i < STORE_STATEMENTS; i++) {
        (void)sqlite3_finalize(file->statement[i]);
        file->statement[i] = NULL;
    }
    if (file->db && file->was_short) /* the log is set aside unchanged */
        (void)sqlite3_db_config(file->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_close_v2(file->db);
    file->db = NULL;
    if (file->mark > 0)
        (void)close(file->mark);
    file->mark = -1;
}

void store_file_forget_mark(const char *path)
{
    char name[STORE_PATH_BYTES + 16];
    (void)snprintf(name, sizeof name, "%s-mark", path);
    (void)unlink(name);
}

bool store_file_end(struct store_file *file)
{
    char name[STORE_PATH_BYTES + 16];
    struct stat status;
    const bool was_open = file->db != NULL, was_marked = was_open && file->mark > 0;
    store_file_close(file);
    (void)snprintf(name, sizeof name, "%s-wal", file->path);
    const bool whole = was_open && lstat(name, &status) != 0;
    if (was_marked && whole)
        store_file_forget_mark(file->path);
    return whole;
}

void store_file_remove(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-mark"};
    char name[STORE_PATH_BYTES + 16];
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        (void)unlink(name);
    }
}

/* ---- damage ---- */

enum store_file_status store_file_check(struct store_file *file)
{
    struct sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(file->db, "PRAGMA quick_check(1)", -1, &row, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(row);
    const unsigned char *said = code == SQLITE_ROW ? sqlite3_column_text(row, 0) : NULL;
    bool whole = said && strcmp((const char *)said, "ok") == 0;
    (void)sqlite3_finalize(row);
    if (code != SQLITE_ROW)
        return store_rows_failed(file, code);
    if (!whole)
        return store_rows_failed(file, SQLITE_CORRUPT);
    return store_file_read(file, &(struct store_reader){.context = NULL}, 0);
}

/* The names of set-aside files sort by time. */
static void remove_oldest(const char *path)
{
    char pattern[STORE_PATH_BYTES + 32];
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%s.corrupt-*Z", path);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i + ASIDE_KEPT - 1 < found.gl_pathc; i++) {
        char log[STORE_PATH_BYTES + 32];
        (void)snprintf(log, sizeof log, "%s-wal", found.gl_pathv[i]);
        (void)unlink(found.gl_pathv[i]);
        (void)unlink(log);
    }
    globfree(&found);
}

bool store_file_set_aside(const char *path, uint64_t wall_ns, char *aside)
{
    char stamp[32], log[STORE_PATH_BYTES + 8], aside_log[STORE_PATH_BYTES + 8];
    time_t seconds = (time_t)(wall_ns / 1000000000);
    struct tm utc;
    (void)gmtime_r(&seconds, &utc);
    (void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%S", &utc);
    remove_oldest(path);
    int size =
        snprintf(aside, STORE_PATH_BYTES, "%s.corrupt-%s.%03uZ", path, stamp, (unsigned)(wall_ns / 1000000 % 1000));
    if (size < 0 || size >= STORE_PATH_BYTES || rename(path, aside) != 0)
        return false;
    (void)snprintf(log, sizeof log, "%s-wal", path);
    (void)snprintf(aside_log, sizeof aside_log, "%s-wal", aside);
    (void)rename(log, aside_log);
    store_file_forget_mark(path);
    return true;
}

struct salvage {
    struct store_file *file;
    enum store_file_status status;
    uint64_t wall_ns;
};

static void save_versions(void *context, const struct rule_record *version, size_t count)
{
    struct salvage *salvage = context;
    for (size_t i = 0; i < count && salvage->status == STORE_FILE_GOOD; i++)
        salvage->status = store_file_put_version(salvage->file, &version[i]);
}

static void save_counters(void *context, const struct store_counter *counter, size_t count)
{
    struct salvage *salvage = context;
    for (size_t i = 0; i < count && salvage->status == STORE_FILE_GOOD; i++)
        salvage->status = store_file_put_counter(salvage->file, &counter[i], salvage->wall_ns);
}

/* A row that comes twice is put twice, which changes nothing. */
enum store_file_status store_file_salvage(struct store_file *file, const char *damaged, uint64_t wall_ns,
                                          uint64_t *versions, uint64_t *counters)
{
    struct store_file old;
    struct salvage salvage = {.file = file, .wall_ns = wall_ns};
    struct store_reader reader = {&salvage, save_versions, save_counters};
    int64_t version_rows = 0, counter_rows = 0;
    salvage.status = store_file_begin(file, true);
    if (salvage.status == STORE_FILE_GOOD) {
        if (open_at(&old, damaged, true) == STORE_FILE_GOOD)
            store_file_rescue(&old, &reader, wall_ns);
        if (old.db && salvage.status == STORE_FILE_GOOD)
            salvage.status = store_file_rescue_aside(&old, file);
        old.was_short = true; /* leaves the file as it was found */
        store_file_close(&old);
    }
    if (salvage.status == STORE_FILE_GOOD)
        salvage.status = store_file_commit(file);
    if (salvage.status != STORE_FILE_GOOD) {
        store_file_cancel(file);
        return salvage.status;
    }
    (void)ask_number(file, "SELECT count(*) FROM version", &version_rows);
    (void)ask_number(file, "SELECT count(*) FROM counter", &counter_rows);
    *versions = (uint64_t)version_rows;
    *counters = (uint64_t)counter_rows;
    return STORE_FILE_GOOD;
}

/* ---- the file on the disk ---- */

bool store_file_is_gone(const struct store_file *file)
{
    struct stat status;
    return stat(file->path, &status) != 0 || status.st_dev != file->device || status.st_ino != file->inode;
}

uint64_t store_file_bytes(const struct store_file *file)
{
    char log[STORE_PATH_BYTES + 8];
    struct stat status;
    uint64_t bytes = 0;
    (void)snprintf(log, sizeof log, "%s-wal", file->path);
    if (stat(file->path, &status) == 0)
        bytes += (uint64_t)status.st_size;
    if (stat(log, &status) == 0)
        bytes += (uint64_t)status.st_size;
    return bytes;
}
