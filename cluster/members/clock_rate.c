/*
 * clock_rate keeps the tightest bounds of each window of a peer's clock, fits lines through them by
 * medians of slopes, and finds jumps. All is integer arithmetic of bounded size.
 */
#include "cluster/members/clock_rate.h"

#include <assert.h>

enum {
    HALF = CLOCK_WINDOWS / 2,
    PAIRS_MAX = CLOCK_WINDOWS * (CLOCK_WINDOWS - 1) / 2,
    MILLION = 1000000,
    SLOPE_MAX_PPM = 1000000, /* a clock that runs twice as fast, or stands still */
    DRIFT_PART = 4,          /* of a time: by so much two clocks may drift apart without a jump */
    FRESH_WINDOWS = 4,       /* a clock that was not measured for so long is not known any more */
};

#define JUMP_LEAST_NS ((int64_t)500000000)

static const struct clock_window *window_at(const struct peer_clock *clock, uint32_t age)
{
    return &clock->window[(clock->count - 1 - age) % CLOCK_WINDOWS];
}

static int32_t slope_ppm(const struct clock_window *from, const struct clock_window *to, bool upper)
{
    const uint64_t from_ns = upper ? from->most_at_ns : from->least_at_ns,
                   to_ns = upper ? to->most_at_ns : to->least_at_ns;
    const int64_t rise_ns = upper ? to->most_ns - from->most_ns : to->least_ns - from->least_ns;
    const int64_t run_us = to_ns > from_ns ? (int64_t)((to_ns - from_ns) / MILLION) : 0;
    if (run_us == 0)
        return 0;
    const int64_t slope = rise_ns / run_us;
    return slope > SLOPE_MAX_PPM ? SLOPE_MAX_PPM : slope < -SLOPE_MAX_PPM ? -SLOPE_MAX_PPM : (int32_t)slope;
}

/* The median of the slopes of all pairs of the `count` windows from `age` on. */
static int32_t line_ppm(const struct peer_clock *clock, uint32_t age, uint32_t count, bool upper)
{
    int32_t slopes[PAIRS_MAX];
    uint32_t size = 0;
    for (uint32_t newer = age; newer < age + count; newer++)
        for (uint32_t older = newer + 1; older < age + count; older++) {
            const int32_t slope = slope_ppm(window_at(clock, older), window_at(clock, newer), upper);
            uint32_t at = size++;
            for (; at > 0 && slopes[at - 1] > slope; at--)
                slopes[at] = slopes[at - 1];
            slopes[at] = slope;
        }
    assert(size > 0 && size <= PAIRS_MAX);
    return slopes[size / 2];
}

static void measure(struct peer_clock *clock)
{
    if (clock->count < CLOCK_WINDOWS)
        return;
    clock->rate_ppm = line_ppm(clock, 0, CLOCK_WINDOWS, false);
    for (uint32_t i = 0; i < CLOCK_SLOPES; i++)
        clock->slope_ppm[i] = line_ppm(clock, i / 2 * HALF, HALF, i % 2 != 0);
}

static bool is_bounded(const struct clock_window *window)
{
    return window->least_at_ns > 0 && window->most_at_ns > 0;
}

static int64_t slack_ns(uint64_t since_ns, uint64_t now_ns)
{
    return JUMP_LEAST_NS + (now_ns > since_ns ? (int64_t)((now_ns - since_ns) / DRIFT_PART) : 0);
}

/* By how much the clock has jumped since these bounds for sure, about; 0: it need not have jumped. */
static int64_t jump_since_ns(const struct clock_window *bounds, const struct clock_window *sample)
{
    if (!is_bounded(bounds))
        return 0;
    const bool ahead = sample->least_ns > bounds->most_ns + slack_ns(bounds->most_at_ns, sample->least_at_ns),
               back = sample->most_at_ns > 0 &&
                      sample->most_ns < bounds->least_ns - slack_ns(bounds->least_at_ns, sample->least_at_ns);
    return ahead || back ? sample->least_ns - bounds->least_ns : 0;
}

/*
 * The open window may have begun after a jump of this node's clock, with a message that told
 * nothing of it yet. So the window before counts as well.
 */
static int64_t jump_ns(const struct peer_clock *clock, const struct clock_window *sample)
{
    const int64_t jumped_ns = jump_since_ns(&clock->open, sample);
    return jumped_ns != 0 || clock->count == 0 ? jumped_ns : jump_since_ns(window_at(clock, 0), sample);
}

static void tighten(struct clock_window *window, const struct clock_window *sample)
{
    if (window->least_at_ns == 0 || sample->least_ns >= window->least_ns) {
        window->least_at_ns = sample->least_at_ns;
        window->least_ns = sample->least_ns;
    }
    if (sample->most_at_ns > 0 && (window->most_at_ns == 0 || sample->most_ns <= window->most_ns)) {
        window->most_at_ns = sample->most_at_ns;
        window->most_ns = sample->most_ns;
    }
}

static void begin(struct peer_clock *clock, const struct clock_window *sample)
{
    clock->open = *sample;
    clock->begun_ns = sample->least_at_ns;
}

enum clock_news clock_take(struct peer_clock *clock, const struct clock_sample *sample, uint64_t window_ns)
{
    const int64_t there_ns = (int64_t)sample->there_ns;
    const struct clock_window bounds = {
        .least_at_ns = sample->here_ns,
        .least_ns = there_ns - (int64_t)sample->here_ns,
        .most_at_ns = sample->asked_ns,
        .most_ns = there_ns - (int64_t)sample->asked_ns,
    };
    const int64_t jumped_ns = jump_ns(clock, &bounds);
    if (clock->first_ns == 0)
        clock->first_ns = sample->here_ns;
    if (jumped_ns != 0) {
        if (clock->jumped_ns == 0)
            clock->jumped_at_ns = sample->here_ns;
        if (__builtin_add_overflow(clock->jumped_ns, jumped_ns, &clock->jumped_ns))
            clock->jumped_ns = jumped_ns;
        clock->count = 0;
        begin(clock, &bounds);
        return CLOCK_JUMP;
    }
    if (clock->begun_ns == 0 || !is_bounded(&clock->open) || sample->here_ns - clock->begun_ns < window_ns) {
        if (clock->begun_ns == 0)
            clock->begun_ns = sample->here_ns;
        tighten(&clock->open, &bounds);
        return CLOCK_NOTHING;
    }
    clock->window[clock->count++ % CLOCK_WINDOWS] = clock->open;
    begin(clock, &bounds);
    measure(clock);
    return CLOCK_WINDOW;
}

bool clock_is_measured(const struct peer_clock *clock, uint64_t here_ns, uint64_t window_ns)
{
    if (clock->count < CLOCK_WINDOWS)
        return false;
    const uint64_t newest_ns = window_at(clock, 0)->least_at_ns;
    return here_ns <= newest_ns || here_ns - newest_ns < FRESH_WINDOWS * window_ns;
}

int32_t clock_surely_ppm(const struct peer_clock *clock, int32_t than_ppm)
{
    int32_t nearest = 0;
    for (unsigned i = 0; i < CLOCK_SLOPES; i++) {
        const int32_t off = clock->slope_ppm[i] - than_ppm;
        if (off == 0 || (nearest > 0 && off < 0) || (nearest < 0 && off > 0))
            return 0;
        if (nearest == 0 || (off > 0 ? off < nearest : off > nearest))
            nearest = off;
    }
    return nearest;
}
