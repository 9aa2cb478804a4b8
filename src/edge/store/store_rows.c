/*
 * The tables of the store's file: their schema, the seals of rows, and the statements that write.
 */
#include "edge/store/store_file.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/*
 * Stamps and ids are blobs, most significant byte first, so that SQLite orders them as this program
 * does. Unsigned 64-bit numbers are stored as the signed numbers of the same bits.
 */
const char store_rows_schema[] =
    "CREATE TABLE version(service TEXT NOT NULL, id TEXT NOT NULL, stamp BLOB NOT NULL, wall_ms INTEGER NOT NULL,"
    " author TEXT NOT NULL, note TEXT NOT NULL, deleted INTEGER NOT NULL, share_millionths INTEGER NOT NULL,"
    " threshold_millionths INTEGER NOT NULL, watch_ms INTEGER NOT NULL, epoch INTEGER NOT NULL, text TEXT NOT NULL,"
    " seal INTEGER NOT NULL, PRIMARY KEY(service, id, stamp)) WITHOUT ROWID;"
    "CREATE TABLE counter(id BLOB PRIMARY KEY NOT NULL, kind INTEGER NOT NULL, flags INTEGER NOT NULL,"
    " capacity INTEGER NOT NULL, rate INTEGER NOT NULL, period_ns INTEGER NOT NULL, overshoot INTEGER NOT NULL,"
    " number INTEGER NOT NULL, until_ns INTEGER NOT NULL, seal INTEGER NOT NULL) WITHOUT ROWID;";

/* A table of one row. Files of older versions do not have this table. */
const char store_rows_count_schema[] =
    "CREATE TABLE IF NOT EXISTS mark(id INTEGER PRIMARY KEY NOT NULL, transactions INTEGER NOT NULL,"
    " rules INTEGER NOT NULL)";

/* Keeps the newest versions of a rule and its newest general one, and deletes the others. */
static const char trim_versions[] =
    "DELETE FROM version WHERE service=?1 AND id=?2 AND stamp<(SELECT stamp FROM version WHERE service=?1 AND id=?2"
    " ORDER BY stamp DESC LIMIT 1 OFFSET ?3) AND stamp<>coalesce((SELECT stamp FROM version WHERE service=?1 AND"
    " id=?2 AND share_millionths=0 ORDER BY stamp DESC LIMIT 1),x'')";

/* Indexed by enum store_statement. */
static const char *const statements[STORE_STATEMENTS] = {
    "BEGIN IMMEDIATE",
    "COMMIT",
    "ROLLBACK",
    "INSERT OR REPLACE INTO version VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)",
    trim_versions,
    "INSERT OR REPLACE INTO counter VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
    "DELETE FROM counter WHERE id=?1",
    "SELECT id,until_ns FROM counter WHERE id>?1 ORDER BY id LIMIT ?2",
    "INSERT OR REPLACE INTO mark VALUES(0,?1,?2)",
    "INSERT OR REPLACE INTO part VALUES(?1,?2,?3,?4)",
    "DELETE FROM part WHERE id=?1",
};

/* Why the device failed, or 0. Of a commit that fails SQLite does not say it, but the log's file knows. */
static int device_error_of(struct store_file *file)
{
    int device_error = file->db ? sqlite3_system_errno(file->db) : 0;
    sqlite3_file *log = NULL;
    if (file->db && device_error == 0 &&
        sqlite3_file_control(file->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, (void *)&log) == SQLITE_OK && log &&
        log->pMethods)
        (void)log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &device_error);
    return device_error;
}

enum store_file_status store_rows_failed(struct store_file *file, int code)
{
    const int device_error = device_error_of(file);
    bool device = ((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN) && device_error != 0;
    bool no_room = device_error == ENOSPC || device_error == EDQUOT;
    (void)snprintf(file->failure, sizeof file->failure, "%s%s%s%s", sqlite3_errstr(code & 0xff), device ? " (" : "",
                   device ? strerror(device_error) : "", device ? ")" : "");
    switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return STORE_FILE_DAMAGED;
    case SQLITE_CANTOPEN:
        return no_room ? STORE_FILE_FAILED : STORE_FILE_REFUSED;
    case SQLITE_BUSY:
    case SQLITE_PERM:
    case SQLITE_READONLY:
        return STORE_FILE_REFUSED;
    }
    return STORE_FILE_FAILED;
}

bool store_rows_prepare(struct store_file *file, size_t count)
{
    int code = SQLITE_OK;
    for (size_t i = 0; i < count && code == SQLITE_OK; i++)
        code =
            sqlite3_prepare_v3(file->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT, &file->statement[i], NULL);
    if (code != SQLITE_OK)
        (void)store_rows_failed(file, code);
    return code == SQLITE_OK;
}

/* Runs a statement without rows, and resets it for the next use, without its values. */
enum store_file_status store_rows_run(struct store_file *file, enum store_statement which)
{
    struct sqlite3_stmt *statement = file->statement[which];
    int code = sqlite3_step(statement);
    enum store_file_status status = code == SQLITE_DONE ? STORE_FILE_GOOD : store_rows_failed(file, code);
    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
    return status;
}

/* ---- rows as they are kept ---- */

void store_rows_put_pair(uint8_t out[STORE_PAIR_BYTES], uint64_t high, uint64_t low)
{
    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)(high >> (56 - 8 * i));
        out[8 + i] = (uint8_t)(low >> (56 - 8 * i));
    }
}

void store_rows_take_pair(const uint8_t in[STORE_PAIR_BYTES], uint64_t *high, uint64_t *low)
{
    *high = *low = 0;
    for (int i = 0; i < 8; i++) {
        *high = *high << 8 | in[i];
        *low = *low << 8 | in[8 + i];
    }
}

uint64_t store_rows_seal(const uint64_t *number, size_t count)
{
    static const struct hash_key key = {{0}};
    return hash_64(&key, number, count * sizeof *number);
}

static uint64_t seal_text(struct bytes text)
{
    static const struct hash_key key = {{1}};
    return hash_64(&key, text.size > 0 ? text.data : "", text.size);
}

static uint64_t seal_version(const struct rule_record *version)
{
    uint64_t all[] = {
        seal_text(version->service),   seal_text(version->id), version->stamp.lamport,
        version->stamp.author,         version->wall_ms,       seal_text(version->author),
        seal_text(version->note),      version->deleted,       version->share_millionths,
        version->threshold_millionths, version->watch_ms,      version->epoch,
        seal_text(version->text),
    };
    return store_rows_seal(all, sizeof all / sizeof all[0]);
}

uint64_t store_rows_seal_counter(const struct store_counter *counter)
{
    uint64_t all[] = {
        counter->id.high,         counter->id.low,
        counter->terms.kind,      limit_terms_word(&counter->terms),
        counter->terms.capacity,  counter->terms.rate,
        counter->terms.period_ns, counter->terms.overshoot,
        counter->number,          counter->until_wall_ns,
    };
    return store_rows_seal(all, sizeof all / sizeof all[0]);
}

static bool take_id(struct sqlite3_stmt *row, int column, uint64_t *high, uint64_t *low)
{
    const uint8_t *blob = sqlite3_column_blob(row, column);
    if (!blob || sqlite3_column_bytes(row, column) != STORE_PAIR_BYTES)
        return false;
    store_rows_take_pair(blob, high, low);
    return true;
}

static struct bytes text_of(struct sqlite3_stmt *row, int column)
{
    const unsigned char *text = sqlite3_column_text(row, column);
    int size = sqlite3_column_bytes(row, column);
    return (struct bytes){text ? (const char *)text : "", text && size > 0 ? (size_t)size : 0};
}

static uint64_t number_of(struct sqlite3_stmt *row, int column)
{
    return (uint64_t)sqlite3_column_int64(row, column);
}

bool store_rows_take_version(struct sqlite3_stmt *row, struct rule_record *version)
{
    *version = (struct rule_record){
        .service = text_of(row, 0),
        .id = text_of(row, 1),
        .wall_ms = number_of(row, 3),
        .author = text_of(row, 4),
        .note = text_of(row, 5),
        .deleted = number_of(row, 6) != 0,
        .share_millionths = (uint32_t)number_of(row, 7),
        .threshold_millionths = (uint32_t)number_of(row, 8),
        .watch_ms = number_of(row, 9),
        .epoch = number_of(row, 10),
        .text = text_of(row, 11),
    };
    return take_id(row, 2, &version->stamp.lamport, &version->stamp.author) &&
           number_of(row, 12) == seal_version(version);
}

bool store_rows_take_counter(struct sqlite3_stmt *row, struct store_counter *counter)
{
    *counter = (struct store_counter){
        .terms.kind = (uint8_t)number_of(row, 1),
        .terms.capacity = number_of(row, 3),
        .terms.rate = number_of(row, 4),
        .terms.period_ns = number_of(row, 5),
        .terms.overshoot = number_of(row, 6),
        .number = number_of(row, 7),
        .until_wall_ns = number_of(row, 8),
    };
    (void)limit_terms_set_word(&counter->terms, number_of(row, 2)); /* whoever takes the counter judges its terms */
    return take_id(row, 0, &counter->id.high, &counter->id.low) &&
           number_of(row, 9) == store_rows_seal_counter(counter);
}

/* ---- writing ---- */

/* The text must stay valid until the statement has run. */
static void bind_text(struct sqlite3_stmt *statement, int column, struct bytes text)
{
    (void)sqlite3_bind_text(statement, column, text.size > 0 ? text.data : "", (int)text.size, SQLITE_STATIC);
}

static void bind_number(struct sqlite3_stmt *statement, int column, uint64_t number)
{
    (void)sqlite3_bind_int64(statement, column, (sqlite3_int64)number);
}

void store_rows_bind_id(struct sqlite3_stmt *statement, int column, struct key_id id)
{
    uint8_t blob[STORE_PAIR_BYTES];
    store_rows_put_pair(blob, id.high, id.low);
    (void)sqlite3_bind_blob(statement, column, blob, sizeof blob, SQLITE_TRANSIENT);
}

enum store_file_status store_file_put_version(struct store_file *file, const struct rule_record *version)
{
    file->brings_rules = true;
    store_mark_note(file->mark, file->notes++, file->count.transactions + 1, version->service, version->id);
    struct sqlite3_stmt *put = file->statement[STORE_VERSION_PUT], *trim = file->statement[STORE_VERSION_TRIM];
    uint8_t stamp[STORE_PAIR_BYTES];
    store_rows_put_pair(stamp, version->stamp.lamport, version->stamp.author);
    bind_text(put, 1, version->service);
    bind_text(put, 2, version->id);
    (void)sqlite3_bind_blob(put, 3, stamp, sizeof stamp, SQLITE_STATIC);
    bind_number(put, 4, version->wall_ms);
    bind_text(put, 5, version->author);
    bind_text(put, 6, version->note);
    bind_number(put, 7, version->deleted);
    bind_number(put, 8, version->share_millionths);
    bind_number(put, 9, version->threshold_millionths);
    bind_number(put, 10, version->watch_ms);
    bind_number(put, 11, version->epoch);
    bind_text(put, 12, version->text);
    bind_number(put, 13, seal_version(version));
    enum store_file_status status = store_rows_run(file, STORE_VERSION_PUT);
    if (status != STORE_FILE_GOOD)
        return status;
    bind_text(trim, 1, version->service);
    bind_text(trim, 2, version->id);
    bind_number(trim, 3, RULE_VERSIONS_KEPT - 1);
    return store_rows_run(file, STORE_VERSION_TRIM);
}

static enum store_file_status delete_counter(struct store_file *file, struct key_id id)
{
    uint8_t blob[STORE_PAIR_BYTES];
    store_rows_put_pair(blob, id.high, id.low);
    (void)sqlite3_bind_blob(file->statement[STORE_COUNTER_DELETE], 1, blob, sizeof blob, SQLITE_STATIC);
    enum store_file_status status = store_rows_run(file, STORE_COUNTER_DELETE);
    return status == STORE_FILE_GOOD ? store_parts_delete(file, id) : status;
}

enum store_file_status store_file_put_counter(struct store_file *file, const struct store_counter *counter,
                                              uint64_t wall_ns)
{
    if (counter->until_wall_ns <= wall_ns)
        return delete_counter(file, counter->id);
    struct sqlite3_stmt *put = file->statement[STORE_COUNTER_PUT];
    uint8_t id[STORE_PAIR_BYTES];
    store_rows_put_pair(id, counter->id.high, counter->id.low);
    (void)sqlite3_bind_blob(put, 1, id, sizeof id, SQLITE_STATIC);
    bind_number(put, 2, counter->terms.kind);
    bind_number(put, 3, limit_terms_word(&counter->terms));
    bind_number(put, 4, counter->terms.capacity);
    bind_number(put, 5, counter->terms.rate);
    bind_number(put, 6, counter->terms.period_ns);
    bind_number(put, 7, counter->terms.overshoot);
    bind_number(put, 8, counter->number);
    bind_number(put, 9, counter->until_wall_ns);
    bind_number(put, 10, store_rows_seal_counter(counter));
    enum store_file_status status = store_rows_run(file, STORE_COUNTER_PUT);
    return status == STORE_FILE_GOOD ? store_parts_put(file, counter) : status;
}

enum store_file_status store_file_begin(struct store_file *file, bool synced)
{
    if (synced != file->synced) {
        int code = sqlite3_exec(file->db, synced ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", NULL,
                                NULL, NULL);
        if (code != SQLITE_OK)
            return store_rows_failed(file, code);
        file->synced = synced;
    }
    file->brings_rules = false;
    return store_rows_run(file, STORE_BEGIN);
}

enum store_file_status store_file_commit(struct store_file *file)
{
    struct store_count count = {file->count.transactions + 1, file->count.rules + file->brings_rules};
    bind_number(file->statement[STORE_COUNT_PUT], 1, count.transactions);
    bind_number(file->statement[STORE_COUNT_PUT], 2, count.rules);
    enum store_file_status status = store_rows_run(file, STORE_COUNT_PUT);
    if (status == STORE_FILE_GOOD)
        status = store_rows_run(file, STORE_COMMIT);
    if (status != STORE_FILE_GOOD)
        return status;
    file->count = count;
    store_mark_write(file->mark, &count);
    return STORE_FILE_GOOD;
}

enum store_file_status store_rows_count(struct store_file *file)
{
    struct sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(file->db, "SELECT transactions,rules FROM mark", -1, &row, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(row);
    if (code == SQLITE_ROW)
        file->count = (struct store_count){number_of(row, 0), number_of(row, 1)};
    (void)sqlite3_finalize(row);
    return code == SQLITE_ROW || code == SQLITE_DONE ? STORE_FILE_GOOD : store_rows_failed(file, code);
}

void store_file_cancel(struct store_file *file)
{
    char failure[sizeof file->failure];
    memcpy(failure, file->failure, sizeof failure);
    if (file->db && !sqlite3_get_autocommit(file->db))
        (void)store_rows_run(file, STORE_ROLLBACK);
    memcpy(file->failure, failure, sizeof failure);
}

enum { PRUNE_MAX = 8192 };

enum store_file_status store_file_prune(struct store_file *file, size_t count, uint64_t wall_ns, uint64_t *deleted)
{
    struct key_id over[PRUNE_MAX / 8];
    size_t over_count = 0, seen = 0;
    struct sqlite3_stmt *scan = file->statement[STORE_COUNTER_SCAN];
    uint8_t cursor[STORE_PAIR_BYTES];
    int code;
    *deleted = 0;
    store_rows_put_pair(cursor, file->cursor.high, file->cursor.low);
    (void)sqlite3_bind_blob(scan, 1, cursor, sizeof cursor, SQLITE_STATIC);
    bind_number(scan, 2, count < PRUNE_MAX ? count : PRUNE_MAX);
    while ((code = sqlite3_step(scan)) == SQLITE_ROW && over_count < sizeof over / sizeof over[0]) {
        struct key_id id;
        seen++;
        if (!take_id(scan, 0, &id.high, &id.low)) {
            code = SQLITE_CORRUPT;
            break;
        }
        file->cursor = id;
        if ((uint64_t)sqlite3_column_int64(scan, 1) <= wall_ns)
            over[over_count++] = id;
    }
    (void)sqlite3_reset(scan);
    (void)sqlite3_clear_bindings(scan);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return store_rows_failed(file, code);
    if (code == SQLITE_DONE && seen < count && seen < PRUNE_MAX)
        file->cursor = (struct key_id){0, 0};
    if (over_count == 0)
        return STORE_FILE_GOOD;
    enum store_file_status status = store_file_begin(file, false);
    for (size_t i = 0; i < over_count && status == STORE_FILE_GOOD; i++)
        status = delete_counter(file, over[i]);
    if (status == STORE_FILE_GOOD)
        status = store_file_commit(file);
    if (status == STORE_FILE_GOOD)
        *deleted = over_count;
    else
        store_file_cancel(file);
    return status;
}
