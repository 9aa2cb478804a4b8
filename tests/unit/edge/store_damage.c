/* The store's file is not as it was written: cut off, scribbled on, removed. */
#include "tests/lib/store.h"

#include "base/random.h"

#include <fcntl.h>

/* ---- damage ---- */

enum { VERSIONS = 16, PAGE = 4096 };
/*
 * Schema, versions, the counters' root and the leaf that has no row before it; the count of transactions, the secret,
 * and what lies aside: a table and its index; the parts of logs, of which there are none.
 */
enum { OTHER_PAGES = 9 };
enum { STEP = 2 * SLOW - 1 }; /* pages from cut to cut: odd, so that every other is within a page */

static uint64_t right_number(struct key_id id)
{
    return id.low * 3 + 1;
}

static void put_some(struct store *store, uint64_t first, uint64_t count)
{
    static struct store_counter counters[1000];
    for (uint64_t i = 0; i < count; i++) {
        counters[i] = counter_of(first + i, 0);
        counters[i].number = right_number(counters[i].id);
    }
    store_put_counters(store, counters, count);
}

/*
 * A store with many counters and some versions, closed. Each thousand is a transaction, and so are the versions,
 * however fast the store's thread is: so its pages are the same each time.
 */
static void fill(uint64_t counters)
{
    static char id[VERSIONS][16];
    struct rule_record version[VERSIONS];
    for (uint64_t i = 0; i < VERSIONS; i++) {
        (void)snprintf(id[i], sizeof id[i], "rule-%02u", (unsigned)i);
        version[i] = version_of("service", id[i], i + 1, "a rule's text, of some length");
    }
    remove_all();
    struct store *store = open_one();
    bool written = true;
    for (uint64_t first = 0; first < counters; first += 1000) {
        put_some(store, first, counters - first < 1000 ? counters - first : 1000);
        written = wait_until_written(store) && written;
    }
    store_put_versions(store, version, VERSIONS);
    written = wait_until_written(store) && written;
    assert(written);
    (void)store_close(&store);
}

static bool versions_right(const struct seen *seen)
{
    for (size_t i = 0; i < seen->kept; i++)
        if (!bytes_equal(seen->version[i].text, bytes_of("a rule's text, of some length")) ||
            !bytes_equal(seen->version[i].service, bytes_of("service")))
            return false;
    return true;
}

/* Opens what was damaged: nothing wrong comes out, and it can be used again. */
static bool survives(size_t *counters, size_t *versions, bool *set_aside)
{
    struct error error = {0};
    struct store *store = open_with(100, &error);
    if (!store) {
        printf("# %s\n", error.text);
        return false;
    }
    struct seen *seen = look(store, right_number);
    *counters = seen->counters;
    *versions = seen->versions;
    bool right = seen->wrong == 0 && versions_right(seen);
    *set_aside = stats_of(store).files_set_aside == 1;
    struct store_counter counter = counter_of((uint64_t)1 << 40, 5);
    store_put_counters(store, &counter, 1);
    right = right && wait_until_written(store) && !stats_of(store).failing;
    store = reopen(store);
    seen = look(store, NULL);
    right = right && seen->counters == *counters + 1 && seen->versions == *versions;
    (void)store_close(&store);
    return right;
}

/* Leaves the first `left` bytes of a file of 3000 counters. */
static void cut_off(uint64_t left)
{
    fill(3000);
    int failed = truncate(path_of("headgate.db"), (off_t)left);
    assert(failed == 0);
}

/*
 * Rows on whole pages from the fourth on, which are leaves (10) of the counters, but for those that count
 * transactions, name the secret, and have nothing aside, and no parts of logs. Before them are the schema, the
 * versions, and the counters' root, whose rows cannot be reached where what they stand between is missing.
 */
static size_t count_rows(uint64_t *pages)
{
    uint8_t page[PAGE];
    size_t rows = 0;
    int file = open(path_of("headgate.db"), O_RDONLY);
    assert(file >= 0);
    for (*pages = 0; read(file, page, PAGE) == PAGE; ++*pages)
        if (*pages >= 3 && page[0] == 10)
            rows += (size_t)page[3] << 8 | page[4];
    (void)close(file);
    return rows;
}

static void truncated(void)
{
    uint64_t pages = 0, left;
    size_t counters = 0, versions = 0, short_of = 0, most = 0, rounds = 0;
    bool set_aside = false;
    fill(3000);
    uint64_t in_leaves = count_rows(&pages);
    bool whole = in_leaves + pages - OTHER_PAGES == 3000; /* with the root's: one between two leaves */
    cut_off(100);
    bool good = survives(&counters, &versions, &set_aside) && counters == 0 && versions == 0;
    bool all_set_aside = set_aside;
    for (left = pages - 1; left > 3; left -= left > STEP + 3 ? STEP : left - 3, rounds++) {
        cut_off(left * PAGE - left % 2);
        size_t rows = count_rows(&pages);
        good = survives(&counters, &versions, &set_aside) && good;
        all_set_aside = all_set_aside && set_aside && count_files("headgate.db.corrupt-*Z") == 1;
        short_of += versions < VERSIONS || counters < rows || counters == 3000;
        most = rows > most ? rows : most;
    }
    OK(good, "a file that was cut off: nothing wrong comes out of it, and the store goes on");
    OK(all_set_aside, "it is set aside");
    OK(whole && rounds > 0 && short_of == 0,
       "and all that its pages still have is taken over: of 3000 counters up to %zu (%zu of %zu cuts lost more)",
       most, short_of, rounds);
    fill(10);
    int failed = truncate(path_of("headgate.db"), 0);
    assert(failed == 0);
    struct store *store = open_one();
    OK(strstr(next_notice(store), "headgate.db was empty: it begins anew"), "an empty file is told of");
    (void)store_close(&store);
}

/* Overwrites some bytes with others. */
static void scribble_into(int file, struct random *random, uint64_t offset, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t byte;
        ssize_t done = pread(file, &byte, 1, (off_t)(offset + i));
        assert(done == 1);
        byte ^= (uint8_t)(1 + random_below(random, 255));
        done = pwrite(file, &byte, 1, (off_t)(offset + i));
        assert(done == 1);
    }
}

static void scribble(struct random *random, uint64_t offset, size_t size)
{
    int file = open(path_of("headgate.db"), O_RDWR);
    assert(file >= 0);
    scribble_into(file, random, offset, size);
    (void)close(file);
}

static void scribbled(void)
{
    struct random random;
    random_seed(&random, 3);
    bool good = true;
    size_t lost = 0, noticed = 0, kept = 0;
    int rounds = 60 / SLOW;
    for (int round = 0; round < rounds; round++) {
        size_t counters = 0, versions = 0;
        bool set_aside = false;
        fill(1000);
        uint64_t size = size_of(path_of("headgate.db"));
        /* Whole pages, single bytes, and now and then the file's first page. */
        size_t length = round % 3 == 0 ? 4096 : 1 + random_below(&random, 20);
        uint64_t offset = round % 10 == 9 ? 100 : random_below(&random, size - length);
        scribble(&random, offset, length);
        good = survives(&counters, &versions, &set_aside) && good;
        lost += counters < 1000 || versions < VERSIONS;
        noticed += set_aside;
        kept += counters;
    }
    OK(good, "a file that was scribbled on %d times: nothing wrong comes out of it, and the store goes on", rounds);
    OK(noticed >= lost && lost > 0, "whenever something is lost, the file is set aside (%zu of %zu)", lost,
       noticed);
    OK(kept > (size_t)rounds * 300, "most rows survive: %zu of %d", kept, rounds * 1000);
    fill(100);
    scribble(&random, 0, 100);
    struct store *store = open_one();
    const char *said = next_notice(store);
    OK(strstr(said, "headgate.db was damaged (file is not a database): set aside as *.corrupt-") &&
           strstr(said, "; read of it: versions 0, counters 0"),
       "it is said: %s", strstr(said, "headgate.db was") ? strstr(said, "headgate.db was") : said);
    (void)store_close(&store);
    for (int i = 0; i < 5; i++) {
        scribble(&random, 0, 100);
        store = open_one();
        (void)store_close(&store);
    }
    OK(count_files("headgate.db.corrupt-*Z") == 3, "the newest three damaged files are kept");
}

/* While it is open, and larger than what SQLite keeps in memory. */
static void scribbled_while_open(void)
{
    uint64_t counters = 150000;
    struct random random;
    random_seed(&random, 4);
    remove_all();
    struct store *store = open_one();
    (void)look(store, NULL);
    for (uint64_t first = 0; first < counters; first += 1000)
        put_some(store, first, 1000);
    bool written = wait_until_written(store);
    store = reopen(store);
    (void)look(store, NULL);
    uint64_t size = size_of(path_of("headgate.db"));
    int file = open(path_of("headgate.db"), O_RDWR); /* which may have another name before this is done */
    assert(file >= 0);
    for (uint64_t offset = 4096; offset < size; offset += 4096)
        scribble_into(file, &random, offset, 16);
    (void)close(file);
    uint64_t end_ns = clock_monotonic_ns() + WAIT_S * SECOND_NS;
    for (uint64_t i = 0; stats_of(store).files_set_aside == 0 && clock_monotonic_ns() < end_ns; i++) {
        struct store_counter counter = counter_of(random_below(&random, counters), 0);
        counter.number = right_number(counter.id);
        store_put_counters(store, &counter, 1);
        if (i % 64 == 0)
            sleep_a_little();
    }
    OK(written && stats_of(store).files_set_aside == 1, "a file that is damaged while it is open is set aside");
    OK(store_wants_all(store) && !store_wants_all(store), "the owner is asked for everything, once");
    OK(strstr(next_notice(store), "headgate.db was damaged"), "it is said");
    struct store_counter counter = counter_of(0, 0);
    counter.number = right_number(counter.id);
    store_put_counters(store, &counter, 1);
    OK(wait_until_written(store), "the store goes on");
    store = reopen(store);
    struct seen *seen = look(store, right_number);
    OK(seen->wrong == 0 && seen->counters > 0, "with nothing wrong in it: %zu counters, %zu wrong", seen->counters,
       (size_t)seen->wrong);
    (void)store_close(&store);
}

static void removed(void)
{
    remove_all();
    struct store *store = open_one();
    (void)look(store, NULL);
    struct store_counter counter = counter_of(1, 1);
    store_put_counters(store, &counter, 1);
    OK(wait_until_written(store), "it is written");
    remove_all();
    OK(strstr(next_notice(store), "headgate.db was gone: it is made anew"),
       "a file that somebody removes is missed within a second or so");
    OK(store_wants_all(store), "and the owner is asked for everything");
    store_put_counters(store, &counter, 1);
    store = reopen(store);
    OK(look(store, NULL)->counters == 1, "what is put then is kept");
    (void)store_close(&store);
}

/* The directory goes, with nothing to write, and another one comes: as when a volume is unmounted. */
static void directory_removed(void)
{
    char away[PATH_BYTES];
    const struct rule_record version = version_of("service", "rule", 1, "text");
    remove_all();
    (void)snprintf(away, sizeof away, "%s.away", scratch);
    struct store *store = open_one();
    (void)look(store, NULL);
    store_put_versions(store, &version, 1);
    OK(wait_until_written(store), "a rule is written");
    int failed = rename(scratch, away);
    assert(failed == 0);
    OK(strstr(next_notice(store), "headgate.db cannot be written ("),
       "a directory that is gone is missed within seconds");
    OK(stats_of(store).failing && store_wants_all(store), "the store fails, and its owner is asked for everything");
    failed = mkdir(scratch, 0700);
    assert(failed == 0);
    store_put_versions(store, &version, 1);
    OK(strstr(next_notice(store), "headgate.db is written again"), "another directory is used");
    OK(wait_until_written(store) && !stats_of(store).failing, "and all is written there");
    store = reopen(store);
    OK(look(store, NULL)->versions == 1, "from where it is read");
    (void)store_close(&store);
    remove_all();
    failed = rmdir(scratch) | rename(away, scratch);
    assert(failed == 0);
}

int main(void)
{
    store_scene_begin();
    truncated();
    scribbled();
    scribbled_while_open();
    removed();
    directory_removed();
    return end();
}
