/*
 * Parts of counters of LOGs: when which of their tokens end. They lie in a table of their own, so that an older
 * headgated, which knows only when the last token ends, reads and writes the counters all the same. Each list names the
 * seal of the counter as it was written: a list that is older than its counter is of no use.
 */
#include "edge/store/store_file.h"
#include "limit/kind.h"

#include <sqlite3.h>

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS part(id BLOB PRIMARY KEY NOT NULL, counter INTEGER NOT NULL,"
    " list BLOB NOT NULL, seal INTEGER NOT NULL) WITHOUT ROWID";
static const char is_there[] = "SELECT 1 FROM sqlite_schema WHERE name='part'";
static const char tidy[] = "DELETE FROM part WHERE NOT EXISTS (SELECT 1 FROM counter WHERE counter.id=part.id)";

/* Writes nothing if the table exists. */
enum store_file_status store_parts_add_table(struct store_file *file)
{
    struct sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(file->db, is_there, -1, &row, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(row);
    (void)sqlite3_finalize(row);
    if (code == SQLITE_DONE)
        code = sqlite3_exec(file->db, schema, NULL, NULL, NULL);
    return code == SQLITE_OK || code == SQLITE_ROW ? STORE_FILE_GOOD : store_rows_failed(file, code);
}

enum store_file_status store_parts_tidy(struct store_file *file)
{
    int code = sqlite3_exec(file->db, tidy, NULL, NULL, NULL);
    return code == SQLITE_OK ? STORE_FILE_GOOD : store_rows_failed(file, code);
}

static uint64_t seal_of(const struct store_counter *counter)
{
    uint64_t all[3 + 2 * STORE_PARTS_MAX] = {counter->id.high, counter->id.low, store_rows_seal_counter(counter)};
    size_t count = 3;
    for (uint32_t i = 0; i < counter->part_count; i++) {
        all[count++] = counter->part[i].until_wall_ns;
        all[count++] = counter->part[i].tokens;
    }
    return store_rows_seal(all, count);
}

enum store_file_status store_parts_delete(struct store_file *file, struct key_id id)
{
    store_rows_bind_id(file->statement[STORE_PART_DELETE], 1, id);
    return store_rows_run(file, STORE_PART_DELETE);
}

enum store_file_status store_parts_put(struct store_file *file, const struct store_counter *counter)
{
    struct sqlite3_stmt *put = file->statement[STORE_PART_PUT];
    uint8_t list[STORE_PARTS_MAX * STORE_PAIR_BYTES];
    if (!kind_lists((enum limit_kind)counter->terms.kind))
        return STORE_FILE_GOOD;
    if (counter->part_count == 0)
        return store_parts_delete(file, counter->id);
    for (uint32_t i = 0; i < counter->part_count; i++)
        store_rows_put_pair(list + (size_t)i * STORE_PAIR_BYTES, counter->part[i].until_wall_ns,
                            counter->part[i].tokens);
    store_rows_bind_id(put, 1, counter->id);
    (void)sqlite3_bind_int64(put, 2, (sqlite3_int64)store_rows_seal_counter(counter));
    (void)sqlite3_bind_blob(put, 3, list, (int)(counter->part_count * STORE_PAIR_BYTES), SQLITE_STATIC);
    (void)sqlite3_bind_int64(put, 4, (sqlite3_int64)seal_of(counter));
    return store_rows_run(file, STORE_PART_PUT);
}

bool store_parts_take(struct sqlite3_stmt *row, int column, struct store_counter *counter, struct store_part *room)
{
    const uint8_t *list = sqlite3_column_blob(row, column + 1);
    const int bytes = sqlite3_column_bytes(row, column + 1), most = STORE_PARTS_MAX * STORE_PAIR_BYTES;
    if (sqlite3_column_type(row, column) == SQLITE_NULL ||
        (uint64_t)sqlite3_column_int64(row, column) != store_rows_seal_counter(counter))
        return true;
    if (!list || bytes <= 0 || bytes > most || bytes % STORE_PAIR_BYTES != 0)
        return false;
    counter->part = room;
    counter->part_count = (uint32_t)(bytes / STORE_PAIR_BYTES);
    for (uint32_t i = 0; i < counter->part_count; i++)
        store_rows_take_pair(list + (size_t)i * STORE_PAIR_BYTES, &room[i].until_wall_ns, &room[i].tokens);
    return (uint64_t)sqlite3_column_int64(row, column + 2) == seal_of(counter);
}
