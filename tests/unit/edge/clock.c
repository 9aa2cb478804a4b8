/* Timers of a loop next to the clock that decides what is due. */
#include "edge/process/clock.h"

#include "tests/lib/tap.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { TIMERS = 20 };

static uv_loop_t loop;

struct due {
    uv_timer_t timer;
    uint64_t at_ns;
    uint64_t left_ns; /* when the timer went off */
};

static void on_due(uv_timer_t *timer)
{
    struct due *due = timer->data;
    uint64_t now_ns = clock_monotonic_ns();
    due->left_ns = due->at_ns > now_ns ? due->at_ns - now_ns : 0;
}

static uint32_t looks;

static void on_look(uv_timer_t *timer)
{
    (void)timer;
    looks++;
}

/* At all parts of a millisecond, in a loop that looks at its timers all the time. */
static void never_early(void)
{
    static struct due due[TIMERS];
    uv_timer_t look;
    uint64_t left_ns = 0, now_ns = clock_monotonic_ns();
    (void)uv_timer_init(&loop, &look);
    (void)uv_timer_start(&look, on_look, 1, 1);
    uv_unref((uv_handle_t *)&look);
    for (uint64_t i = 0; i < TIMERS; i++) {
        due[i].at_ns = now_ns + 15000000 + i * 1050000;
        (void)uv_timer_init(&loop, &due[i].timer);
        due[i].timer.data = &due[i];
        (void)uv_timer_start(&due[i].timer, on_due, clock_timeout_ms(&loop, due[i].at_ns), 0);
    }
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < TIMERS; i++)
        left_ns = due[i].left_ns > left_ns ? due[i].left_ns : left_ns;
    OK(looks > 0, "a loop with other things to do");
    OK_U64(left_ns, 0, "a timer for what is due in a while does not go off before that");
    uv_close((uv_handle_t *)&look, NULL);
    for (size_t i = 0; i < TIMERS; i++)
        uv_close((uv_handle_t *)&due[i].timer, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
}

static void sizes(void)
{
    uint64_t now_ns = clock_monotonic_ns();
    OK_U64(clock_timeout_ms(&loop, now_ns - 1), 0, "what is over is due at once");
    OK_U64(clock_timeout_ms(&loop, 0), 0, "for however long");
    now_ns = clock_monotonic_ns();
    OK(clock_timeout_ms(&loop, now_ns + 3000000) <= 3, "three milliseconds are three");
    uint64_t at_ns = clock_monotonic_ns() + 3600000000000, timeout_ms = clock_timeout_ms(&loop, at_ns);
    /* The loop's time may be behind by a tick of the kernel: its timers go by it as well. */
    OK_U64(uv_now(&loop) + timeout_ms, (at_ns + 999999) / 1000000, "and a longer time ends with its millisecond");
}

/* The last of all: the time of the process stays behind. */
static void held(void)
{
    clock_hold(250000);
    const uint64_t from_raw_ns = clock_raw_ns(); /* the raw times enclose the others */
    const uint64_t from_ns = clock_monotonic_ns();
    static struct due due;
    due.at_ns = from_ns + 60000000;
    due.timer.data = &due;
    (void)uv_timer_init(&loop, &due.timer);
    (void)uv_timer_start(&due.timer, on_due, clock_timeout_ms(&loop, due.at_ns), 0);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    const uint64_t took_ns = clock_monotonic_ns() - from_ns;
    const uint64_t took_raw_ns = clock_raw_ns() - from_raw_ns;
    OK_U64(due.left_ns, 0, "a timer for a time that is held does not go off before it");
    OK(took_raw_ns >= 78000000, "60 ms of a time that is slowed by a quarter take 80: %" PRIu64 " us",
       took_raw_ns / 1000);
    OK(took_ns * 4 <= took_raw_ns * 3 + 4000000, "whatever the machine does meanwhile");
    clock_hold(0);
    uint64_t last_ns = clock_monotonic_ns(), back = 0;
    for (unsigned i = 0; i < 1000; i++) {
        clock_hold(i % 2 == 0 ? 0 : 90909);
        uint64_t now_ns = clock_monotonic_ns();
        back += now_ns < last_ns;
        last_ns = now_ns;
    }
    OK_U64(back, 0, "however often it is held, time never runs back");
    uv_close((uv_handle_t *)&due.timer, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
}

static atomic_bool over;
static atomic_uint backs;

static void watch(void *context)
{
    uint64_t last_ns = 0;
    unsigned back = 0;
    (void)context;
    while (!atomic_load(&over)) {
        const uint64_t now_ns = clock_monotonic_ns();
        back += now_ns < last_ns;
        last_ns = now_ns;
    }
    atomic_fetch_add(&backs, back);
}

/* Threads of requests read the time while the first thread bends it. */
static void held_by_another(void)
{
    uv_thread_t thread[2];
    for (unsigned i = 0; i < 2; i++)
        if (uv_thread_create(&thread[i], watch, NULL) != 0)
            abort();
    for (unsigned i = 0; i < 20000; i++)
        clock_hold(i % 2 == 0 ? 250000 : 0);
    atomic_store(&over, true);
    for (unsigned i = 0; i < 2; i++)
        (void)uv_thread_join(&thread[i]);
    OK_U64(backs, 0, "nor does it for threads that read it meanwhile");
}

int main(void)
{
    (void)uv_loop_init(&loop);
    sizes();
    never_early();
    held();
    held_by_another();
    OK(uv_loop_close(&loop) == 0, "nothing is left in the loop");
    return tap_done();
}
