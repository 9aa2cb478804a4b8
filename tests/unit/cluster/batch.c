#include "cluster/codec/batch.h"
#include "base/random.h"

#include "tests/lib/tap.h"

#include <stdlib.h>

static void check_shape(uint32_t depends, uint32_t spends)
{
    struct batch *batch = batch_create(depends, spends);
    bool zero = true;
    OK(batch && batch->depend_count == depends && batch->spend_count == spends, "a batch of %u and %u", depends,
       spends);
    for (uint32_t i = 0; i < depends; i++) {
        zero &= batch->depend[i].origin_uid == 0 && batch->depend[i].seq == 0;
        batch->depend[i] = (struct depend){UINT32_MAX, UINT64_MAX};
    }
    for (uint32_t i = 0; i < spends; i++) {
        zero &= batch->spend[i].tokens == 0 && batch->spend[i].id.high == 0;
        batch->spend[i] = (struct spend){.id = {UINT64_MAX, UINT64_MAX}, .tokens = UINT64_MAX, .limit = UINT16_MAX};
    }
    bool apart = spends == 0 || depends == 0 ||
                 (batch->spend[spends - 1].limit == UINT16_MAX && batch->depend[0].origin_uid == UINT32_MAX);
    OK(zero && apart, "is made of zeros, and its parts do not overlap");
    batch_destroy(&batch);
    OK(batch == NULL, "destroying forgets it");
    batch_destroy(&batch);
}

static void check_lists(void)
{
    struct list head;
    struct batch *batch = batch_create(0, 0), *other = batch_create(0, 0);
    list_init(&head);
    list_insert_before(&head, &batch->link);
    list_insert_before(&head, &other->link);
    batch_destroy(&batch);
    OK(head.next == &other->link && head.previous == &other->link, "a batch that is destroyed leaves its list");
    batch_destroy(&other);
    OK(list_empty(&head), "and the list is empty");
}

static void check_sorting(void)
{
    static const uint16_t limits[] = {2, 0, 1, 0, 2, 1, 1};
    enum { COUNT = sizeof limits / sizeof limits[0] };
    struct batch *batch = batch_create(0, COUNT);
    bool sorted = true, found = true;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < COUNT; i++)
        batch->spend[i] = (struct spend){.id = {100 - i, i}, .tokens = i, .limit = limits[i]};
    batch_sort(batch);
    for (uint32_t i = 0; i < COUNT; i++) {
        const struct spend *spend = &batch->spend[i];
        sorted &= i == 0 || spend_compare(spend - 1, spend) < 0;
        sorted &= spend->id.high == 100 - spend->tokens && spend->limit == limits[spend->tokens];
        seen |= (uint64_t)1 << spend->tokens;
    }
    OK(sorted && seen == (1u << COUNT) - 1, "spends of one limit stand together, by id; none is lost or changed");
    for (uint32_t i = 0; i < COUNT; i++)
        found &= batch_find(batch, limits[i], (struct key_id){100 - i, i})->tokens == i;
    OK(found, "each is found");
    OK(!batch_find(batch, 0, (struct key_id){100, 0}) && !batch_find(batch, 2, (struct key_id){100, 1}),
       "what has another limit, or half of the id, is not");
    batch_destroy(&batch);
    batch = batch_create(0, 0);
    batch_sort(batch);
    OK(!batch_find(batch, 0, (struct key_id){0, 0}), "nothing is found in an empty batch");
    batch_destroy(&batch);
}

/* Random ids, crowded ones and equal ones, under one limit, a few, or many. */
static void check_sort(uint32_t count, uint64_t ids, uint64_t shift, uint32_t limits, enum spend_order order)
{
    struct spend *from = calloc(count + 1, sizeof *from), *to = calloc(count + 1, sizeof *to);
    int (*compare)(const void *, const void *) = order == SPENDS_BY_ID ? spend_compare_ids : spend_compare;
    struct random random;
    bool sorted = true, stable = true;
    uint64_t sum = 0;
    random_seed(&random, count);
    for (uint32_t i = 0; i < count; i++)
        from[i] = (struct spend){.id = {random_below(&random, ids) << shift, random_below(&random, 2)},
                                 .tokens = i,
                                 .limit = (uint16_t)random_below(&random, limits)};
    spends_sort(to, from, count, order);
    for (uint32_t i = 0; i < count; i++) {
        sum += to[i].tokens;
        sorted &= memcmp(&to[i], &from[to[i].tokens], sizeof *to) == 0;
        sorted &= i == 0 || compare(&to[i - 1], &to[i]) <= 0;
        stable &= i == 0 || compare(&to[i - 1], &to[i]) < 0 || to[i - 1].tokens < to[i].tokens;
    }
    OK(sorted && stable && sum == (uint64_t)count * (count - (count > 0)) / 2,
       "%u spends under %u limits are sorted", count, limits);
    free(from);
    free(to);
}

static void check_sorts(void)
{
    static const uint32_t counts[] = {0, 1, 2, 3, 17, 1000, 20000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        check_sort(counts[i], UINT64_MAX, 0, 1, SPENDS_BY_LIMIT);
        check_sort(counts[i], UINT64_MAX, 0, 700, SPENDS_BY_LIMIT);
        check_sort(counts[i], UINT64_MAX, 0, 700, SPENDS_BY_ID);
        check_sort(counts[i], 1 + counts[i] / 2, 0, 3, SPENDS_BY_LIMIT);
        check_sort(counts[i], 1 + counts[i] / 2, 44, UINT16_MAX, SPENDS_BY_ID);
    }
}

enum { GROUPS = 3, GROUP_SPENDS = 300 };

static uint32_t first_from(const struct batch *batch, uint64_t high, uint32_t from, uint32_t end)
{
    while (from < end && batch->spend[from].id.high < high)
        from++;
    return from;
}

/* Part by part, as pages are asked for, and anywhere; and where the hint is of a batch that was longer. */
static void check_first_from(void)
{
    struct batch *batch = batch_create(0, GROUPS * GROUP_SPENDS);
    struct random random;
    uint32_t wrong = 0;
    random_seed(&random, 1);
    for (uint32_t i = 0; i < GROUPS * GROUP_SPENDS; i++)
        batch->spend[i] = (struct spend){.id = {random_below(&random, 1000), i}, .limit = (uint16_t)(i % GROUPS)};
    batch_sort(batch);
    for (unsigned turn = 0; turn < 20000; turn++) {
        bool by_part = turn < 1002;
        uint32_t from = by_part ? 0 : (uint32_t)random_below(&random, GROUPS) * GROUP_SPENDS,
                 end = from + GROUP_SPENDS;
        uint64_t high = by_part ? turn : random_below(&random, 1002);
        if (!by_part && turn % 3 == 0)
            end -= (uint32_t)random_below(&random, GROUP_SPENDS + 1);
        if (turn % 7 == 0)
            batch->found = (uint32_t)random_below(&random, 2 * GROUPS * GROUP_SPENDS);
        batch_prefetch_found(batch);
        uint32_t found = batch_first_from(batch, high, from, end);
        wrong += found != first_from(batch, high, from, end) || batch->found != found;
    }
    OK_U64(wrong, 0, "the first spend from an id on is found, wherever the last one was");
    batch_destroy(&batch);
}

static void check_order(void)
{
    static const struct spend spends[] = {
        {.id = {1, 1}, .tokens = 9},
        {.id = {1, 2}, .tokens = 8},
        {.id = {2, 0}, .tokens = 7},
        {.id = {0, 0}, .tokens = 6, .limit = 1},
        {.id = {UINT64_MAX, UINT64_MAX}, .limit = 1},
    };
    enum { COUNT = sizeof spends / sizeof spends[0] };
    bool ordered = true, traced = true;
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++) {
            int order = spend_compare(&spends[i], &spends[j]);
            ordered &= (order < 0) == (i < j) && (order > 0) == (i > j);
        }
    OK(ordered, "spends are ordered by limit, then by id");
    for (uint64_t sequence = 0; sequence < 1000; sequence++)
        for (uint64_t off = 1; off < BATCH_TRACES; off++)
            traced &= batch_trace(sequence) != 0 && batch_trace(sequence) != batch_trace(sequence + off);
    OK(traced, "the trace of a batch tells it from the next 190, and is never 0");
}

/* A LOG's returns end as the first of them does; a spend without any has no say in that. */
static void check_adding(void)
{
    const struct spend none = {.tokens = 5}, early = {.tokens = 1, .returned = 3, .expires_ns = 100},
                       late = {.returned = 4, .expires_ns = 200, .credit = 1};
    const struct spend *pairs[][2] = {{&early, &late}, {&late, &early}, {&none, &early}, {&early, &none}};
    bool soonest = true;
    for (int i = 0; i < 4; i++) {
        struct spend sum = *pairs[i][0];
        spend_add(&sum, pairs[i][1], true);
        soonest &= sum.expires_ns == 100;
    }
    OK(soonest, "what is returned to a log ends as the first of it does, in whatever order it is added");
    struct spend sum = early;
    spend_add(&sum, &late, false);
    OK(sum.expires_ns == 200, "a cell ends as the last of its spends says");
    OK(sum.tokens == 1 && sum.returned == 7 && sum.credit == 1, "and all figures add up");
}

int main(void)
{
    check_shape(0, 0);
    check_shape(1, 0);
    check_shape(0, 1);
    check_shape(128, 16384);
    check_lists();
    check_sorting();
    check_sorts();
    check_first_from();
    check_order();
    check_adding();
    return tap_done();
}
