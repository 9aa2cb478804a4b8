/*
 * unsettled_index sums the told and unsettled tokens of each key over all own batches. Without the sums,
 * settling many batches would search all of them for every key. The table is made a slice at a
 * time, and settling waits for it; afterwards it follows the log. Slots of another epoch are empty,
 * so a reset costs nothing.
 */
#include "cluster/log/unsettled_index.h"

#include "base/prefetch.h"
#include "cluster/state/node_state.h"
#include "cluster/state/step.h"

#include <assert.h>
#include <stdlib.h>

enum {
    SUMS_BATCHES = 64, /* fewer batches are searched */
    SUMS_KEYS_MAX = 1 << 23,
    SUMS_AHEAD = 12, /* slots are prefetched so many spends ahead */
    /* so that a quarter has room for one batch and for the spends of one step */
    SLOTS_MIN = 8 * OPEN_KEYS_MAX,
    PAGE_SLOTS = 128,  /* in 4 KiB */
    PAGES_A_STEP = 64, /* takes as long as one step may */
};

struct unsettled_index_slot {
    struct key_id id;
    uint64_t tokens;
    uint64_t epoch; /* 0: never used */
};
_Static_assert(sizeof(struct unsettled_index_slot) * PAGE_SLOTS == 4096, "a page of memory");

static struct unsettled_index_slot *slot_of(const struct unsettled_index *sums, struct key_id id)
{
    uint64_t index = id.low & sums->mask;
    while (sums->slot[index].epoch == sums->epoch && !key_id_equal(sums->slot[index].id, id))
        index = (index + 1) & sums->mask;
    return &sums->slot[index];
}

static void prefetch_slot(const struct unsettled_index *sums, const struct batch *batch, uint32_t index)
{
    if (index + SUMS_AHEAD < batch->spend_count)
        prefetch_write(&sums->slot[batch->spend[index + SUMS_AHEAD].id.low & sums->mask]);
}

static void add(struct node *node, struct batch *batch)
{
    struct unsettled_index *sums = &node->unsettled_index;
    for (uint32_t i = 0; i < batch->spend_count; i++) {
        prefetch_slot(sums, batch, i);
        struct unsettled_index_slot *slot = slot_of(sums, batch->spend[i].id);
        if (slot->epoch != sums->epoch) {
            *slot = (struct unsettled_index_slot){.id = batch->spend[i].id, .epoch = sums->epoch};
            sums->used++;
        }
        slot->tokens += batch->spend[i].tokens;
    }
    batch->summed = true;
    sums->batches++;
}

static uint32_t own_batches(const struct node *node)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        count += node->origin[slot].mine ? node->origin[slot].log_count : 0;
    return count;
}

void unsettled_index_reset(struct node *node)
{
    struct unsettled_index *sums = &node->unsettled_index;
    for (uint32_t slot = 0; slot < node->origin_end && sums->batches > 0; slot++)
        if (node->origin[slot].mine)
            LIST_EACH(struct batch, batch, &node->origin[slot].log, link)
                batch->summed = false;
    sums->epoch++;
    sums->used = 0;
    sums->batches = 0;
}

/* From the newest batch on: once the sums were whole, only the newest batches are missing. */
static void add_missing(struct node *node, struct origin *own, uint32_t whole)
{
    for (struct list *at = own->log.previous; at != &own->log && node->unsettled_index.batches < whole;
         at = at->previous) {
        struct batch *batch = LIST_OWNER(at, struct batch, link);
        if (batch->summed)
            continue;
        if (!step_has_time(node, batch->spend_count))
            return;
        step_works(node, batch->spend_count);
        add(node, batch);
    }
}

/*
 * Twice the keys of the longest log. Untold spends come on top: they are told even when the log is
 * full.
 */
static uint64_t slots_max(const struct node *node)
{
    uint64_t most = node->options.log_keys_max < SUMS_KEYS_MAX ? node->options.log_keys_max : SUMS_KEYS_MAX;
    uint64_t slots = SLOTS_MIN;
    most += (uint64_t)node->outbox.room * node->thread_count;
    while (slots < 2 * most)
        slots *= 2;
    return slots;
}

/* Slots for the keys in own logs now, with so much room that the table seldom has to grow. */
static uint64_t slots_wanted(const struct node *node)
{
    uint64_t keys = 0, slots = SLOTS_MIN, most = slots_max(node);
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        keys += node->origin[slot].mine ? node->origin[slot].log_keys : 0;
    while (slots < most && slots < 4 * keys)
        slots *= 2;
    return slots;
}

/* An empty table that is large enough; false: no memory. */
static bool begin_anew(struct node *node)
{
    struct unsettled_index *sums = &node->unsettled_index;
    uint64_t slots = slots_wanted(node);
    unsettled_index_reset(node);
    if (sums->slot && sums->mask + 1 >= slots)
        return true;
    free(sums->slot);
    sums->slot = calloc(slots, sizeof *sums->slot);
    sums->mask = slots - 1;
    sums->backed = 0;
    sums->failed = sums->slot == NULL;
    return !sums->failed;
}

/*
 * Writes to the table page by page, so that the system gives it memory; true: it has all of it.
 * Else the first key of each page would wait for that page. One step does no other optional work
 * then.
 */
static bool is_backed(struct node *node)
{
    struct unsettled_index *sums = &node->unsettled_index;
    if (sums->backed > sums->mask)
        return true;
    for (uint32_t page = 0; page < PAGES_A_STEP && sums->backed <= sums->mask; page++) {
        ((volatile struct unsettled_index_slot *)sums->slot)[sums->backed].epoch = 0;
        sums->backed += PAGE_SLOTS;
    }
    step_works(node, node->step.left);
    todo_add_if(&node->todo, DO_STEP, sums->backed <= sums->mask);
    return sums->backed > sums->mask;
}

bool unsettled_index_is_wanted(const struct node *node)
{
    const struct origin *mine = &node->origin[node->my_slot];
    return mine->log_count > SUMS_BATCHES && mine->log_keys <= slots_max(node) / 2 && !node->unsettled_index.failed;
}

bool unsettled_index_is_whole(struct node *node)
{
    return node->unsettled_index.batches > 0 && node->unsettled_index.batches == own_batches(node);
}

void unsettled_index_step(struct node *node)
{
    struct unsettled_index *sums = &node->unsettled_index;
    if (!unsettled_index_is_wanted(node)) {
        if (sums->batches > 0 && node->origin[node->my_slot].log_count == 0)
            unsettled_index_reset(node);
        return;
    }
    if (unsettled_index_is_whole(node))
        return;
    /*
     * Settled keys keep their slots until the table begins anew; keys of the whole log fill at most
     * half of it.
     */
    if ((!sums->slot || sums->used > sums->mask / 4 * 3) && !begin_anew(node))
        return;
    if (!is_backed(node))
        return;
    uint32_t whole = own_batches(node);
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        if (node->origin[slot].mine)
            add_missing(node, &node->origin[slot], whole);
}

uint64_t unsettled_index_strike(struct node *node, const struct batch *batch, uint32_t index)
{
    const struct spend *spend = &batch->spend[index];
    prefetch_slot(&node->unsettled_index, batch, index);
    struct unsettled_index_slot *slot = slot_of(&node->unsettled_index, spend->id);
    assert(slot->epoch == node->unsettled_index.epoch && slot->tokens >= spend->tokens);
    slot->tokens -= spend->tokens;
    return slot->tokens;
}

static void struck(struct node *node, struct batch *batch)
{
    batch->summed = false;
    node->unsettled_index.batches--;
}

void unsettled_index_forget(struct node *node, struct batch *batch)
{
    for (uint32_t i = 0; i < batch->spend_count && batch->summed; i++)
        (void)unsettled_index_strike(node, batch, i);
    if (batch->summed)
        struck(node, batch);
}
