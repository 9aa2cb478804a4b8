/* What a process can still do in the sandbox, what fails, and what ends it. Each case is a process of its own. */
#include "edge/process/sandbox.h"

#include "tests/lib/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GOOD = 7, BAD = 8, NOT_HERE = 9 };

/* ---- what the daemon does ---- */

static void *nothing(void *context)
{
    return context;
}

static bool makes_threads(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

static bool opens_files(void)
{
    char path[] = "/tmp/headgate-sandbox-XXXXXX";
    const int fd = mkstemp(path);
    const bool good = fd >= 0 && write(fd, "x", 1) == 1 && fsync(fd) == 0 && ftruncate(fd, 0) == 0;
    return unlink(path) == 0 && close(fd) == 0 && good && access("/proc/self/status", R_OK) == 0;
}

static bool connects(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof in;
    const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    return bind(listening, (const struct sockaddr *)&in, size) == 0 && listen(listening, 1) == 0 &&
           getsockname(listening, (struct sockaddr *)&in, &size) == 0 &&
           connect(fd, (const struct sockaddr *)&in, size) == 0;
}

static bool resolves_names(void)
{
    struct addrinfo *found = NULL;
    const bool good = getaddrinfo("localhost", "80", NULL, &found) == 0;
    if (good)
        freeaddrinfo(found);
    return good;
}

static bool maps_memory(void)
{
    char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED && mprotect(memory, 4096, PROT_READ) == 0 &&
           madvise(memory, 1 << 20, MADV_DONTNEED) == 0 && munmap(memory, 1 << 20) == 0;
}

/* ---- what fails ---- */

static bool has_no_ring(void)
{
    return syscall(SYS_io_uring_setup, 1, NULL) == -1 && errno == ENOSYS;
}

static bool sends_no_signals(void)
{
    return kill(getpid(), 0) == -1 && errno == ENOSYS;
}

static bool sets_no_limits(void)
{
    const struct rlimit limit = {1, 1};
    return setrlimit(RLIMIT_NOFILE, &limit) == -1 && errno == ENOSYS;
}

/* ---- what ends the process ---- */

static bool runs_a_program(void)
{
    char *const arguments[] = {NULL};
    (void)execve("/bin/true", arguments, arguments);
    return true;
}

static bool forks(void)
{
    if (fork() == 0)
        _exit(0);
    return true;
}

static bool opens_a_raw_socket(void)
{
    (void)socket(AF_PACKET, SOCK_RAW, 0);
    return true;
}

static bool traces(void)
{
    (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    return true;
}

static bool becomes_somebody(void)
{
    (void)syscall(SYS_setuid, 12345);
    return true;
}

static bool writes_what_it_runs(void)
{
    (void)mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return true;
}

static bool runs_what_it_wrote(void)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)mprotect(memory, 4096, PROT_READ | PROT_EXEC);
    return true;
}

/* A thread that was there before the sandbox. */
static int go[2];

static void *run_late(void *context)
{
    char byte;
    if (read(go[0], &byte, 1) == 1)
        (void)runs_a_program();
    return context;
}

static bool has_an_older_thread(void)
{
    pthread_t thread;
    return pipe(go) == 0 && pthread_create(&thread, NULL, run_late, NULL) == 0;
}

static bool runs_a_program_in_it(void)
{
    if (write(go[1], "x", 1) == 1)
        (void)pause();
    return true;
}

/* ---- cases ---- */

/* The status of a process that does `before`, enters the sandbox, and does `then`. */
static int outcome(bool (*before)(void), bool (*then)(void))
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        const enum sandbox_state state = before && !before() ? SANDBOX_FAILED : sandbox_enter();
        if (state != SANDBOX_ON)
            _exit(state == SANDBOX_NOT_HERE ? NOT_HERE : BAD);
        _exit(then() ? GOOD : BAD);
    }
    return waitpid(child, &status, 0) == child ? status : -1;
}

#define DOES(what)                                                                                                 \
    do {                                                                                                           \
        const int status = outcome(NULL, what);                                                                    \
        OK(WIFEXITED(status) && WEXITSTATUS(status) == GOOD, "in the sandbox it " #what " (%#x)",                  \
           (unsigned)status);                                                                                      \
    } while (0)
#define ENDS(before, what)                                                                                         \
    do {                                                                                                           \
        const int status = outcome(before, what);                                                                  \
        OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "whoever " #what " ends (%#x)", (unsigned)status);   \
    } while (0)

int main(void)
{
    const int first = outcome(NULL, makes_threads);
    if (WIFEXITED(first) && WEXITSTATUS(first) == NOT_HERE) {
        tap_skip("the sandbox", "a build with a sanitizer has none");
        return tap_done();
    }
    DOES(makes_threads);
    DOES(opens_files);
    DOES(connects);
    DOES(resolves_names);
    DOES(maps_memory);
    DOES(has_no_ring);
    DOES(sends_no_signals);
    DOES(sets_no_limits);
    ENDS(NULL, runs_a_program);
    ENDS(NULL, forks);
    ENDS(NULL, opens_a_raw_socket);
    ENDS(NULL, traces);
    ENDS(NULL, becomes_somebody);
    ENDS(NULL, writes_what_it_runs);
    ENDS(NULL, runs_what_it_wrote);
    ENDS(has_an_older_thread, runs_a_program_in_it);
    return tap_done();
}
