/* The secret changes, and comes back: counters that it made are kept, not used, and used again. */
#include "tests/lib/store.h"

#include <sqlite3.h>

enum { OLD = 1111, NEW = 2222, OTHER = 3333 };

static struct store *open_under(uint64_t secret)
{
    struct error error = {0};
    struct store_options options = {.directory = scratch,
                                    .counters_max = 1 << 20,
                                    .versions_max_bytes = 10 << 20,
                                    .secret = secret};
    struct store *store = store_open(&options, &error);
    if (!store)
        printf("# %s\n", error.text);
    assert(store);
    return store;
}

static void put(struct store *store, uint64_t first, uint64_t count, uint64_t for_s)
{
    for (uint64_t i = first; i < first + count; i++) {
        struct store_counter counter = counter_of(i, i);
        counter.until_wall_ns = clock_wall_ns() + for_s * SECOND_NS;
        store_put_counters(store, &counter, 1);
    }
}

static bool said(struct store *store, const char *piece)
{
    const char *text = next_notice(store);
    if (strstr(text, piece))
        return true;
    printf("# said: %s\n", text);
    return false;
}

static bool silent(struct store *store)
{
    struct notice notice;
    bool any = store_notice(store, &notice);
    if (any)
        printf("# said: %s\n", notice.text);
    return !any;
}

static void test_there_and_back(void)
{
    struct rule_record version = version_of("shop", "r", 1, "text");
    struct store *store = open_under(OLD);
    OK(silent(store), "a new file knows of no other secret");
    put(store, 1, 3, 3600);
    store_put_versions(store, &version, 1);
    (void)store_close(&store);

    store = open_under(OLD);
    OK(silent(store) && look(store, NULL)->counters == 3, "under the same secret counters come back");
    (void)store_close(&store);

    store = open_under(NEW);
    OK(said(store,
            "/headgate.db: 3 counters are under another secret: they are kept until their time is over, and"),
       "under another one it is said how many are not used");
    struct seen *seen = look(store, NULL);
    OK(seen->counters == 0 && seen->versions == 1, "none of them is told, rules are");
    OK_U64(stats_of(store).counters_aside, 3, "and a figure counts them");
    put(store, 100, 2, 3600);
    (void)store_close(&store);

    store = open_under(NEW);
    OK(said(store, "3 counters are under another secret"), "which is said at each start");
    seen = look(store, NULL);
    OK(seen->counters == 2 && seen->least == 100, "what the new secret made comes back");
    (void)store_close(&store);

    store = open_under(OLD);
    OK(said(store, "3 counters are under this secret again"), "back to the old one: they are used");
    OK(said(store, "2 counters are under another secret"), "and those of the other lie aside");
    seen = look(store, NULL);
    OK(seen->counters == 3 && seen->sum == 6, "none is lost");
    OK_U64(stats_of(store).counters_aside, 2, "the figure");
    (void)store_close(&store);

    store = open_under(OTHER);
    OK(said(store, "5 counters are under another secret"), "a third secret: those of both lie aside");
    (void)look(store, NULL);
    (void)store_close(&store);
    remove_all();
}

static void test_ends(void)
{
    struct store *store = open_under(OLD);
    put(store, 1, 2, 1);
    put(store, 3, 1, 3600);
    (void)store_close(&store);
    store = open_under(NEW);
    (void)look(store, NULL);
    uint64_t end_ns = clock_monotonic_ns() + WAIT_S * SECOND_NS;
    while (stats_of(store).counters_aside > 1 && clock_monotonic_ns() < end_ns)
        sleep_a_little();
    OK_U64(stats_of(store).counters_aside, 1, "those whose time is over go, the others stay");
    (void)store_close(&store);
    remove_all();
}

/* As a daemon left it that knew nothing of this: no such tables. */
static void test_older_file(void)
{
    struct sqlite3 *db = NULL;
    struct store *store = open_under(OLD);
    put(store, 1, 4, 3600);
    (void)store_close(&store);
    OK(sqlite3_open(path_of("headgate.db"), &db) == SQLITE_OK &&
           sqlite3_exec(db, "DROP TABLE aside; DROP TABLE secret", NULL, NULL, NULL) == SQLITE_OK,
       "an older file");
    (void)sqlite3_close(db);
    store = open_under(NEW);
    OK(silent(store) && look(store, NULL)->counters == 4, "is taken to be of the secret at hand");
    (void)store_close(&store);
    store = open_under(OLD);
    OK(said(store, "4 counters are under another secret"), "and is from then on");
    (void)look(store, NULL);
    (void)store_close(&store);
    remove_all();
}

/* The damaged file is set aside; what lay aside in it lies aside in the fresh one. */
static void test_damaged(void)
{
    struct sqlite3 *db = NULL;
    struct store *store = open_under(OLD);
    put(store, 1, 5, 3600);
    (void)store_close(&store);
    store = open_under(NEW);
    (void)look(store, NULL);
    put(store, 100, 2, 3600);
    (void)store_close(&store);
    OK(sqlite3_open(path_of("headgate.db"), &db) == SQLITE_OK &&
           sqlite3_exec(db, "UPDATE counter SET number=7 WHERE number=101", NULL, NULL, NULL) == SQLITE_OK &&
           sqlite3_exec(db, "UPDATE aside SET number=7 WHERE number=5", NULL, NULL, NULL) == SQLITE_OK,
       "two rows are scribbled on");
    (void)sqlite3_close(db);
    store = open_under(NEW);
    OK(said(store, "was damaged"), "the file is set aside");
    OK(said(store, "4 counters are under another secret"), "what lay aside and is whole still does");
    struct seen *seen = look(store, NULL);
    OK(seen->counters == 1 && seen->sum == 100, "as what is in use is");
    (void)store_close(&store);
    store = open_under(OLD);
    OK(said(store, "4 counters are under this secret again"), "and it comes back");
    seen = look(store, NULL);
    OK(seen->counters == 4 && seen->sum == 10, "with its numbers");
    (void)store_close(&store);
    remove_all();
}

int main(void)
{
    store_scene_begin();
    test_there_and_back();
    test_ends();
    test_older_file();
    test_damaged();
    return end();
}
