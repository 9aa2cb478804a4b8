/* Who else may read or write what is kept, and files that are something else than files. */
#include "tests/lib/store.h"

#include <fcntl.h>

static unsigned mode_of(const char *name)
{
    struct stat status;
    return stat(path_of(name), &status) == 0 ? status.st_mode & 07777u : 07777u;
}

static struct store *open_written(void)
{
    struct store *store = open_one();
    (void)look(store, NULL);
    struct store_counter counter = counter_of(1, 1);
    store_put_counters(store, &counter, 1);
    bool written = wait_until_written(store);
    assert(written);
    return store;
}

static void closed_to_others(void)
{
    mode_t before = umask(0);
    remove_all();
    (void)chmod(scratch, 0777);
    struct store *store = open_written();
    unsigned modes = mode_of("headgate.db") | mode_of("headgate.db-wal") | mode_of("headgate.db-mark");
    OK((modes & ~0640u) == 0, "wherever they are: others read none of the files (modes %04o)", modes);
    (void)store_close(&store);
    (void)chmod(path_of("headgate.db"), 0666);
    store = open_written();
    OK(mode_of("headgate.db") == 0640, "what others could read and write, they cannot any more");
    OK(strstr(next_notice(store), "headgate.db could be read or written by others: its mode is 0640 or less now"),
       "which is said");
    (void)store_close(&store);
    (void)chmod(path_of("headgate.db"), 0600);
    store = open_written();
    OK(mode_of("headgate.db") == 0600 && (mode_of("headgate.db-wal") & ~0600u) == 0, "less stays less");
    (void)store_close(&store);
    (void)chmod(scratch, 0700);
    (void)umask(before);
}

static bool is_refused(const char *name, const char *what)
{
    struct error error = {0};
    char expected[200];
    struct store *store = open_with(100, &error);
    (void)snprintf(expected, sizeof expected, "cannot be used (%s is %s)", name, what);
    if (store) {
        (void)store_close(&store);
        return false;
    }
    return strstr(error.text, expected) != NULL;
}

static void links(void)
{
    static const char *const names[] = {"headgate.db", "headgate.db-wal", "headgate.db-mark"};
    remove_all();
    int file = open(path_of("elsewhere"), O_WRONLY | O_CREAT, 0600);
    assert(file >= 0);
    (void)close(file);
    char elsewhere[PATH_BYTES];
    (void)snprintf(elsewhere, sizeof elsewhere, "%s", path_of("elsewhere"));
    for (size_t i = 0; i < 3; i++) {
        int failed = symlink(elsewhere, path_of(names[i]));
        assert(failed == 0);
        OK(is_refused(names[i], "a symbolic link"), "%s as a symbolic link is not followed", names[i]);
        (void)unlink(path_of(names[i]));
    }
    OK(size_of(elsewhere) == 0, "nothing is written to where it led");
    int failed = link(elsewhere, path_of("headgate.db"));
    assert(failed == 0);
    OK(is_refused("headgate.db", "a file of several names"), "nor is a file that has another name as well used");
    (void)unlink(path_of("headgate.db"));
    failed = mkfifo(path_of("headgate.db"), 0600);
    assert(failed == 0);
    OK(is_refused("headgate.db", "no plain file"), "nor what is no file");
    (void)unlink(path_of("headgate.db"));
    struct store *store = open_written();
    OK(store_close(&store), "without them it is used");
}

int main(void)
{
    store_scene_begin();
    closed_to_others();
    links();
    return end();
}
