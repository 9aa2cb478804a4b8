#include "cluster/batch.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct batch *batch_create(uint32_t depend_count, uint32_t spend_count)
{
    size_t spends_at = sizeof(struct batch);
    size_t depends_at = spends_at + (size_t)spend_count * sizeof(struct spend);
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

int spend_compare(const void *a, const void *b)
{
    const struct spend *x = a, *y = b;
    if (x->limit != y->limit)
        return x->limit < y->limit ? -1 : 1;
    if (x->id.high != y->id.high)
        return x->id.high < y->id.high ? -1 : 1;
    return x->id.low < y->id.low ? -1 : x->id.low > y->id.low;
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
}

/* Batches of others come sorted, unless their limits stand in another order. */
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
    qsort(batch->spend, batch->spend_count, sizeof *batch->spend, spend_compare);
}

const struct spend *batch_find(const struct batch *batch, uint16_t limit, struct key_id id)
{
    struct spend wanted = {.id = id, .limit = limit};
    return bsearch(&wanted, batch->spend, batch->spend_count, sizeof *batch->spend, spend_compare);
}
