/*
 * Windows of rules. Each thread keeps the present window; the first request of a thread in a new
 * window computes it, and asks the calendar under a lock if the windows are a calendar's.
 */
#include "base/array.h"
#include "base/number.h"
#include "base/spin.h"
#include "rules/ruleset_state.h"

#include <assert.h>
#include <stdlib.h>

/*
 * Counts of a window stay for another window after its end, but at most this long: a peer whose
 * clock is behind still uses them, and may know them only from others.
 */
#define KEPT_NS_MAX UINT64_C(10000000000)

void windows_close(struct windows *windows)
{
    for (uint32_t i = 0; i < windows->count; i++) {
        assert(windows->window[i]->users == 0);
        calendar_destroy(&windows->window[i]->calendar);
        free(windows->window[i]);
    }
    free(windows->window);
}

static bool is_of_kind(const struct window *window, uint64_t period_ns, enum rule_calendar unit, struct bytes zone)
{
    if (window->period_ns != period_ns)
        return false;
    return period_ns != 0 || (window->unit == unit && bytes_equal(bytes_of(window->zone), zone));
}

static struct window *window_create(uint32_t threads)
{
    size_t bytes = sizeof(struct window) + threads * sizeof(struct present);
    struct window *window = aligned_alloc(_Alignof(struct window), bytes);
    if (window)
        memset(window, 0, bytes);
    return window;
}

/* A free or new entry for a window. NULL, with a sentence: there is none. */
static struct window *vacant(struct windows *windows, struct error *error)
{
    (void)error_set(error, 71, "not enough memory for its window");
    for (uint32_t i = 0; i < windows->count; i++)
        if (windows->window[i]->users == 0)
            return windows->window[i];
    if (windows->count == WINDOWS_MAX) {
        (void)error_set(error, 65, "windows of %d different kinds are in use: expected one of those", WINDOWS_MAX);
        return NULL;
    }
    if (!ARRAY_RESERVE(windows->window, windows->room, windows->count + 1))
        return NULL;
    struct window *window = window_create(windows->threads);
    if (window)
        windows->window[windows->count++] = window;
    return window;
}

struct window *window_obtain(struct windows *windows, uint64_t period_ns, enum rule_calendar unit,
                             struct bytes zone, struct error *error)
{
    for (uint32_t i = 0; i < windows->count; i++) {
        struct window *window = windows->window[i];
        if (window->users > 0 && is_of_kind(window, period_ns, unit, zone)) {
            window->users++;
            return window;
        }
    }
    struct window *window = vacant(windows, error);
    if (!window)
        return NULL;
    calendar_destroy(&window->calendar);
    memset(window, 0, sizeof *window + windows->threads * sizeof(struct present));
    window->period_ns = period_ns;
    window->unit = unit;
    if (period_ns == 0) {
        window->calendar = calendar_create(unit, zone, error);
        if (!window->calendar)
            return NULL;
        memcpy(window->zone, zone.data, zone.size);
    }
    window->users = 1;
    return window;
}

void window_release(struct window *window)
{
    assert(window->users > 0);
    window->users--;
}

/* A window's stamp comes from its number: the n-th of its kind or, for a calendar, the second in
 * which it begins. */
static struct key_id stamp_of(const struct windows *windows, uint64_t number)
{
    uint8_t text[16] = "window: ";
    memcpy(text + 8, &number, sizeof number);
    return hash_128(&windows->hash_key, text, sizeof text);
}

static uint64_t round_up(uint64_t ns)
{
    const uint64_t mask = ((uint64_t)1 << WINDOW_TICK_BITS) - 1;
    return ns > UINT64_MAX - mask ? UINT64_MAX & ~mask : (ns + mask) & ~mask;
}

/* A thread spins while another one asks the calendar, which takes microseconds, once per window. */
static void ask_calendar(struct window *window, uint64_t wall_ns, uint64_t *start_ns, uint64_t *end_ns)
{
    for (unsigned spins = 0; atomic_exchange_explicit(&window->calendar_locked, true, memory_order_acquire);)
        spin_pause(&spins);
    calendar_period(window->calendar, wall_ns, start_ns, end_ns);
    atomic_store_explicit(&window->calendar_locked, false, memory_order_release);
}

void window_renew(const struct windows *windows, struct window *window, uint8_t thread, uint64_t now_ns,
                  uint64_t wall_ns)
{
    uint64_t start_ns, end_ns;
    struct present *present = &window->present[thread];
    assert(thread < windows->threads);
    if (window->period_ns > 0) {
        uint64_t number = wall_ns / window->period_ns;
        start_ns = number * window->period_ns;
        end_ns = start_ns + window->period_ns;
        present->stamp = stamp_of(windows, number);
        present->previous = stamp_of(windows, number - 1);
    } else {
        ask_calendar(window, wall_ns, &start_ns, &end_ns);
        present->stamp = stamp_of(windows, start_ns / 1000000000u);
    }
    present->wall_start_ns = start_ns;
    present->wall_length_ns = end_ns - start_ns;
    present->offset_ns = wall_ns - now_ns;
    present->end_ns = now_ns + (end_ns - wall_ns);
    uint64_t kept_until_ns = present->end_ns + number_least(end_ns - start_ns, KEPT_NS_MAX);
    present->expires_ns = round_up(kept_until_ns);
    present->next_expires_ns = round_up(kept_until_ns + window->period_ns);
}
