/*
 * The fence around files: a child builds it, and tries what is inside and what is not.
 */
#include "edge/process/fence.h"

#include "tests/lib/tap.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 128, NO_FENCE = 99, HAS_FAILED = 98 };

static char scratch[] = "/tmp/headgate-fence-XXXXXX";
static struct fence fence;

static const char *at(const char *name)
{
    static char path[4][PATH_BYTES];
    static unsigned turn;
    char *out = path[turn++ % 4];
    (void)snprintf(out, PATH_BYTES, "%s/%s", scratch, name);
    return out;
}

static int opens(const char *name, int flags)
{
    const int fd = open(at(name), flags, 0600);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0 ? 0 : errno;
}

static void *thread_opens(void *result)
{
    *(int *)result = opens("other/file", O_RDONLY);
    return NULL;
}

/* What each try gives once the fence stands: an errno, or 0. */
static const struct attempt {
    const char *what;
    int expected;
} attempts[] = {
    {"a file to read is read", 0},
    {"and not written", EACCES},
    {"nor is one made there", EACCES},
    {"a file of the state is read", 0},
    {"and written", 0},
    {"one is made below it", 0},
    {"renamed", 0},
    {"and removed", 0},
    {"a log is written", 0},
    {"and made", 0},
    {"but not read", EACCES},
    {"nor removed", EACCES},
    {"another file is not read", EACCES},
    {"nor by a thread of later", EACCES},
    {"nor is its directory listed", EACCES},
    {"nor a file made there", EACCES},
    {"what was open stays open", 0},
    {"a link out of the state leads nowhere", EACCES},
    {"a file is read where a link of before leads to", 0},
    {"no file of the state leaves it", EACCES},
    {"no program starts", EACCES},
};
enum { ATTEMPTS = sizeof attempts / sizeof attempts[0] };

static int errno_of(bool good)
{
    return good ? 0 : errno;
}

static int opens_in_thread(void)
{
    int seen = 0;
    pthread_t thread;
    const bool good = pthread_create(&thread, NULL, thread_opens, &seen) == 0 && pthread_join(thread, NULL) == 0;
    return good ? seen : HAS_FAILED;
}

/* In the order of the attempts. */
static void try_all(unsigned char seen[ATTEMPTS], int open_before)
{
    char byte;
    static char *const program[] = {NULL};
    size_t count = 0;
#define TRY(what) seen[count++] = (unsigned char)(what)
    TRY(opens("read/file", O_RDONLY));
    TRY(opens("read/file", O_WRONLY));
    TRY(opens("read/new", O_WRONLY | O_CREAT));
    TRY(opens("state/file", O_RDONLY));
    TRY(opens("state/file", O_RDWR | O_TRUNC));
    TRY(errno_of(mkdir(at("state/below"), 0700) == 0 && opens("state/below/new", O_WRONLY | O_CREAT) == 0));
    TRY(errno_of(rename(at("state/below/new"), at("state/below/newer")) == 0));
    TRY(errno_of(unlink(at("state/below/newer")) == 0 && rmdir(at("state/below")) == 0));
    TRY(opens("log/file", O_WRONLY | O_APPEND));
    TRY(opens("log/new", O_WRONLY | O_APPEND | O_CREAT));
    TRY(opens("log/file", O_RDONLY));
    TRY(errno_of(unlink(at("log/file")) == 0));
    TRY(opens("other/file", O_RDONLY));
    TRY(opens_in_thread());
    TRY(opens("other", O_RDONLY | O_DIRECTORY));
    TRY(opens("other/new", O_WRONLY | O_CREAT));
    TRY(errno_of(read(open_before, &byte, 1) == 1));
    TRY(opens("state/link", O_RDONLY));
    TRY(opens("read/link", O_RDONLY));
    TRY(errno_of(rename(at("state/file"), at("other/stolen")) == 0));
    TRY(errno_of(execve("/bin/true", program, program) == 0));
#undef TRY
    assert(count == ATTEMPTS);
}

static int child(int out)
{
    unsigned char seen[ATTEMPTS];
    const int open_before = open(at("other/file"), O_RDONLY);
    const enum fence_state state = fence_build(&fence);
    if (state != FENCE_ON)
        return state == FENCE_FAILED ? HAS_FAILED : NO_FENCE;
    try_all(seen, open_before);
    return write(out, seen, sizeof seen) == (ssize_t)sizeof seen ? 0 : HAS_FAILED;
}

static void make_files(void)
{
    static const char *const places[] = {"read", "state", "log", "other", "linked"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char name[PATH_BYTES];
        (void)snprintf(name, sizeof name, "%s/file", places[i]);
        int failed = mkdir(at(places[i]), 0700), fd = open(at(name), O_WRONLY | O_CREAT, 0600);
        assert(failed == 0 && fd >= 0);
        ssize_t written = write(fd, "x", 1);
        assert(written == 1);
        (void)close(fd);
    }
    int failed = symlink(at("other/file"), at("state/link"));
    failed |= symlink(at("linked/file"), at("read/link"));
    assert(failed == 0);
}

static void paths(void)
{
    static struct fence full;
    char long_path[FENCE_PATH_BYTES + 1];
    fence_add_place(&full, "", FENCE_READ);
    OK(full.count == 0, "no file has no place");
    fence_add_place(&full, "name", FENCE_READ);
    fence_add_place(&full, "/name", FENCE_READ);
    fence_add_place(&full, "/a/b/name", FENCE_READ);
    OK_STRING(full.path[0], ".", "a file in the working directory");
    OK_STRING(full.path[1], "/", "in the root");
    OK_STRING(full.path[2], "/a/b", "somewhere");
    while (full.count < FENCE_PATHS_MAX)
        fence_add(&full, "/", FENCE_READ);
    OK(!full.full, "as many paths as there is room for");
    fence_add(&full, "/", FENCE_READ);
    const enum fence_state state = full.full ? fence_build(&full) : FENCE_ON;
    OK(state == FENCE_FAILED || state == FENCE_NOT_HERE, "one more: there is no fence that would lack it");
    static struct fence far;
    memset(long_path, 'a', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    fence_add(&far, long_path, FENCE_READ);
    OK(far.full, "nor with a path that is too long");
}

static int clear(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

int main(void)
{
    int pipes[2], status;
    unsigned char seen[ATTEMPTS] = {0};
    char *made = mkdtemp(scratch);
    assert(made);
    paths();
    make_files();
    fence_add_system(&fence);
    fence_add(&fence, at("not there"), FENCE_READ);
    fence_add_place(&fence, at("read/link"), FENCE_READ);
    fence_add(&fence, at("state"), FENCE_WRITE);
    fence_add_place(&fence, at("log/file"), FENCE_ADD);
    int failed = pipe(pipes);
    assert(failed == 0);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(child(pipes[1]));
    pid_t ended = waitpid(pid, &status, 0);
    assert(ended == pid && WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_FENCE) {
        tap_skip("the fence", "this kernel has no Landlock, or a sanitizer is compiled in");
        return tap_done();
    }
    OK(WEXITSTATUS(status) == 0 && read(pipes[0], seen, sizeof seen) == (ssize_t)sizeof seen, "the fence stands");
    for (size_t i = 0; i < ATTEMPTS; i++)
        OK(seen[i] == attempts[i].expected, "%s (%s)", attempts[i].what, strerror(seen[i]));
    OK(opens("other/file", O_RDONLY) == 0, "around the child alone");
    OK(nftw(scratch, clear, 8, FTW_DEPTH | FTW_PHYS) == 0, "and all is cleared away");
    return tap_done();
}
