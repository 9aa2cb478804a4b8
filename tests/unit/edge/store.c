/* The store: what is put in comes out, over ends of all kinds and a disk that is full. */
#include "tests/lib/store.h"

#include "base/random.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sysexits.h>

/* ---- the ordinary course of things ---- */

static bool same_version(const struct rule_record *a, const struct rule_record *b)
{
    return bytes_equal(a->service, b->service) && bytes_equal(a->id, b->id) &&
           a->stamp.lamport == b->stamp.lamport && a->stamp.author == b->stamp.author && a->wall_ms == b->wall_ms &&
           bytes_equal(a->author, b->author) && bytes_equal(a->note, b->note) && a->deleted == b->deleted &&
           a->share_millionths == b->share_millionths && a->threshold_millionths == b->threshold_millionths &&
           a->watch_ms == b->watch_ms && a->epoch == b->epoch && bytes_equal(a->text, b->text);
}

static bool same_counter(const struct store_counter *a, const struct store_counter *b)
{
    return key_id_equal(a->id, b->id) && limit_terms_equal(&a->terms, &b->terms) && a->number == b->number &&
           a->until_wall_ns == b->until_wall_ns;
}

static void round_trip(void)
{
    remove_all();
    struct rule_record all = {.service = bytes_of("orders"),
                              .id = {"per\0user", 8},
                              .stamp = {UINT64_MAX, UINT64_MAX - 1},
                              .wall_ms = 1800000000000,
                              .author = bytes_of("eu-west"),
                              .note = bytes_of("for the weekend: \xe2\x82\xac"),
                              .deleted = true,
                              .share_millionths = 100000,
                              .threshold_millionths = UINT32_MAX,
                              .watch_ms = 60000,
                              .epoch = (uint64_t)1 << 63,
                              .text = bytes_of("rules:\n  - id: per-user\n")};
    struct rule_record none = version_of("", "", 0, "");
    none.author = (struct bytes){NULL, 0};
    struct store_counter counter = {.id = {UINT64_MAX, 1},
                                    .terms = {2, 255, UINT64_MAX, 1, 2, 3, UINT32_MAX},
                                    .number = UINT64_MAX,
                                    .until_wall_ns = UINT64_MAX};
    struct store *store = open_one();
    struct seen *seen = look(store, NULL);
    OK(seen->versions == 0 && seen->counters == 0, "a fresh store holds nothing");
    store_put_versions(store, &all, 1);
    store_put_versions(store, &none, 1);
    store_put_counters(store, &counter, 1);
    OK(wait_until_written(store), "it is written");
    struct store_stats stats = stats_of(store);
    OK(stats.versions_written == 2 && stats.counters_written == 1 && stats.versions_waiting == 0 &&
           stats.counters_waiting == 0 && !stats.failing && stats.file_bytes > 0,
       "and counted");
    store = reopen(store);
    seen = look(store, NULL);
    OK(seen->versions == 2 && same_version(&seen->version[0], &none) && same_version(&seen->version[1], &all),
       "versions come back as they were, extremes included");
    OK(seen->counters == 1 && same_counter(&seen->last, &counter), "and so do counters");
    struct notice notice;
    OK(!store_notice(store, &notice), "there is nothing to say about it");
    (void)store_close(&store);
    OK(store == NULL && count_files("*") == 1, "a store that was closed is one file");
}

static void versions_kept(void)
{
    remove_all();
    static const uint64_t stamps[] = {12, 3, 7, 1, 20, 5, 9, 15, 2, 18, 11, 4, 256, 300};
    struct store *store = open_one();
    for (size_t i = 0; i < sizeof stamps / sizeof stamps[0]; i++) {
        struct rule_record version = version_of("a", "x", stamps[i], "text");
        store_put_versions(store, &version, 1);
    }
    /* A canary of "z" came again and again: the last general version is still needed. */
    for (uint64_t i = 1; i <= 12; i++) {
        struct rule_record canary = version_of("a", "z", i, "text");
        canary.share_millionths = i == 2 || i == 1 ? 0 : 5;
        store_put_versions(store, &canary, 1);
    }
    struct rule_record other = version_of("a", "y", 1, "text");
    store_put_versions(store, &other, 1);
    store_put_versions(store, &other, 1);
    store = reopen(store);
    struct seen *seen = look(store, NULL);
    static const uint64_t expected[] = {9, 11, 12, 15, 18, 20, 256, 300, 1, 2, 5, 6, 7, 8, 9, 10, 11, 12};
    bool right = seen->versions == sizeof expected / sizeof expected[0];
    for (size_t i = 0; right && i < seen->versions; i++)
        right = seen->version[i].stamp.lamport == expected[i];
    OK(right,
       "the newest %d of a rule and the newest general one are kept, told from old to new, and a version is kept "
       "once",
       RULE_VERSIONS_KEPT);
    (void)store_close(&store);
}

static void counters_kept(void)
{
    remove_all();
    struct store *store = open_one();
    for (uint64_t value = 1; value <= 2000; value++) {
        struct store_counter both[] = {counter_of(1, value), counter_of(2, 2 * value)};
        store_put_counters(store, both, 2);
    }
    struct store_counter gone = counter_of(3, 1);
    store_put_counters(store, &gone, 1);
    OK(wait_until_written(store), "it is written");
    struct store_stats stats = stats_of(store);
    OK(stats.counters_written >= 3 && stats.counters_written <= 4001,
       "a value that waits is replaced by a newer one");
    gone.until_wall_ns = 0;
    store_put_counters(store, &gone, 1);
    struct store_counter brief = counter_of(4, 1);
    store_put_counters(store, &brief, 1);
    store = reopen(store);
    struct seen *seen = look(store, NULL);
    OK(seen->counters == 3 && seen->sum == 2000 + 4000 + 1, "the newest value counts, and what is over is deleted");
    brief.until_wall_ns = clock_wall_ns() + 3 * SECOND_NS;
    store_put_counters(store, &brief, 1);
    uint64_t end_ns = clock_monotonic_ns() + WAIT_S * SECOND_NS;
    while (stats_of(store).counters_expired == 0 && clock_monotonic_ns() < end_ns)
        sleep_a_little();
    OK(stats_of(store).counters_expired == 1, "what comes to its end is deleted by itself");
    store = reopen(store);
    OK(look(store, NULL)->counters == 2, "for good");
    (void)store_close(&store);
}

/* ---- ends of all kinds ---- */

static void put_forever(int out)
{
    struct store *store = open_one();
    (void)look(store, NULL);
    for (uint64_t turn = 1;; turn++) {
        struct store_counter counters[10];
        for (uint64_t i = 0; i < 10; i++)
            counters[i] = counter_of(i, turn);
        struct rule_record pair[] = {version_of("s", "one", turn, "a"), version_of("s", "two", turn, "b")};
        store_put_counters(store, counters, 10);
        store_put_versions(store, pair, 2);
        if (turn % 8 == 0) {
            if (!wait_until_written(store) || write(out, &turn, sizeof turn) != sizeof turn)
                _exit(1);
        }
    }
}

static void killed(void)
{
    remove_all();
    struct random random;
    random_seed(&random, 1);
    bool whole = true, equal = true, kept = true, quiet = true;
    for (int round = 0; round < 12; round++) {
        int ends[2];
        remove_all();
        int failed = pipe(ends);
        assert(failed == 0);
        pid_t child = fork();
        assert(child >= 0);
        if (child == 0)
            put_forever(ends[1]);
        close(ends[1]);
        uint64_t written = 0, turn;
        uint64_t least = 8 * random_below(&random, 20);
        while (written < least && read(ends[0], &turn, sizeof turn) == sizeof turn)
            written = turn;
        (void)usleep((useconds_t)random_below(&random, 5000));
        (void)kill(child, SIGKILL);
        while (read(ends[0], &turn, sizeof turn) == sizeof turn)
            written = turn;
        close(ends[0]);
        (void)waitpid(child, NULL, 0);
        struct store *store = open_one();
        struct seen *seen = look(store, NULL);
        struct notice notice;
        quiet = quiet && (!store_notice(store, &notice) || strstr(notice.text, "was empty"));
        kept = kept && (written == 0 || (seen->counters == 10 && seen->least >= written && seen->versions == 16 &&
                                         seen->version[7].stamp.lamport >= written));
        equal = equal && seen->least == seen->most;
        whole = whole && seen->versions % 2 == 0;
        for (size_t i = 0; i < seen->versions / 2; i++)
            whole = whole && seen->version[i].stamp.lamport == seen->version[seen->versions / 2 + i].stamp.lamport;
        (void)store_close(&store);
    }
    OK(kept, "kill -9: what had been written is there");
    OK(equal, "kill -9: counters that were put together are from one moment");
    OK(whole, "kill -9: versions that were put together are there together, or not at all");
    OK(quiet, "kill -9: nothing is damaged by it");
}

static void busy(void)
{
    remove_all();
    int ends[2];
    char byte = 0;
    int failed = pipe(ends);
    assert(failed == 0);
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        struct store *store = open_one();
        if (write(ends[1], &byte, 1) != 1)
            _exit(1);
        (void)look(store, NULL);
        (void)pause();
    }
    ssize_t size = read(ends[0], &byte, 1);
    assert(size == 1);
    struct error error = {0};
    struct store *store = open_with(10, &error);
    char expected[PATH_BYTES];
    (void)snprintf(expected, sizeof expected,
                   "state_dir: %s/headgate.db cannot be used (database is locked): expected a directory of this "
                   "daemon's own that it may write",
                   scratch);
    OK(!store && strcmp(error.text, expected) == 0 && error.exit_status == 73, "two processes: %s", error.text);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    store = open_with(10, &error);
    OK(store != NULL, "a process that was killed leaves no lock");
    (void)store_close(&store);
}

static void refused(void)
{
    remove_all();
    struct error error = {0};
    struct store *store = open_one();
    (void)store_close(&store);
    run_sql("PRAGMA user_version=2");
    store = open_with(10, &error);
    OK(!store && strstr(error.text, "a newer headgated made it (format 2, this one knows 1)"), "%s", error.text);
    store = store_open(&(struct store_options){.directory = "/nowhere/at/all", .counters_max = 1}, &error);
    OK(!store && strstr(error.text, "/nowhere/at/all/headgate.db cannot be used"), "%s", error.text);
}

/* A thread whose stack nobody has memory for. */
static void no_thread(void)
{
    remove_all();
    struct rlimit limit, large;
    int failed = getrlimit(RLIMIT_STACK, &limit);
    large = limit;
    large.rlim_cur = (rlim_t)1 << 50;
    failed |= setrlimit(RLIMIT_STACK, &large);
    assert(failed == 0);
    struct store *store = open_one();
    struct error error = {0};
    OK(!store_read(store, &(struct store_reader){0}, &error) && error.exit_status == EX_OSERR &&
           strstr(error.text, "cannot start a thread to write ") == error.text,
       "%s", error.text);
    OK(store_close(&store), "a store without its thread is closed");
    failed = setrlimit(RLIMIT_STACK, &limit);
    assert(failed == 0);
}

/* ---- a full disk ---- */

static void set_file_limit(rlim_t bytes)
{
    struct rlimit limit;
    int failed = getrlimit(RLIMIT_FSIZE, &limit);
    assert(failed == 0);
    limit.rlim_cur = bytes;
    failed = setrlimit(RLIMIT_FSIZE, &limit);
    assert(failed == 0);
}

/* Puts a counter that no room is left for. The time until that is said. */
static uint64_t time_of_complaint(struct store *store, uint64_t number, const char **said)
{
    struct store_counter counter = counter_of(0, number);
    set_file_limit(size_of(path_of("headgate.db-wal")));
    uint64_t begun_ns = clock_monotonic_ns();
    store_put_counters(store, &counter, 1);
    *said = next_notice(store);
    return clock_monotonic_ns() - begun_ns;
}

/* Where others have the processor for a second, it is tried again. */
static uint64_t least_time_of_complaint(struct store *store, const char **said)
{
    uint64_t took_ns = time_of_complaint(store, 2, said);
    for (uint64_t number = 3; number < 20 && took_ns >= SECOND_NS; number++) {
        set_file_limit(RLIM_INFINITY);
        (void)next_notice(store);
        (void)wait_until_written(store);
        took_ns = time_of_complaint(store, number, said);
    }
    return took_ns;
}

static void full(void)
{
    remove_all();
    const char *said;
    struct store *store = open_with(1000, &(struct error){0});
    (void)look(store, NULL);
    struct store_counter counter = counter_of(0, 1);
    store_put_counters(store, &counter, 1);
    bool good = wait_until_written(store);
    uint64_t took_ns = least_time_of_complaint(store, &said);
    OK(good && strstr(said, "headgate.db cannot be written (disk I/O error"), "no room: %s", said);
    OK(took_ns < SECOND_NS, "it is said within a second: %" PRIu64 " us", took_ns / 1000);
    for (uint64_t turn = 0; turn < 10; turn++)
        for (uint64_t i = 0; i < 2500; i++) {
            counter = counter_of(i, 10 + turn);
            store_put_counters(store, &counter, 1);
        }
    struct store_stats stats = stats_of(store);
    OK(stats.failing && strstr(stats.failure, "disk I/O error") && stats.counters_waiting == 1001 &&
           stats.counters_dropped == 15000,
       "what waits is bounded: %" PRIu64 ", and what is beyond is counted: %" PRIu64, stats.counters_waiting,
       stats.counters_dropped);
    static char large[STORE_FIELD_MAX_BYTES];
    memset(large, 'x', sizeof large);
    struct rule_record version = version_of("s", "large", 0, "");
    version.text = (struct bytes){large, sizeof large};
    for (version.stamp.lamport = 1; version.stamp.lamport <= 12; version.stamp.lamport++)
        store_put_versions(store, &version, 1);
    stats = stats_of(store);
    OK(stats.versions_waiting == 9 && stats.versions_dropped == 3, "and so are versions: %" PRIu64 " and %" PRIu64,
       stats.versions_waiting, stats.versions_dropped);
    OK(!store_wants_all(store), "it makes no sense to ask for more now");
    uint64_t end_ns = clock_monotonic_ns() + WAIT_S * SECOND_NS;
    while (stats_of(store).write_failures < 3 && clock_monotonic_ns() < end_ns)
        sleep_a_little();
    struct notice notice;
    OK(!store_notice(store, &notice), "it is said once, however often it is tried");
    set_file_limit(RLIM_INFINITY);
    said = next_notice(store);
    OK(strstr(said, "headgate.db is written again, after "), "room again: %s", said);
    OK(wait_until_written(store) && !stats_of(store).failing && store_wants_all(store),
       "all is written, and the owner is asked for what was dropped");
    store = reopen(store);
    struct seen *seen = look(store, NULL);
    OK(seen->counters == 1000 && seen->least == 19 && seen->versions == 8 && seen->version[7].stamp.lamport == 9,
       "the newest values are there");
    (void)store_close(&store);
}

static void full_at_the_end(void)
{
    remove_all();
    struct store *store = open_one();
    (void)look(store, NULL);
    set_file_limit(10);
    struct store_counter counter = counter_of(0, 1);
    store_put_counters(store, &counter, 1);
    uint64_t begun_ns = clock_monotonic_ns();
    bool written = store_close(&store);
    OK(!written && clock_monotonic_ns() - begun_ns < WAIT_S * SECOND_NS, "a store that cannot write can be closed");
    remove_all();
    struct error error = {0};
    store = open_with(10, &error);
    OK(store != NULL, "and opened: %s", store ? next_notice(store) : error.text);
    set_file_limit(RLIM_INFINITY);
    (void)look(store, NULL);
    store_put_counters(store, &counter, 1);
    OK(wait_until_written(store), "it begins to write when there is room");
    store = reopen(store);
    OK(look(store, NULL)->counters == 1, "and nothing is missing");
    (void)store_close(&store);
}

int main(void)
{
    store_scene_begin();
    (void)signal(SIGXFSZ, SIG_IGN);
    round_trip();
    versions_kept();
    counters_kept();
    killed();
    busy();
    refused();
    no_thread();
    full();
    full_at_the_end();
    return end();
}
