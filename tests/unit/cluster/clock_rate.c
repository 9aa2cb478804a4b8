/* How fast a peer's clock runs, as its messages tell: through delays that change, that grow, and that never end. */
#include "cluster/members/clock_rate.h"

#include "base/random.h"
#include "tests/lib/tap.h"

#include <string.h>

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

enum { WINDOW_S = 2, EVERY_MS = 100 };

static struct {
    struct peer_clock clock;
    struct random random;
    uint64_t now_ns;
    int64_t ahead_ns;           /* of the peer's clock, as of now */
    int32_t ppm;                /* how much faster it runs */
    uint64_t there_ns, back_ns; /* the ways */
    uint64_t jitter_ns;
    unsigned windows, jumps;
} line;

static void line_of(int32_t ppm)
{
    memset(&line, 0, sizeof line);
    random_seed(&line.random, 1);
    line.now_ns = 1000 * SECOND;
    line.ahead_ns = -(int64_t)(200 * SECOND);
    line.ppm = ppm;
    line.there_ns = line.back_ns = 40 * MS;
}

static uint64_t jitter_ns(void)
{
    return line.jitter_ns > 0 ? random_below(&line.random, line.jitter_ns) : 0;
}

/* Messages go both ways for so long; each way grows by so many ns in each second. */
static void run(uint64_t seconds, uint64_t there_grows_ns, uint64_t back_grows_ns)
{
    for (uint64_t i = 0; i < seconds * 1000 / EVERY_MS; i++) {
        line.now_ns += EVERY_MS * MS;
        line.ahead_ns += (int64_t)(EVERY_MS * MS) * line.ppm / 1000000;
        line.there_ns += there_grows_ns * EVERY_MS / 1000;
        line.back_ns += back_grows_ns * EVERY_MS / 1000;
        const uint64_t way_ns = line.back_ns + jitter_ns();
        const struct clock_sample sample = {
            .here_ns = line.now_ns + way_ns,
            .there_ns = (uint64_t)((int64_t)line.now_ns + line.ahead_ns),
            .asked_ns = line.now_ns - line.there_ns - jitter_ns(),
        };
        const enum clock_news news = clock_take(&line.clock, &sample, WINDOW_S * SECOND);
        line.windows += news == CLOCK_WINDOW;
        line.jumps += news == CLOCK_JUMP;
    }
}

static int32_t surely(void)
{
    return clock_surely_ppm(&line.clock, 0);
}

static void measured(void)
{
    line_of(100000);
    run(23, 0, 0);
    OK(!clock_is_measured(&line.clock, line.now_ns, WINDOW_S * SECOND), "nothing is said before twelve windows");
    run(7, 0, 0);
    OK(clock_is_measured(&line.clock, line.now_ns, WINDOW_S * SECOND), "then the clock is measured");
    OK(line.clock.rate_ppm > 99900 && line.clock.rate_ppm < 100100, "10%% fast: %d ppm", (int)line.clock.rate_ppm);
    OK(surely() > 99900 && surely() < 100100, "and surely so: %d ppm", (int)surely());
    OK(clock_surely_ppm(&line.clock, 100000) < 200, "against a clock that runs as fast it is not off");
    OK(!clock_is_measured(&line.clock, line.now_ns + 20 * SECOND, WINDOW_S * SECOND), "it is forgotten unheard");
    line_of(-50000);
    run(60, 0, 0);
    OK(surely() < -49900 && surely() > -50100, "5%% slow: %d ppm", (int)surely());
}

static void delays(void)
{
    line_of(0);
    line.jitter_ns = 200 * MS;
    run(120, 0, 0);
    OK(surely() < 3000 && surely() > -3000, "delays of 40 to 240 ms either way: %d ppm", (int)surely());
    line_of(100000);
    line.jitter_ns = 200 * MS;
    run(120, 0, 0);
    OK(surely() > 95000 && surely() < 101000, "the same of a clock that is 10%% fast: %d ppm", (int)surely());
    line_of(0);
    run(40, 0, 0);
    run(60, 0, 30 * MS);
    OK(line.clock.rate_ppm < -25000, "a way that grows by 30 ms a second looks like a clock that is slow: %d ppm",
       (int)line.clock.rate_ppm);
    OK_U64(surely() == 0, true, "but it is not surely so: the other bound stays");
    line_of(0);
    run(40, 0, 0);
    run(60, 30 * MS, 30 * MS);
    OK(surely() == 0, "nor where both ways grow");
    OK_U64(line.jumps, 0, "and none of that is a jump");
}

/* The longest that any clock is called off while a step goes through the windows. */
static void steps(void)
{
    int32_t most = 0;
    line_of(0);
    run(60, 0, 0);
    line.ahead_ns += 400 * (int64_t)MS;
    for (unsigned i = 0; i < 30; i++) {
        run(WINDOW_S, 0, 0);
        most = surely() > most ? surely() : most;
    }
    OK_U64(line.jumps, 0, "a clock that was set by 0.4 s has not jumped");
    OK(most < 10000, "nor does it run off: %d ppm at most", (int)most);
}

static void jumps(void)
{
    line_of(0);
    line.jitter_ns = 100 * MS;
    run(60, 0, 0);
    line.ahead_ns += 3 * (int64_t)SECOND;
    run(1, 0, 0);
    OK_U64(line.jumps, 1, "3 s ahead is one jump");
    OK(line.clock.jumped_ns > 2800 * (int64_t)MS && line.clock.jumped_ns < 3200 * (int64_t)MS,
       "of about as much: %.1f s", (double)line.clock.jumped_ns / 1e9);
    OK(!clock_is_measured(&line.clock, line.now_ns, WINDOW_S * SECOND), "what was measured before is forgotten");
    line.clock.jumped_ns = 0;
    run(10, 0, 0);
    line.ahead_ns -= 60 * (int64_t)SECOND;
    run(30, 0, 0);
    OK_U64(line.jumps, 2, "a minute back is one more");
    OK(line.clock.jumped_ns < -59 * (int64_t)SECOND && line.clock.jumped_ns > -61 * (int64_t)SECOND,
       "of about as much: %.1f s", (double)line.clock.jumped_ns / 1e9);
    OK(clock_is_measured(&line.clock, line.now_ns, WINDOW_S * SECOND) && surely() < 5000 && surely() > -5000,
       "the clock is measured anew");
}

/* This node was stopped for long, and reads all that has come meanwhile at once. */
static void late(void)
{
    line_of(0);
    run(60, 0, 0);
    line.back_ns += 20 * SECOND;
    run(5, 0, 0);
    line.back_ns -= 20 * SECOND;
    run(30, 0, 0);
    OK_U64(line.jumps, 0, "messages that are 20 s late are no jump");
    OK(surely() < 1000 && surely() > -1000, "nor is the clock off: %d ppm", (int)surely());
}

static void nonsense(void)
{
    struct random random;
    struct peer_clock clock = {0};
    uint64_t here_ns = SECOND, news = 0;
    random_seed(&random, 3);
    for (unsigned i = 0; i < 200000; i++) {
        here_ns += random_below(&random, i % 7 == 0 ? 100 * SECOND : SECOND);
        const struct clock_sample sample = {
            .here_ns = here_ns,
            .there_ns = random_u64(&random) >> 3 >> random_below(&random, 60),
            .asked_ns = random_below(&random, 3) == 0 ? 0 : random_below(&random, here_ns),
        };
        news += clock_take(&clock, &sample, SECOND) != CLOCK_NOTHING;
        (void)clock_surely_ppm(&clock, (int32_t)random_below(&random, 1000));
    }
    OK(news > 1000, "a clock that says anything is survived: %" PRIu64 " windows and jumps", news);
}

int main(void)
{
    measured();
    delays();
    steps();
    jumps();
    late();
    nonsense();
    return tap_done();
}
