/* Memory is there before it is touched, holds what it held, and whoever stops waits for a slice at most. */
#include "edge/process/populate.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BYTES = 20 << 20, PIECE = 4 << 20 };

/* ---- madvise, as it is or as it may be: it takes until the test goes on ---- */

static atomic_bool waits;
static sem_t goes_on;

int madvise(void *memory, size_t bytes, int advice)
{
    while (atomic_load(&waits) && sem_wait(&goes_on) != 0)
        continue;
    return (int)syscall(SYS_madvise, memory, bytes, advice);
}

struct outcome {
    int calls, failed;
    size_t bytes;
};

static void on_ended(void *context, size_t bytes, int failed)
{
    struct outcome *outcome = context;
    outcome->calls++;
    outcome->bytes = bytes;
    outcome->failed = failed;
}

static char *reserve(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert(memory != MAP_FAILED);
    return memory;
}

static size_t resident(char *memory, size_t bytes)
{
    static unsigned char there[BYTES / 4096];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 0;
    int status = mincore(memory, bytes, there);
    assert(status == 0);
    for (size_t i = 0; i < bytes / page; i++)
        count += there[i] & 1u;
    return count * page;
}

static struct outcome run(struct populate *populate, bool stop)
{
    struct outcome outcome = {0};
    uv_loop_t loop;
    int status = uv_loop_init(&loop);
    assert(status == 0);
    bool started = populate_start(populate, &loop, on_ended, &outcome);
    assert(started);
    if (stop) {
        populate_stop(populate);
        atomic_store(&waits, false);
        (void)sem_post(&goes_on);
    }
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    status = uv_loop_close(&loop);
    assert(status == 0);
    return outcome;
}

static void all_of_it(void)
{
    struct populate populate = {0};
    char *one = reserve(BYTES), *two = reserve(PIECE);
    one[BYTES / 2] = 'x';
    OK(resident(one, BYTES) < BYTES / 2 && resident(two, PIECE) == 0, "what is reserved is not there");
    populate_add(&populate, one + 1, BYTES - 1); /* its first page is not wholly the caller's */
    populate_add(&populate, two, PIECE);
    struct outcome outcome = run(&populate, false);
    if (outcome.failed == EINVAL) {
        OK(true, "# SKIP this kernel cannot");
    } else {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        OK(outcome.calls == 1 && outcome.failed == 0 && outcome.bytes == BYTES + PIECE - page,
           "the end is told of once, with the bytes of whole pages: %zu", outcome.bytes);
        OK(resident(one + page, BYTES - page) == BYTES - page && resident(two, PIECE) == PIECE,
           "all of it is there");
        OK(one[BYTES / 2] == 'x' && one[BYTES / 2 + 1] == 0, "and holds what it held");
    }
    (void)munmap(one, BYTES);
    (void)munmap(two, PIECE);
}

static void refused(void)
{
    struct populate populate = {0};
    char *memory = reserve(BYTES);
    (void)munmap(memory + BYTES / 2, BYTES / 2);
    populate_add(&populate, memory, BYTES);
    struct outcome outcome = run(&populate, false);
    OK(outcome.calls == 1 && outcome.failed != 0 && outcome.bytes < BYTES,
       "memory that is not to be had: told with %zu bytes and %s", outcome.bytes, strerror(outcome.failed));
    (void)munmap(memory, BYTES / 2);
}

static void stopped(void)
{
    struct populate populate = {0};
    char *memory = reserve(BYTES);
    populate_add(&populate, memory, BYTES);
    atomic_store(&waits, true);
    struct outcome outcome = run(&populate, true);
    OK(outcome.calls == 0 && resident(memory, BYTES) < BYTES,
       "stopped: nothing is told, and no further slice begun");
    (void)munmap(memory, BYTES);
}

static void nothing(void)
{
    struct populate populate = {0};
    char *memory = reserve(PIECE);
    populate_add(&populate, memory + 1, 100);
    OK(run(&populate, false).calls == 0, "less than a page: nothing to do");
    (void)munmap(memory, PIECE);
}

int main(void)
{
    (void)sem_init(&goes_on, 0, 0);
    all_of_it();
    refused();
    stopped();
    nothing();
    return tap_done();
}
