/* The wall clock leaps, and is set right: what is kept does not end by that. */
#include "edge/process/steady_wall.h"

#include "tests/lib/store.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#define YEAR_S (INT64_C(365) * 86400)
#define YEAR_NS ((uint64_t)YEAR_S * SECOND_NS)

static _Atomic int64_t leap_s;

/* In place of the C library's: the clock of this process alone leaps. */
int clock_gettime(clockid_t id, struct timespec *tp)
{
    const int failed = (int)syscall(SYS_clock_gettime, id, tp);
    if (id == CLOCK_REALTIME)
        tp->tv_sec += atomic_load(&leap_s);
    return failed;
}

static void test_steps(void)
{
    const uint64_t begin_ns = 5 * YEAR_NS, wait_ns = STEADY_WALL_WAIT_NS;
    struct steady_wall steady = {0};
    OK_U64(steady_wall_at(&steady, begin_ns, 7), begin_ns, "the first time is believed");
    OK_U64(steady_wall_at(&steady, begin_ns + 5 * SECOND_NS, 7 + SECOND_NS), begin_ns + 5 * SECOND_NS,
           "so are some seconds, as who keeps the time may correct it");
    const uint64_t at_ns = 7 + SECOND_NS, here_ns = begin_ns + 5 * SECOND_NS;
    OK_U64(steady_wall_at(&steady, here_ns + YEAR_NS, at_ns + SECOND_NS), here_ns + SECOND_NS,
           "a year within a second is not");
    OK_U64(steady_wall_at(&steady, here_ns - YEAR_NS, at_ns + 2 * SECOND_NS), here_ns + 2 * SECOND_NS, "nor back");
    OK_U64(steady_wall_at(&steady, here_ns + 3 * SECOND_NS, at_ns + 3 * SECOND_NS), here_ns + 3 * SECOND_NS,
           "the clock is right again");
    OK_U64(steady_wall_at(&steady, here_ns + YEAR_NS, at_ns + wait_ns), here_ns + wait_ns, "it leaps once more");
    OK_U64(steady_wall_at(&steady, here_ns + YEAR_NS, at_ns + wait_ns + 3 * SECOND_NS), here_ns + YEAR_NS,
           "what lasts for an hour is believed");
}

static void put(struct store *store, uint64_t number, uint64_t until_wall_ns)
{
    struct store_counter counter = counter_of(number, number);
    counter.until_wall_ns = until_wall_ns;
    store_put_counters(store, &counter, 1);
}

/* Waits until so many counters have ended. False: that took longer than WAIT_S. */
static bool wait_until_ended(struct store *store, uint64_t count)
{
    const uint64_t deadline_ns = clock_monotonic_ns() + WAIT_S * SECOND_NS;
    while (stats_of(store).counters_expired < count && clock_monotonic_ns() < deadline_ns)
        sleep_a_little();
    return stats_of(store).counters_expired >= count;
}

static void test_store(void)
{
    struct store *store = open_one();
    const uint64_t now_ns = clock_wall_ns();
    (void)look(store, NULL);
    put(store, 1, now_ns + 2 * SECOND_NS);
    put(store, 2, now_ns + 86400 * SECOND_NS);
    OK(wait_until_written(store), "two counters, one of which ends in two seconds");
    atomic_store(&leap_s, YEAR_S);
    put(store, 3, now_ns + 86400 * SECOND_NS);
    OK(wait_until_ended(store, 1), "the clock leaps by a year: that one ends in its time");
    OK(wait_until_written(store) && stats_of(store).counters_expired == 1, "and no other");
    atomic_store(&leap_s, 0);
    store = reopen(store);
    const struct seen *seen = look(store, NULL);
    OK(seen->counters == 2 && seen->least == 2 && seen->most == 3,
       "once the clock is right, what was put before and meanwhile is there");
    (void)store_close(&store);
    remove_all();
}

int main(void)
{
    store_scene_begin();
    test_steps();
    test_store();
    return end();
}
