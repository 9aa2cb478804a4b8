/*
 * store: a directory, values to put and values that were read, for all tests of the store.
 *
 * The one idea: a program has one directory of its own, and each test begins with an empty one.
 */
#ifndef HEADGATE_TESTS_LIB_STORE_H
#define HEADGATE_TESTS_LIB_STORE_H

#include "edge/process/clock.h"
#include "edge/store/store.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
enum { SLOW = 15 }; /* a sanitized build makes this many times fewer rounds */
#elif defined(__SANITIZE_ADDRESS__)
enum { SLOW = 4 };
#else
enum { SLOW = 1 };
#endif

#define SECOND_NS 1000000000ull
enum { PATH_BYTES = 600, WAIT_S = 60 };

/* ---- a directory for each test ---- */

extern char scratch[PATH_BYTES / 4];

void remove_all(void);

const char *path_of(const char *name);

/* Runs statements on the closed file of the store, as a program that is none of ours may. */
void run_sql(const char *sql);

size_t count_files(const char *pattern);

struct store *open_with(uint64_t counters_max, struct error *error);

struct store *open_one(void);

struct store_stats stats_of(struct store *store);

void sleep_a_little(void);
/* Waits until everything that was put is written. False: that took longer than WAIT_S. */
bool wait_until_written(struct store *store);

/* Waits for the next notice, which must come. */
const char *next_notice(struct store *store);

/* ---- values to put ---- */

struct rule_record version_of(const char *service, const char *id, uint64_t lamport, const char *text);

struct store_counter counter_of(uint64_t number, uint64_t value);

/* ---- values that were read ---- */

enum { SEEN_VERSIONS = 64 };

struct seen {
    size_t versions, counters, kept;
    uint64_t sum, least, most; /* of the numbers of counters */
    /* counters whose number differs from the number that `right` gives; `right` may be NULL */
    uint64_t wrong;
    uint64_t (*right)(struct key_id id);
    struct rule_record version[SEEN_VERSIONS];
    struct store_counter last;
    char text[1 << 16];
    size_t text_size;
};

struct seen *look(struct store *store, uint64_t (*right)(struct key_id));

/* Closes the store and opens it again. */
struct store *reopen(struct store *store);

uint64_t size_of(const char *path);

void store_scene_begin(void);

int end(void);

#endif
