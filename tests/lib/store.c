#include "tests/lib/store.h"

#include <sqlite3.h>

char scratch[PATH_BYTES / 4];

void remove_all(void)
{
    char command_path[PATH_BYTES];
    glob_t found;
    (void)snprintf(command_path, sizeof command_path, "%s/*", scratch);
    if (glob(command_path, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            (void)unlink(found.gl_pathv[i]);
    globfree(&found);
}

const char *path_of(const char *name)
{
    static char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", scratch, name);
    return path;
}

void run_sql(const char *sql)
{
    sqlite3 *db = NULL;
    int failed = sqlite3_open(path_of("headgate.db"), &db);
    assert(failed == 0);
    failed = sqlite3_exec(db, sql, NULL, NULL, NULL);
    assert(failed == 0);
    (void)sqlite3_close(db);
}

size_t count_files(const char *pattern)
{
    glob_t found;
    size_t count = glob(path_of(pattern), 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

struct store *open_with(uint64_t counters_max, struct error *error)
{
    struct store_options options = {
        .directory = scratch,
        .counters_max = counters_max,
        .versions_max_bytes = 10 << 20,
    };
    return store_open(&options, error);
}

struct store *open_one(void)
{
    struct error error = {0};
    struct store *store = open_with(1 << 20, &error);
    if (!store)
        printf("# %s\n", error.text);
    assert(store);
    return store;
}

struct store_stats stats_of(struct store *store)
{
    struct store_stats stats;
    store_stats(store, &stats);
    return stats;
}

void sleep_a_little(void)
{
    (void)usleep(2000);
}

bool wait_until_written(struct store *store)
{
    uint64_t end_ns = clock_monotonic_ns() + WAIT_S * SECOND_NS;
    while (true) {
        const struct store_stats stats = stats_of(store);
        if (stats.versions_waiting + stats.counters_waiting == 0)
            return true;
        if (clock_monotonic_ns() > end_ns)
            return false;
        sleep_a_little();
    }
}

const char *next_notice(struct store *store)
{
    static struct notice notice;
    uint64_t end_ns = clock_monotonic_ns() + WAIT_S * SECOND_NS;
    while (!store_notice(store, &notice)) {
        if (clock_monotonic_ns() > end_ns)
            return "(nothing was said)";
        sleep_a_little();
    }
    return notice.text;
}

struct rule_record version_of(const char *service, const char *id, uint64_t lamport, const char *text)
{
    return (struct rule_record){.service = bytes_of(service),
                                .id = bytes_of(id),
                                .stamp = {lamport, 7},
                                .author = bytes_of("us-east"),
                                .text = bytes_of(text)};
}

struct store_counter counter_of(uint64_t number, uint64_t value)
{
    return (struct store_counter){.id = {number * 0x9e3779b97f4a7c15u, number},
                                  .terms = {.kind = 1, .capacity = 1000},
                                  .number = value,
                                  .until_wall_ns = clock_wall_ns() + 3600 * SECOND_NS};
}

static void keep(struct seen *seen, struct bytes *text)
{
    if (text->size > 1000)
        text->size = 1000; /* its beginning */
    assert(seen->text_size + text->size <= sizeof seen->text);
    memcpy(seen->text + seen->text_size, text->data, text->size);
    text->data = seen->text + seen->text_size;
    seen->text_size += text->size;
}

static void see_versions(void *context, const struct rule_record *version, size_t count)
{
    struct seen *seen = context;
    seen->versions += count;
    for (size_t i = 0; i < count && seen->kept < SEEN_VERSIONS; i++) {
        struct rule_record *copy = &seen->version[seen->kept++];
        *copy = version[i];
        keep(seen, &copy->service);
        keep(seen, &copy->id);
        keep(seen, &copy->author);
        keep(seen, &copy->note);
        keep(seen, &copy->text);
    }
}

static void see_counters(void *context, const struct store_counter *counter, size_t count)
{
    struct seen *seen = context;
    for (size_t i = 0; i < count; i++) {
        if (seen->counters == 0 || counter[i].number < seen->least)
            seen->least = counter[i].number;
        if (counter[i].number > seen->most)
            seen->most = counter[i].number;
        seen->wrong += seen->right && seen->right(counter[i].id) != counter[i].number;
        seen->sum += counter[i].number;
        seen->last = counter[i];
        seen->counters++;
    }
}

struct seen *look(struct store *store, uint64_t (*right)(struct key_id))
{
    static struct seen seen;
    memset(&seen, 0, sizeof seen);
    seen.right = right;
    struct error error;
    const bool read = store_read(store, &(struct store_reader){&seen, see_versions, see_counters}, &error);
    assert(read);
    return &seen;
}

struct store *reopen(struct store *store)
{
    bool written = store_close(&store);
    assert(written);
    return open_one();
}

uint64_t size_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

void store_scene_begin(void)
{
    const char *directory = getenv("TMPDIR");
    (void)snprintf(scratch, sizeof scratch, "%.100s/headgate-store-XXXXXX", directory ? directory : "/tmp");
    if (!mkdtemp(scratch))
        perror(scratch);
    assert(scratch[0] == '/');
}

int end(void)
{
    remove_all();
    (void)rmdir(scratch);
    return tap_done();
}
