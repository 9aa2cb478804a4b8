/*
 * A program that stands still while a daemon answers it, until the time for the answer is over. The answer is there
 * when the program goes on, so it counts: the daemon has charged what it was asked for.
 */
#include "edge/library/daemons.h"

#include "edge/process/clock.h"
#include "tests/lib/fake_daemon.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { TIMEOUT_MS = 300, TRIES = 20 };
#define TIMEOUT_NS (TIMEOUT_MS * UINT64_C(1000000))

static pthread_t asker;
static atomic_bool stands, answered;
static _Atomic uint64_t stands_since_ns;

/* The deadline of whoever asks was set before this begins. */
static void stand_still(int signal_number)
{
    (void)signal_number;
    const uint64_t now_ns = clock_monotonic_ns();
    atomic_store(&stands_since_ns, now_ns);
    atomic_store(&stands, true);
    while (!atomic_load(&answered) || clock_monotonic_ns() < now_ns + TIMEOUT_NS)
        ;
}

static void around_answer(bool is_answered)
{
    if (is_answered) {
        atomic_store(&answered, true);
        return;
    }
    (void)pthread_kill(asker, SIGUSR1);
    while (!atomic_load(&stands))
        ;
}

/* True: the program stood still before its time was over. On a slow machine the request itself may be late. */
static bool ask_and_stand_still(struct headgate_daemons *daemons, struct headgate_daemons_answer *answer)
{
    const char *const words[] = {"CHECK", "user=alice"};
    atomic_store(&stands, false);
    atomic_store(&answered, false);
    atomic_store(&stands_since_ns, UINT64_MAX);
    const uint64_t begun_ns = clock_monotonic_ns();
    const enum headgate_client_status status = headgate_daemons_ask(daemons, 2, words, answer);
    assert(status == HEADGATE_CLIENT_OK);
    return atomic_load(&stands_since_ns) < begun_ns + TIMEOUT_NS;
}

int main(void)
{
    const struct sigaction action = {.sa_handler = stand_still};
    asker = pthread_self();
    int failed = sigaction(SIGUSR1, &action, NULL);
    struct fake fake;
    fake_open(&fake, ANSWERS, 0);
    atomic_store(&fake.around, around_answer);
    const char *const addresses[] = {fake.address};
    const struct headgate_daemons_options options = {.addresses = addresses,
                                                     .address_count = 1,
                                                     .client = {.timeout_ms = TIMEOUT_MS}};
    char error[256] = "";
    bool stood_still = false;
    struct headgate_daemons_answer answer = {0};
    for (int i = 0; i < TRIES && !stood_still && failed == 0; i++) {
        struct headgate_daemons *daemons = headgate_daemons_create(&options, error, sizeof error);
        assert(daemons);
        stood_still = ask_and_stand_still(daemons, &answer);
        headgate_daemons_destroy(&daemons);
    }
    OK(stood_still, "a program stands still after it has asked, until its time is over");
    OK(answer.decided && answer.verdict.allowed && answer.verdict.remaining == 9,
       "it takes the answer that came meanwhile");
    fake_close(&fake);
    return tap_done();
}
