/* Threads note keys in sketches of their own, while others read them all: nothing is lost, and no view is torn. */
#include "commands/hot.h"

#include "tests/lib/tap.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { WRITERS = 3, READERS = 2, NOTES = TAP_SLOW ? 20000 : 200000, KEYS = 8 };

static struct hot *hots[WRITERS];
static struct rule_counter counters[WRITERS];
static atomic_uint writing, torn, views;

static void *write_notes(void *argument)
{
    const unsigned thread = *(const unsigned *)argument;
    const struct ruled ruled = {.service = bytes_of("s"), .id = bytes_of("r")};
    const struct matched matched = {.rule = &ruled, .counter = &counters[thread], .why = WHY_RULE};
    char name[16];
    for (uint64_t i = 0; i < NOTES; i++) {
        const uint64_t key = 1 + i % KEYS;
        const bool noted = hot_note(hots[thread], NULL, 1, HOT_REFUSED, &matched, key, i);
        assert(noted);
        if (hot_wants_name(hots[thread], key)) {
            (void)snprintf(name, sizeof name, "user=%u", (unsigned)key);
            hot_name(hots[thread], key, name);
        }
    }
    atomic_fetch_sub(&writing, 1);
    return NULL;
}

/* The totals of one view; false: there is none. */
static bool view_is_whole(struct hot_view *view)
{
    const struct hot_query query = {.by = HOT_REFUSED};
    struct hot_list list;
    char name[HOT_NAME_BYTES];
    hot_list(hots, WRITERS, &query, 0, &list);
    if (list.count == 0 || !hot_read(hots, WRITERS, &query, list.found[0].names, 0, view))
        return true;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < view->hitters.count; i++) {
        sum += view->hitters.at[i].count;
        if (hot_find_name(hots, WRITERS, view->hitters.at[i].key, name) && strncmp(name, "user=", 5) != 0)
            return false;
    }
    atomic_fetch_add(&views, 1);
    return hitters_check(&view->hitters) && sum == view->hitters.total && strcmp(view->service, "s") == 0 &&
           strcmp(view->rule, "r") == 0;
}

static void *read_views(void *argument)
{
    struct hot_view view;
    (void)argument;
    do {
        if (!view_is_whole(&view))
            atomic_fetch_add(&torn, 1);
    } while (atomic_load(&writing) > 0);
    return NULL;
}

int main(void)
{
    static const unsigned number[WRITERS] = {0, 1, 2};
    pthread_t threads[WRITERS + READERS];
    struct hot_view view = {.unit = 0};
    atomic_store(&writing, WRITERS);
    for (unsigned i = 0; i < WRITERS; i++) {
        hots[i] = hot_create(true, i);
        assert(hots[i] != NULL);
    }
    for (unsigned i = 0; i < WRITERS + READERS; i++) {
        void *argument = i < WRITERS ? (void *)(uintptr_t)&number[i] : NULL;
        int failed = pthread_create(&threads[i], NULL, i < WRITERS ? write_notes : read_views, argument);
        assert(failed == 0);
    }
    for (unsigned i = 0; i < WRITERS + READERS; i++)
        (void)pthread_join(threads[i], NULL);
    OK(atomic_load(&torn) == 0, "each of %u views was whole", atomic_load(&views));
    OK(view_is_whole(&view) && view.hitters.total == (uint64_t)WRITERS * NOTES, "no note is lost");
    OK_U64(view.hitters.at[0].count, (uint64_t)WRITERS * NOTES / KEYS, "each key has its count of all threads");
    for (unsigned i = 0; i < WRITERS; i++)
        hot_destroy(&hots[i]);
    return tap_done();
}
