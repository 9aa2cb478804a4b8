/*
 * batch makes, sorts, searches and merges batches: spends of one origin by limit and id, so that a
 * key is found by bisection. A batch and its spends are one piece of memory. Nothing here knows of
 * logs or of nodes.
 */
#include "cluster/codec/batch.h"

#include "base/prefetch.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct batch *batch_create(uint32_t depend_count, uint32_t spend_count)
{
    return batch_create_granting(depend_count, spend_count, 0);
}

struct batch *batch_create_granting(uint32_t depend_count, uint32_t spend_count, uint32_t grant_count)
{
    size_t spends_at = sizeof(struct batch);
    size_t grants_at = spends_at + (size_t)spend_count * sizeof(struct spend);
    size_t depends_at = grants_at + (size_t)grant_count * sizeof(struct batch_grant);
    size_t size = depends_at + (size_t)depend_count * sizeof(struct depend);
    char *memory = calloc(1, size);
    if (!memory)
        return NULL;
    struct batch *batch = (struct batch *)(void *)memory;
    list_init(&batch->link);
    batch->depend_count = depend_count;
    batch->spend_count = spend_count;
    batch->spend = (struct spend *)(void *)(memory + spends_at);
    batch->depend = (struct depend *)(void *)(memory + depends_at);
    batch->grant_count = grant_count;
    batch->grant = (struct batch_grant *)(void *)(memory + grants_at);
    return batch;
}

void batch_destroy(struct batch **batch)
{
    if (!*batch)
        return;
    list_remove(&(*batch)->link);
    free(*batch);
    *batch = NULL;
}

int spend_compare_ids(const void *a, const void *b)
{
    return key_id_compare(((const struct spend *)a)->id, ((const struct spend *)b)->id);
}

int spend_compare(const void *a, const void *b)
{
    const struct spend *x = a, *y = b;
    if (x->limit != y->limit)
        return x->limit < y->limit ? -1 : 1;
    return spend_compare_ids(a, b);
}

uint32_t spends_groups(const struct spend *spends, uint32_t count)
{
    uint32_t groups = 0;
    for (uint32_t i = 0; i < count; i++)
        groups += i == 0 || spends[i].limit != spends[i - 1].limit;
    return groups;
}

static void add_tokens(uint64_t *sum, uint64_t more)
{
    if (more >= SPEND_TOKENS_MAX || *sum + more >= SPEND_TOKENS_MAX)
        *sum = SPEND_TOKENS_MAX;
    else
        *sum += more;
}

void spend_add(struct spend *sum, const struct spend *more, bool log)
{
    bool sooner = log && sum->returned > 0 && (more->returned == 0 || more->expires_ns > sum->expires_ns);
    if (log ? !sooner : more->expires_ns > sum->expires_ns)
        sum->expires_ns = more->expires_ns;
    add_tokens(&sum->tokens, more->tokens);
    add_tokens(&sum->returned, more->returned);
    add_tokens(&sum->credit, more->credit);
    sum->returns_settled |= more->returns_settled;
    sum->granted += more->granted;
    sum->spare += more->spare;
}

/* ---- sorting ---- */

/* The key of a spend: places are sorted instead of spends, which are larger. */
struct place {
    struct key_id id;
    uint32_t index, limit;
};

struct sorting {
    const struct spend *from;
    struct place *sorted, *spare; /* `count` each */
    uint32_t *end;                /* by part: first the number of its spends, then where it ends */
    size_t count;
    unsigned part_bits;
    unsigned equal_bits;    /* the leading bits that all ids share */
    unsigned limits_differ; /* the bits in which limits differ */
};

enum { PART_KEYS = 2, PART_BITS_MAX = 20, PART_INSERTS_MAX = 64, BYTE_VALUES = 256 };

/* The first bits in which ids differ tell about where an id belongs among all ids. */
static size_t part_of(const struct sorting *sorting, struct key_id id)
{
    return id.high << sorting->equal_bits >> (64 - sorting->part_bits);
}

static unsigned equal_bits(const struct spend *spends, size_t count)
{
    uint64_t differ = 1;
    for (size_t i = 1; i < count; i++)
        differ |= spends[i].id.high ^ spends[0].id.high;
    return (unsigned)__builtin_clzll(differ);
}

static bool sorting_init(struct sorting *sorting, const struct spend *from, size_t count, enum spend_order order)
{
    *sorting = (struct sorting){.from = from, .count = count, .part_bits = 1};
    if (order == SPENDS_BY_ID) /* ids of a batch begin with any bits, ids of a key range do not */
        sorting->equal_bits = equal_bits(from, count);
    while (sorting->part_bits < PART_BITS_MAX && count >> sorting->part_bits > PART_KEYS)
        sorting->part_bits++;
    sorting->sorted = calloc(count + 1, sizeof *sorting->sorted);
    sorting->end = calloc((size_t)1 << sorting->part_bits, sizeof *sorting->end);
    if (!sorting->sorted || !sorting->end)
        return false;
    for (size_t i = 0; i < count; i++) {
        sorting->end[part_of(sorting, from[i].id)]++;
        sorting->limits_differ |= (unsigned)(from[i].limit ^ from[0].limit);
    }
    if (order == SPENDS_BY_ID || sorting->limits_differ == 0)
        return true;
    sorting->spare = calloc(count, sizeof *sorting->spare);
    return sorting->spare != NULL;
}

static void sorting_close(struct sorting *sorting)
{
    free(sorting->sorted);
    free(sorting->spare);
    free(sorting->end);
}

static bool stands_before(const struct place *x, const struct place *y)
{
    const int order = key_id_compare(x->id, y->id);
    return order < 0 || (order == 0 && x->index < y->index);
}

static int place_compare(const void *a, const void *b)
{
    return stands_before(a, b) ? -1 : stands_before(b, a);
}

/* Many ids that are no hashes may fall into one part: qsort bounds the work. */
static void sort_part(struct place *place, size_t count)
{
    if (count > PART_INSERTS_MAX) {
        qsort(place, count, sizeof *place, place_compare);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        struct place moved = place[i];
        size_t to = i;
        for (; to > 0 && stands_before(&moved, &place[to - 1]); to--)
            place[to] = place[to - 1];
        place[to] = moved;
    }
}

static void sort_ids(struct sorting *sorting)
{
    const struct spend *from = sorting->from;
    size_t parts = (size_t)1 << sorting->part_bits;
    uint32_t *end = sorting->end, sum = 0;
    for (size_t part = 0; part < parts; part++) {
        uint32_t size = end[part];
        end[part] = sum;
        sum += size;
    }
    for (size_t i = 0; i < sorting->count; i++)
        sorting->sorted[end[part_of(sorting, from[i].id)]++] =
            (struct place){from[i].id, (uint32_t)i, from[i].limit};
    for (size_t part = 0, start = 0; part < parts; start = end[part++])
        sort_part(sorting->sorted + start, end[part] - start);
}

/* Sorts by one byte of the limit's index; spends with the same byte keep their order. */
static void sort_limit_byte(struct sorting *sorting, unsigned shift)
{
    uint32_t start[BYTE_VALUES + 1] = {0};
    struct place *from = sorting->sorted;
    if ((sorting->limits_differ >> shift) % BYTE_VALUES == 0)
        return;
    for (size_t i = 0; i < sorting->count; i++)
        start[(from[i].limit >> shift) % BYTE_VALUES + 1]++;
    for (unsigned value = 0; value < BYTE_VALUES; value++)
        start[value + 1] += start[value];
    for (size_t i = 0; i < sorting->count; i++)
        sorting->spare[start[(from[i].limit >> shift) % BYTE_VALUES]++] = from[i];
    sorting->sorted = sorting->spare;
    sorting->spare = from;
}

void spends_sort(struct spend *to, const struct spend *from, size_t count, enum spend_order order)
{
    struct sorting sorting;
    assert(count <= UINT32_MAX);
    if (!sorting_init(&sorting, from, count, order)) {
        memcpy(to, from, count * sizeof *to);
        qsort(to, count, sizeof *to, order == SPENDS_BY_LIMIT ? spend_compare : spend_compare_ids);
    } else {
        sort_ids(&sorting);
        if (order == SPENDS_BY_LIMIT) {
            sort_limit_byte(&sorting, 0);
            sort_limit_byte(&sorting, 8);
        }
        for (size_t i = 0; i < count; i++)
            to[i] = from[sorting.sorted[i].index];
    }
    sorting_close(&sorting);
}

/* Batches of other peers arrive sorted, unless the limits there have another order. */
static bool is_sorted(const struct batch *batch)
{
    for (uint32_t i = 1; i < batch->spend_count; i++)
        if (spend_compare(&batch->spend[i - 1], &batch->spend[i]) > 0)
            return false;
    return true;
}

void batch_sort(struct batch *batch)
{
    if (is_sorted(batch))
        return;
    struct spend *copy = malloc(batch->spend_count * sizeof *copy);
    if (!copy) {
        qsort(batch->spend, batch->spend_count, sizeof *batch->spend, spend_compare);
        return;
    }
    memcpy(copy, batch->spend, batch->spend_count * sizeof *copy);
    spends_sort(batch->spend, copy, batch->spend_count, SPENDS_BY_LIMIT);
    free(copy);
}

const struct spend *batch_find(const struct batch *batch, uint16_t limit, struct key_id id)
{
    struct spend wanted = {.id = id, .limit = limit};
    return bsearch(&wanted, batch->spend, batch->spend_count, sizeof *batch->spend, spend_compare);
}

uint32_t batch_next_limit(const struct batch *batch, uint32_t index)
{
    uint16_t limit = batch->spend[index].limit;
    uint32_t low = index + 1, high = batch->spend_count;
    if (batch->spend[high - 1].limit == limit) /* most batches have one limit only */
        return high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (batch->spend[middle].limit == limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct spend *batch_find_next(const struct batch *batch, uint32_t *from, struct key_id id)
{
    const struct spend *spend = NULL;
    while (!spend && *from < batch->spend_count) {
        spend = batch_find(batch, batch->spend[*from].limit, id);
        *from = batch_next_limit(batch, *from);
    }
    return spend;
}

/*
 * Narrows low..end to where the first id of `high` or more may be, by ever larger steps from *low.
 */
static void narrow_behind(const struct spend *spend, uint64_t high, uint32_t *low, uint32_t *end)
{
    for (uint32_t step = 1; step < *end - *low; step *= 2) {
        if (spend[*low + step].id.high >= high) {
            *end = *low + step;
            return;
        }
        *low += step + 1;
    }
}

static void narrow_before(const struct spend *spend, uint64_t high, uint32_t *low, uint32_t *end)
{
    for (uint32_t step = 1; step < *end - *low; step *= 2) {
        if (spend[*end - step].id.high < high) {
            *low = *end - step + 1;
            return;
        }
        *end -= step;
    }
}

uint32_t batch_first_from(struct batch *batch, uint64_t high, uint32_t from, uint32_t end)
{
    const struct spend *spend = batch->spend;
    uint32_t low = from, near = batch->found;
    if (near >= from && near < end) {
        bool is_behind = spend[near].id.high < high;
        low = is_behind ? near + 1 : from;
        end = is_behind ? end : near;
        (is_behind ? narrow_behind : narrow_before)(spend, high, &low, &end);
    }
    while (low < end) {
        uint32_t middle = low + (end - low) / 2;
        if (spend[middle].id.high < high)
            low = middle + 1;
        else
            end = middle;
    }
    batch->found = low;
    return low;
}

enum { FOUND_AHEAD = 4 };

void batch_prefetch_found(const struct batch *batch)
{
    for (uint32_t i = batch->found; i < batch->found + FOUND_AHEAD && i < batch->spend_count; i++)
        prefetch_read(&batch->spend[i]);
}
