#include "base/gate.h"

#include "tests/lib/tap.h"

#include <assert.h>
#include <sched.h>

enum { ROUNDS = TAP_SLOW ? 20000 : 200000 };
enum { THREADS = 4, ALONE_EVERY = 64, STAYS_EVERY = 3 };

static struct gate gate;
static uint64_t alone_count;  /* written alone, read inside: no atomics, so that TSan sees who is not alone */
static uint64_t own[THREADS]; /* written inside by its thread, read alone */
static atomic_uint torn;

static uint64_t sum_of_own(void)
{
    uint64_t sum = 0;
    for (uint32_t thread = 0; thread < THREADS; thread++)
        sum += own[thread];
    return sum;
}

static void be_alone(uint32_t thread)
{
    uint64_t before = alone_count, sum = sum_of_own();
    for (uint32_t i = 0; i < THREADS; i++) {
        alone_count++;
        if (sum_of_own() != sum)
            atomic_fetch_add(&torn, 1);
    }
    if (alone_count != before + THREADS)
        atomic_fetch_add(&torn, 1);
    own[thread]++;
}

static void be_inside(uint32_t thread)
{
    uint64_t before = alone_count;
    own[thread]++;
    if (before % THREADS != 0 || alone_count != before)
        atomic_fetch_add(&torn, 1);
}

static void *go_in_and_out(void *context)
{
    uint32_t thread = *(const uint32_t *)context;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        bool stays = round % STAYS_EVERY == 0;
        gate_enter(&gate, thread);
        be_inside(thread);
        if (round % ALONE_EVERY == 0) {
            gate_close(&gate, thread);
            be_alone(thread);
            uint64_t known = alone_count;
            gate_open(&gate, thread, stays);
            if (!stays)
                continue;
            if (alone_count != known)
                atomic_fetch_add(&torn, 1);
        }
        gate_leave(&gate, thread);
    }
    return NULL;
}

static void one_alone_or_all_inside(void)
{
    pthread_t thread[THREADS];
    uint32_t number[THREADS];
    bool made = gate_init(&gate, THREADS);
    assert(made);
    for (uint32_t i = 0; i < THREADS; i++) {
        number[i] = i;
        int failed = pthread_create(&thread[i], NULL, go_in_and_out, &number[i]);
        assert(failed == 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        (void)pthread_join(thread[i], NULL);
    const uint64_t closed = THREADS * (ROUNDS / ALONE_EVERY);
    OK_U64(atomic_load(&torn), 0, "nobody sees anything half done");
    OK_U64(alone_count, closed * THREADS, "whoever is alone is alone");
    OK_U64(sum_of_own(), (uint64_t)THREADS * ROUNDS + closed, "nothing that was done inside is lost");
    OK_U64(atomic_load(&gate.closed_count), closed, "how often it was closed is counted");
    gate_destroy(&gate);
}

static atomic_bool entered;

static void *enter_once(void *context)
{
    (void)context;
    gate_enter(&gate, 1);
    atomic_store(&entered, true);
    gate_leave(&gate, 1);
    return NULL;
}

/* One that is alone again and again, as fast as it can, lets in who was turned away. */
static void test_turned_away_are_next(void)
{
    enum { TIMES = 200 };
    bool made = gate_init(&gate, 2), always = true;
    assert(made);
    gate_close(&gate, 0);
    for (int i = 0; i < TIMES; i++) {
        pthread_t thread;
        const uint32_t tickets = atomic_load(&gate.tickets);
        atomic_store(&entered, false);
        int failed = pthread_create(&thread, NULL, enter_once, NULL);
        assert(failed == 0);
        while (atomic_load(&gate.tickets) == tickets)
            (void)sched_yield();
        gate_open(&gate, 0, false);
        gate_close(&gate, 0);
        always &= atomic_load(&entered);
        gate_open(&gate, 0, false); /* or one that was not let in would wait for ever */
        failed = pthread_join(thread, NULL);
        assert(failed == 0);
        gate_close(&gate, 0);
    }
    gate_open(&gate, 0, false);
    OK(always, "whoever found the gate closed goes in before it is closed again");
    OK_U64(atomic_load(&gate.thread[1].turned_away), TIMES, "and was turned away once each time");
    gate_destroy(&gate);
}

int main(void)
{
    one_alone_or_all_inside();
    test_turned_away_are_next();
    return tap_done();
}
