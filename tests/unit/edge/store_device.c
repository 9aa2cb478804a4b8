/* What a device says where it takes no writes any more: the reason stands in the sentence about the file. */
#include "tests/lib/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>
#include <sysexits.h>

static _Atomic int fails_with; /* errno; 0: writes are taken */

static ssize_t write_or_fail(int file, const void *bytes, size_t size, off_t offset)
{
    const int failure = fails_with;
    if (failure == 0)
        return pwrite(file, bytes, size, offset);
    errno = failure;
    return -1;
}

static void use_device(void)
{
    static const char *const names[] = {"pwrite", "pwrite64"};
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    for (size_t i = 0; i < 2; i++)
        (void)vfs->xSetSystemCall(vfs, names[i], (sqlite3_syscall_ptr)write_or_fail);
}

static void tells(int failure, const char *reason)
{
    remove_all();
    struct store *store = open_one();
    (void)look(store, NULL);
    const struct rule_record version = version_of("shop", "a", 1, "text");
    fails_with = failure;
    store_put_versions(store, &version, 1);
    OK(strstr(next_notice(store), reason) != NULL, "the notice says: %s", reason);
    fails_with = 0;
    OK(wait_until_written(store), "and later it is written");
    (void)store_close(&store);
}

/* Writes garbage over a page of the closed file. */
static void scribble(void)
{
    static const char garbage[64] = "garbage";
    const int file = open(path_of("headgate.db"), O_RDWR);
    const ssize_t written = pwrite(file, garbage, sizeof garbage, (off_t)(size_of(path_of("headgate.db")) - 4096));
    assert(file >= 0 && written == (ssize_t)sizeof garbage);
    (void)close(file);
}

/* A damaged file stays where it is until there is room for what can be read of it. */
static void damaged_without_room(int failure)
{
    enum { RULES = 8 };
    static char id[RULES][16];
    struct rule_record version[RULES];
    struct error error = {0};
    remove_all();
    struct store *store = open_one();
    (void)look(store, NULL);
    for (uint64_t i = 0; i < RULES; i++) {
        (void)snprintf(id[i], sizeof id[i], "rule-%u", (unsigned)i);
        version[i] = version_of("shop", id[i], i + 1, "text");
    }
    store_put_versions(store, version, RULES);
    for (uint64_t i = 0; i < 1000; i++) {
        const struct store_counter counter = counter_of(i, i);
        store_put_counters(store, &counter, 1);
    }
    (void)store_close(&store);
    scribble();
    fails_with = failure;
    store = open_with(10000, &error);
    OK(!store && error.exit_status == EX_CANTCREAT &&
           strstr(error.text,
                  ": expected a disk that works and has room, as the daemon would begin without its rules"),
       "no daemon begins without what it had: %s", error.text);
    OK(count_files("headgate.db.*") == 0, "nothing lies aside");
    fails_with = 0;
    store = open_one();
    OK(strstr(next_notice(store), "was damaged") != NULL, "where there is room, it is set aside");
    struct seen *seen = look(store, NULL);
    OK(seen->versions == RULES && seen->counters > 0, "and read: %zu versions, %zu counters", seen->versions,
       seen->counters);
    OK(count_files("headgate.db.corrupt-*Z") == 1 && count_files("headgate.db.fresh*") == 0, "once");
    (void)store_close(&store);
    char fresh[PATH_BYTES];
    (void)snprintf(fresh, sizeof fresh, "%s.fresh", path_of("headgate.db"));
    const int failed = rename(path_of("headgate.db"), fresh);
    assert(failed == 0);
    store = open_one();
    seen = look(store, NULL);
    OK(seen->versions == RULES, "who ended before the new file had its name: the next one gives it");
    (void)store_close(&store);
}

int main(void)
{
    store_scene_begin();
    use_device();
    tells(EROFS, "headgate.db cannot be written (disk I/O error (Read-only file system)): rules and counters wait");
    tells(EIO, "headgate.db cannot be written (disk I/O error (Input/output error)): rules and counters wait");
    tells(ENOSPC, "headgate.db cannot be written (database or disk is full): rules and counters wait");
    damaged_without_room(ENOSPC);
    damaged_without_room(EIO);
    return end();
}
