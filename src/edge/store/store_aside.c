/*
 * Counters whose ids were made with another secret. No key asked for now has such an id, so these
 * counters are useless in the table; but an operator who returns to the old secret must not grant a
 * fresh month. They lie in a table of their own, each with the fingerprint of its secret, until
 * they end or their secret is in use again.
 */
#include "edge/store/store_file.h"

#include <sqlite3.h>

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS secret(id INTEGER PRIMARY KEY NOT NULL, fingerprint INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS aside(secret INTEGER NOT NULL, id BLOB NOT NULL, kind INTEGER NOT NULL,"
    " flags INTEGER NOT NULL, capacity INTEGER NOT NULL, rate INTEGER NOT NULL, period_ns INTEGER NOT NULL,"
    " overshoot INTEGER NOT NULL, number INTEGER NOT NULL, until_ns INTEGER NOT NULL, seal INTEGER NOT NULL,"
    " PRIMARY KEY(secret, id)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS aside_until ON aside(until_ns);";

/* Times are stored as the signed numbers of the same bits: a negative time never comes. ?1 and ?2
 * are numbers. */
static const char count_tables[] =
    "SELECT count(*) FROM sqlite_schema WHERE name IN ('secret','aside','aside_until')";
static const char count_rows[] = "SELECT count(*) FROM aside";
static const char count_secrets[] = "SELECT count(*) FROM secret";
static const char ask_secret[] = "SELECT fingerprint FROM secret";
static const char put_secret[] = "INSERT OR REPLACE INTO secret VALUES(0,?1)";
static const char lay_aside[] = "INSERT OR REPLACE INTO aside SELECT ?1,* FROM counter";
static const char empty_counters[] = "DELETE FROM counter";
static const char take_back[] =
    "INSERT OR REPLACE INTO counter SELECT id,kind,flags,capacity,rate,period_ns,overshoot,"
    "number,until_ns,seal FROM aside WHERE secret=?1";
static const char forget_taken[] = "DELETE FROM aside WHERE secret=?1";
static const char drop_first[] = "DELETE FROM aside WHERE (secret,id) IN (SELECT secret,id FROM aside"
                                 " ORDER BY until_ns<0, until_ns LIMIT ?1)";
static const char drop_over[] = "DELETE FROM aside WHERE (secret,id) IN (SELECT secret,id FROM aside"
                                " WHERE until_ns BETWEEN 0 AND ?1 ORDER BY until_ns LIMIT ?2)";

/* The columns of a counter, then its secret. */
#define ROW "id,kind,flags,capacity,rate,period_ns,overshoot,number,until_ns,seal,secret"
static const char read_aside[] = "SELECT " ROW " FROM aside ORDER BY secret, id";
static const char read_aside_backwards[] = "SELECT " ROW " FROM aside ORDER BY secret DESC, id DESC";
static const char put_aside[] = "INSERT OR REPLACE INTO aside(" ROW ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)";

/* Runs a statement with up to two numbers. *number becomes the first column of its row, or the
 * number of changed rows. */
static enum store_file_status run(struct store_file *file, const char *sql, uint64_t first, uint64_t second,
                                  uint64_t *number)
{
    struct sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(file->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 0)
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)first);
    if (code == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 1)
        (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)second);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW && number)
        *number = (uint64_t)sqlite3_column_int64(statement, 0);
    if (code == SQLITE_DONE && number)
        *number = sqlite3_stmt_readonly(statement) ? 0 : (uint64_t)sqlite3_changes(file->db);
    (void)sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? STORE_FILE_GOOD : store_rows_failed(file, code);
}

static enum store_file_status prepare(struct store_file *file)
{
    uint64_t tables = 0;
    enum store_file_status status = run(file, count_tables, 0, 0, &tables);
    if (status != STORE_FILE_GOOD || tables == 3)
        return status;
    int code = sqlite3_exec(file->db, schema, NULL, NULL, NULL);
    return code == SQLITE_OK ? STORE_FILE_GOOD : store_rows_failed(file, code);
}

/* Exchanges the counters of the secret `before` for those of `secret`. Must run within a
 * transaction. */
static enum store_file_status exchange(struct store_file *file, const uint64_t *before, uint64_t secret,
                                       struct store_aside *aside)
{
    enum store_file_status status = STORE_FILE_GOOD;
    uint64_t count = 0;
    if (before)
        status = run(file, lay_aside, *before, 0, NULL);
    if (before && status == STORE_FILE_GOOD)
        status = run(file, empty_counters, 0, 0, NULL);
    if (status == STORE_FILE_GOOD)
        status = run(file, take_back, secret, 0, &aside->returned);
    if (status == STORE_FILE_GOOD)
        status = run(file, forget_taken, secret, 0, NULL);
    if (status == STORE_FILE_GOOD)
        status = run(file, put_secret, secret, 0, NULL);
    if (status == STORE_FILE_GOOD)
        status = run(file, count_rows, 0, 0, &count);
    if (status == STORE_FILE_GOOD && count > STORE_ASIDE_MAX)
        status = run(file, drop_first, count - STORE_ASIDE_MAX, 0, &aside->dropped);
    return status;
}

static enum store_file_status change(struct store_file *file, const uint64_t *before, uint64_t secret,
                                     struct store_aside *aside)
{
    enum store_file_status status = store_file_begin(file, true);
    if (status == STORE_FILE_GOOD)
        status = exchange(file, before, secret, aside);
    if (status == STORE_FILE_GOOD)
        status = store_file_commit(file);
    if (status != STORE_FILE_GOOD)
        store_file_cancel(file);
    return status;
}

enum store_file_status store_file_use_secret(struct store_file *file, uint64_t secret, uint64_t wall_ns,
                                             struct store_aside *aside)
{
    uint64_t known = 0, before = 0, deleted;
    *aside = (struct store_aside){0};
    enum store_file_status status = prepare(file);
    if (status == STORE_FILE_GOOD)
        status = run(file, count_secrets, 0, 0, &known);
    if (status == STORE_FILE_GOOD)
        status = run(file, ask_secret, 0, 0, &before);
    file->settled = known == 0; /* an older headgated wrote the file, under this secret as far as can be known */
    if (status == STORE_FILE_GOOD && (known == 0 || before != secret))
        status = change(file, known > 0 ? &before : NULL, secret, aside);
    if (status != STORE_FILE_GOOD)
        return status;
    file->settled = true;
    status = store_parts_tidy(file);
    if (status == STORE_FILE_GOOD)
        status = store_file_prune_aside(file, STORE_ASIDE_MAX, wall_ns, &deleted);
    return status == STORE_FILE_GOOD ? run(file, count_rows, 0, 0, &aside->kept) : status;
}

enum store_file_status store_file_prune_aside(struct store_file *file, uint64_t most, uint64_t wall_ns,
                                              uint64_t *deleted)
{
    *deleted = 0;
    return run(file, drop_over, wall_ns, most, deleted);
}

/* ---- damaged files ---- */

/* Copies rows of a damaged file. False: reading stopped before the end. */
static bool rescue_rows(struct store_file *old, struct sqlite3_stmt *put, const char *sql)
{
    struct sqlite3_stmt *row = NULL;
    struct store_counter counter;
    int code = sqlite3_prepare_v2(old->db, sql, -1, &row, NULL);
    while (code == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(row); i++)
            (void)sqlite3_bind_value(put, i + 1, sqlite3_column_value(row, i));
        code =
            store_rows_take_counter(row, &counter) && sqlite3_step(put) != SQLITE_DONE ? SQLITE_ERROR : SQLITE_OK;
        (void)sqlite3_reset(put);
    }
    (void)sqlite3_finalize(row);
    return code == SQLITE_DONE;
}

enum store_file_status store_file_rescue_aside(struct store_file *old, struct store_file *file)
{
    struct sqlite3_stmt *put = NULL;
    uint64_t known = 0, secret = 0;
    enum store_file_status status = prepare(file);
    if (status != STORE_FILE_GOOD || run(old, count_secrets, 0, 0, &known) != STORE_FILE_GOOD || known == 0 ||
        run(old, ask_secret, 0, 0, &secret) != STORE_FILE_GOOD)
        return status;
    status = run(file, put_secret, secret, 0, NULL);
    if (status == STORE_FILE_GOOD && sqlite3_prepare_v2(file->db, put_aside, -1, &put, NULL) == SQLITE_OK &&
        !rescue_rows(old, put, read_aside))
        (void)rescue_rows(old, put, read_aside_backwards);
    (void)sqlite3_finalize(put);
    return status;
}
