/* The store's file is not as it was written: cut off, scribbled on, removed. */
#include "tests/store.h"

#include "base/random.h"

#include <fcntl.h>

/* ---- damage ---- */

static uint64_t right_number(struct key_id id)
{
    return id.low * 3 + 1;
}

static void put_many(struct store *store, uint64_t count)
{
    static struct store_counter counters[1000];
    for (uint64_t done = 0; done < count; done += 1000) {
        for (uint64_t i = 0; i < 1000; i++) {
            counters[i] = counter_of(done + i, 0);
            counters[i].number = right_number(counters[i].id);
        }
        store_put_counters(store, counters, count - done < 1000 ? count - done : 1000);
    }
}

/* A store with many counters and some versions, closed. */
static void fill(uint64_t counters)
{
    remove_all();
    struct store *store = open_one();
    put_many(store, counters);
    for (uint64_t i = 0; i < 16; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "rule-%02u", (unsigned)i);
        struct rule_record version = version_of("service", id, i + 1, "a rule's text, of some length");
        store_put_versions(store, &version, 1);
    }
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
    right = right && store_flush(store, WAIT_S * SECOND_NS) && !stats_of(store).failing;
    store = reopen(store);
    seen = look(store, NULL);
    right = right && seen->counters == *counters + 1 && seen->versions == *versions;
    (void)store_close(&store);
    return right;
}

static void truncated(void)
{
    struct random random;
    random_seed(&random, 2);
    bool good = true, all_set_aside = true;
    int rounds = 15 / SLOW + 1;
    size_t most = 0, lost = 0;
    for (int round = 0; round < rounds; round++) {
        size_t counters = 0, versions = 0;
        bool set_aside = false;
        fill(3000);
        uint64_t size = size_of(path_of("headgate.db"));
        uint64_t left = round == 0 ? 100 : round == 1 ? size - 1 : 4096 + random_below(&random, size - 4096);
        int failed = truncate(path_of("headgate.db"), (off_t)left);
        assert(failed == 0);
        good = survives(&counters, &versions, &set_aside) && good;
        if (counters == 3000 && versions == 16)
            continue; /* what was cut off was not in use */
        all_set_aside = all_set_aside && set_aside && count_files("headgate.db.corrupt-*Z") == 1;
        most = counters > most ? counters : most;
        lost++;
    }
    OK(good, "a file that was cut off: nothing wrong comes out of it, and the store goes on");
    OK(all_set_aside && lost > (size_t)rounds / 2, "it is set aside");
    OK(most > 0, "and what can be read of it is taken over, at best %zu of 3000 counters", most);
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
        lost += counters < 1000 || versions < 16;
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
    put_many(store, counters);
    bool written = store_flush(store, WAIT_S * SECOND_NS);
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
    OK(store_flush(store, WAIT_S * SECOND_NS), "the store goes on");
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
    OK(store_flush(store, WAIT_S * SECOND_NS), "it is written");
    remove_all();
    OK(strstr(next_notice(store), "headgate.db was gone: it is made anew"),
       "a file that somebody removes is missed within a second or so");
    OK(store_wants_all(store), "and the owner is asked for everything");
    store_put_counters(store, &counter, 1);
    store = reopen(store);
    OK(look(store, NULL)->counters == 1, "what is put then is kept");
    (void)store_close(&store);
}

int main(void)
{
    begin();
    truncated();
    scribbled();
    scribbled_while_open();
    removed();
    return end();
}
