#include "limit/accuracy.h"

#include "base/random.h"
#include "tests/lib/tap.h"

#include <math.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)

/* 100 tokens, 100 a second. */
static const struct accuracy_limit hundred = {.capacity = 100, .tokens_per_ns = 1e-7};

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-5;
}

static void test_bursts(void)
{
    struct accuracy accuracy;
    accuracy_init(&accuracy);
    for (int i = 0; i < 300; i++)
        accuracy_record(&accuracy, &hundred, 1, i < 120, 0, 0);
    OK_U64(accuracy.admitted, 120, "a burst: what was granted is summed");
    OK_U64(accuracy.ideal, 100, "one bucket grants its capacity");
    OK(near(accuracy_overshoot_by_replies(&accuracy), 20), "120 at one moment are 20 too many");
    OK(near(accuracy_overshoot_certain(&accuracy), 20), "and certainly so");
    accuracy_record(&accuracy, &hundred, 1, true, 100 * MS, 100 * MS);
    OK(near(accuracy_overshoot_by_replies(&accuracy), 20), "debt is carried: later grants do not look worse");
    accuracy_record(&accuracy, &hundred, 50, true, 110 * MS, 110 * MS);
    OK(near(accuracy_overshoot_by_replies(&accuracy), 60), "nor is debt forgotten: 171 of 111");
    OK_U64(accuracy.ideal, 101, "one bucket has refilled 11 by then, not 51");
    accuracy_init(&accuracy);
    accuracy_record(&accuracy, &hundred, 101, false, 0, 0);
    OK_U64(accuracy.ideal, 0, "what costs more than the capacity, one bucket refuses too");
    OK(accuracy_overshoot_by_replies(&accuracy) <= 0, "refused requests are no overshoot");
}

/* A perfect limiter, judged through answers that take up to `delay_ns` and overtake each other. */
static void test_perfect(uint64_t delay_ns, uint64_t excess)
{
    enum { REQUESTS = 20000 };
    static struct request {
        uint64_t sent_ns, replied_ns;
        bool admitted;
    } request[REQUESTS];
    struct random random;
    random_seed(&random, delay_ns + 1);
    double owed = 0,
           full = 100 + (double)excess; /* that much more is in the bucket at first, and no more flows in */
    uint64_t now = 0, decided = 0;
    for (int i = 0; i < REQUESTS; i++) {
        now += random_below(&random, 2 * MS);
        uint64_t at = now + random_below(&random, delay_ns / 2 + 1);
        at = at < decided ? decided : at; /* decisions are made in this order */
        owed = fmax(owed - (double)(at - decided) * hundred.tokens_per_ns, 0);
        decided = at;
        request[i] = (struct request){now, at + random_below(&random, delay_ns / 2 + 1), owed + 1 <= full};
        owed += request[i].admitted;
    }
    struct accuracy accuracy;
    accuracy_init(&accuracy);
    static bool done[REQUESTS];
    memset(done, 0, sizeof done);
    /* Answers arrive in the order of replied_ns: repeatedly the earliest of those that can still be first. */
    int first = 0;
    for (int n = 0; n < REQUESTS; n++) {
        while (done[first])
            first++;
        int next = first;
        for (int i = first; i < REQUESTS && request[i].sent_ns <= request[next].replied_ns; i++)
            if (!done[i] && request[i].replied_ns < request[next].replied_ns)
                next = i;
        accuracy_record(&accuracy, &hundred, 1, request[next].admitted, request[first].sent_ns,
                        request[next].replied_ns);
        done[next] = true;
    }
    double certain = accuracy_overshoot_certain(&accuracy), replies = accuracy_overshoot_by_replies(&accuracy);
    double blur = (double)delay_ns * hundred.tokens_per_ns;
    OK(certain <= (double)excess + 1e-5, "answers within %" PRIu64 " ms, %" PRIu64 " too many: certain %.3f",
       delay_ns / MS, excess, certain);
    OK(replies <= (double)excess + blur + 1e-5 && replies >= (double)excess - blur - 1,
       "by the replies %.3f, within the blur of %.3f", replies, blur);
    OK(certain >= (double)excess - 2 * blur - 1, "certain is not far below: %.3f", certain);
    double ideal = 100 + (double)accuracy.last_ns * hundred.tokens_per_ns;
    OK(fabs((double)accuracy.ideal - ideal) <= 2 + blur, "one bucket would have granted %.0f: %" PRIu64, ideal,
       accuracy.ideal);
}

/* Ten million exact grants leave no trace of rounding. */
static void test_rounding(void)
{
    struct accuracy accuracy;
    accuracy_init(&accuracy);
    const struct accuracy_limit limit = {.capacity = 7, .tokens_per_ns = 3.0 / 7e6};
    uint64_t now = 0;
    for (int i = 0; i < 7; i++)
        accuracy_record(&accuracy, &limit, 1, true, 0, 0);
    for (int i = 0; i < 3000000; i++) {
        now += 7000000;
        for (int k = 0; k < 3; k++)
            accuracy_record(&accuracy, &limit, 1, true, now, now);
    }
    OK_U64(accuracy.ideal, accuracy.admitted, "one bucket grants the same nine million tokens");
    OK(accuracy_overshoot_by_replies(&accuracy) <= 0 && accuracy_overshoot_certain(&accuracy) <= 0,
       "a limit used to its last token is not exceeded");
    accuracy_record(&accuracy, &limit, 1, true, now, now);
    OK(near(accuracy_overshoot_certain(&accuracy), 1), "one more is one too many");
}

int main(void)
{
    test_bursts();
    test_perfect(0, 0);
    test_perfect(0, 5);
    test_perfect(10 * MS, 0);
    test_perfect(10 * MS, 5);
    test_perfect(100 * MS, 0);
    test_perfect(100 * MS, 20);
    test_rounding();
    return tap_done();
}
