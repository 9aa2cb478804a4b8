/* Of a log the store keeps when its tokens end, in a table that an older headgated does not know. */
#include "tests/lib/store.h"

#include <sqlite3.h>

#define HOUR_NS (UINT64_C(3600) * SECOND_NS)

enum { LOGS_MAX = 100 };

static struct seen seen;
static struct store_part parts_seen[LOGS_MAX][STORE_PARTS_MAX];
static struct store_counter counters_seen[LOGS_MAX];
static unsigned count_seen;

static void see(void *context, const struct store_counter *counter, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count && count_seen < LOGS_MAX; i++, count_seen++) {
        counters_seen[count_seen] = counter[i];
        if (counter[i].part_count > 0)
            memcpy(parts_seen[count_seen], counter[i].part, counter[i].part_count * sizeof *counter[i].part);
    }
}

static void read_all(struct store *store)
{
    struct error error;
    count_seen = 0;
    const bool read = store_read(store, &(struct store_reader){&seen, NULL, see}, &error);
    assert(read);
}

/* The parts of the counter with that number, whose figure must be `value`; -1: it is not there. */
static int parts_of(uint64_t number, uint64_t value)
{
    for (unsigned i = 0; i < count_seen; i++)
        if (counters_seen[i].id.low == number && counters_seen[i].number == value)
            return (int)counters_seen[i].part_count;
    return -1;
}

static void put(struct store *store, uint64_t number, uint64_t value, uint32_t count)
{
    struct store_part part[STORE_PARTS_MAX];
    struct store_counter counter = counter_of(number, value);
    counter.terms.kind = LIMIT_LOG;
    counter.terms.period_ns = HOUR_NS;
    for (uint32_t i = 0; i < count; i++)
        part[i] = (struct store_part){counter.until_wall_ns - i * SECOND_NS, value + i};
    counter.part_count = count;
    counter.part = count > 0 ? part : NULL;
    store_put_counters(store, &counter, 1);
}

static int ask(const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    int failed = sqlite3_open(path_of("headgate.db"), &db);
    assert(failed == 0);
    failed = sqlite3_prepare_v2(db, sql, -1, &row, NULL);
    assert(failed == 0 && sqlite3_step(row) == SQLITE_ROW);
    const int number = sqlite3_column_int(row, 0);
    (void)sqlite3_finalize(row);
    (void)sqlite3_close(db);
    return number;
}

static void write_and_close(struct store **store)
{
    const bool written = wait_until_written(*store);
    assert(written);
    (void)store_close(store);
}

/* Opens the store again and reads it. */
static struct store *open_read(void)
{
    struct store *store = open_one();
    read_all(store);
    return store;
}

static void round_trip(void)
{
    remove_all();
    struct store *store = open_read();
    put(store, 1, 70, STORE_PARTS_MAX);
    put(store, 2, 80, 0);
    struct store_counter other = counter_of(3, 90);
    store_put_counters(store, &other, 1);
    write_and_close(&store);
    store = open_read();
    OK(count_seen == 3 && parts_of(1, 70) == STORE_PARTS_MAX && parts_of(2, 80) == 0 && parts_of(3, 90) == 0,
       "a log has its parts, and what has none has none");
    bool same = false;
    for (unsigned i = 0; i < count_seen; i++)
        if (counters_seen[i].id.low == 1) {
            same = true;
            for (uint32_t p = 0; p < STORE_PARTS_MAX; p++)
                same &= parts_seen[i][p].tokens == 70 + p &&
                        parts_seen[i][p].until_wall_ns == counters_seen[i].until_wall_ns - p * SECOND_NS;
        }
    OK(same, "as they were");
    put(store, 1, 71, 2);
    put(store, 2, 81, 3);
    write_and_close(&store);
    store = open_read();
    OK(parts_of(1, 71) == 2 && parts_of(2, 81) == 3, "others replace them");
    put(store, 1, 72, 0);
    put(store, 2, 82, 4);
    put(store, 2, 83, 0);
    put(store, 2, 84, 5);
    write_and_close(&store);
    OK(ask("SELECT count(*) FROM part") == 1, "or none");
    store = open_read();
    OK(parts_of(1, 72) == 0 && parts_of(2, 84) == 5, "of several that wait the newest counts");
    (void)store_close(&store);
}

/* An older headgated has the same tables, but for this one, and writes counters without parts. */
static void older(void)
{
    remove_all();
    struct store *store = open_read();
    put(store, 1, 10, 2);
    put(store, 2, 20, 2);
    write_and_close(&store);
    OK(ask("SELECT count(*) FROM pragma_table_info('counter')") == 10, "counters have the columns that they had");
    run_sql("CREATE TABLE kept AS SELECT * FROM part");
    store = open_read();
    put(store, 1, 11, 2);
    write_and_close(&store);
    run_sql("DELETE FROM part; INSERT INTO part SELECT * FROM kept; DROP TABLE kept");
    store = open_read();
    OK(parts_of(1, 11) == 0, "parts that are older than their counter are of no use");
    OK(parts_of(2, 20) == 2, "those of a counter that nobody has written since are");
    (void)store_close(&store);
    run_sql("DELETE FROM counter WHERE number=11");
    store = open_read();
    (void)store_close(&store);
    OK(ask("SELECT count(*) FROM part") == 1, "parts of no counter go");
    run_sql("DROP TABLE part");
    store = open_read();
    OK(parts_of(2, 20) == 0, "a file without parts is read");
    put(store, 2, 21, 3);
    write_and_close(&store);
    store = open_read();
    OK(parts_of(2, 21) == 3, "and gets them");
    (void)store_close(&store);
}

static void ends(void)
{
    remove_all();
    struct store *store = open_read();
    put(store, 1, 10, 2);
    OK(wait_until_written(store), "it is written");
    struct store_counter over = counter_of(1, 10);
    over.terms.kind = LIMIT_LOG;
    over.until_wall_ns = 1;
    store_put_counters(store, &over, 1);
    write_and_close(&store);
    OK(ask("SELECT count(*) FROM part") == 0, "when a counter is over, its parts go as well");
}

/* The figure of a damaged file is read, and counts until the last token ends. */
static void damaged(void)
{
    remove_all();
    struct store *store = open_read();
    put(store, 1, 10, 2);
    put(store, 2, 20, 2);
    write_and_close(&store);
    run_sql("UPDATE part SET list=zeroblob(32) WHERE id=(SELECT id FROM counter WHERE number=10)");
    store = open_one();
    OK(strstr(next_notice(store), "was damaged") != NULL, "parts with wrong bytes are noticed");
    read_all(store);
    OK(count_seen == 2 && parts_of(1, 10) == 0 && parts_of(2, 20) == 0, "what the file counts is there");
    (void)store_close(&store);
}

/* Of more logs than there is room for, the figures wait alone. */
static void many(void)
{
    remove_all();
    struct store *store = open_read();
    for (uint64_t i = 0; i < LOGS_MAX; i++)
        put(store, i, i + 1, 2);
    write_and_close(&store);
    store = open_read();
    unsigned with_parts = 0, right = 0;
    for (uint64_t i = 0; i < LOGS_MAX; i++) {
        right += parts_of(i, i + 1) >= 0;
        with_parts += parts_of(i, i + 1) == 2;
    }
    OK(right == LOGS_MAX && with_parts > 0, "all %u logs are kept, %u with parts", right, with_parts);
    (void)store_close(&store);
}

int main(void)
{
    store_scene_begin();
    round_trip();
    older();
    ends();
    damaged();
    many();
    return end();
}
