/*
 * tally sums the told and unsettled tokens of each key over all own batches. Without the sums,
 * settling many batches would search all of them for every key. The table is made a slice at a
 * time, and settling waits for it; afterwards it follows the log. Slots of another epoch are empty,
 * so a reset costs nothing.
 */
#include "cluster/log/unsettled_index.h"

#include "base/touch.h"
#include "cluster/state/node_state.h"
#include "cluster/state/step.h"

#include <assert.h>
#include <stdlib.h>

enum {
    TALLY_BATCHES = 64, /* fewer batches are searched */
    TALLY_KEYS_MAX = 1 << 23,
    TALLY_AHEAD = 12, /* slots are prefetched so many spends ahead */
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

static struct unsettled_index_slot *slot_of(const struct tally *tally, struct key_id id)
{
    uint64_t index = id.low & tally->mask;
    while (tally->slot[index].epoch == tally->epoch && !key_id_equal(tally->slot[index].id, id))
        index = (index + 1) & tally->mask;
    return &tally->slot[index];
}

static void prefetch_slot(const struct tally *tally, const struct batch *batch, uint32_t index)
{
    if (index + TALLY_AHEAD < batch->spend_count)
        prefetch_write(&tally->slot[batch->spend[index + TALLY_AHEAD].id.low & tally->mask]);
}

static void add(struct node *node, struct batch *batch)
{
    struct tally *tally = &node->tally;
    for (uint32_t i = 0; i < batch->spend_count; i++) {
        prefetch_slot(tally, batch, i);
        struct unsettled_index_slot *slot = slot_of(tally, batch->spend[i].id);
        if (slot->epoch != tally->epoch) {
            *slot = (struct unsettled_index_slot){.id = batch->spend[i].id, .epoch = tally->epoch};
            tally->used++;
        }
        slot->tokens += batch->spend[i].tokens;
    }
    batch->tallied = true;
    tally->batches++;
}

static bool is_own(const struct origin *origin)
{
    return origin->uid != 0 && origin->mine;
}

static uint32_t own_batches(const struct node *node)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        count += is_own(&node->origin[slot]) ? node->origin[slot].log_count : 0;
    return count;
}

void unsettled_index_reset(struct node *node)
{
    struct tally *tally = &node->tally;
    for (uint32_t slot = 0; slot < node->origin_end && tally->batches > 0; slot++) {
        struct origin *own = &node->origin[slot];
        for (struct list *at = own->log.next; is_own(own) && at != &own->log; at = at->next)
            LIST_OWNER(at, struct batch, link)->tallied = false;
    }
    tally->epoch++;
    tally->used = 0;
    tally->batches = 0;
}

/* From the newest batch on: once the tally was whole, only the newest batches are missing. */
static void add_missing(struct node *node, struct origin *own, uint32_t whole)
{
    for (struct list *at = own->log.previous; at != &own->log && node->tally.batches < whole; at = at->previous) {
        struct batch *batch = LIST_OWNER(at, struct batch, link);
        if (batch->tallied)
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
    uint64_t most = node->options.log_keys_max < TALLY_KEYS_MAX ? node->options.log_keys_max : TALLY_KEYS_MAX;
    uint64_t slots = SLOTS_MIN;
    most += (uint64_t)node->outbox.room * node->lane_count;
    while (slots < 2 * most)
        slots *= 2;
    return slots;
}

/* Slots for the keys in own logs now, with so much room that the table seldom has to grow. */
static uint64_t slots_wanted(const struct node *node)
{
    uint64_t keys = 0, slots = SLOTS_MIN, most = slots_max(node);
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        keys += is_own(&node->origin[slot]) ? node->origin[slot].log_keys : 0;
    while (slots < most && slots < 4 * keys)
        slots *= 2;
    return slots;
}

/* An empty table that is large enough; false: no memory. */
static bool begin_anew(struct node *node)
{
    struct tally *tally = &node->tally;
    uint64_t slots = slots_wanted(node);
    unsettled_index_reset(node);
    if (tally->slot && tally->mask + 1 >= slots)
        return true;
    free(tally->slot);
    tally->slot = calloc(slots, sizeof *tally->slot);
    tally->mask = slots - 1;
    tally->backed = 0;
    tally->failed = tally->slot == NULL;
    return !tally->failed;
}

/*
 * Writes to the table page by page, so that the system gives it memory; true: it has all of it.
 * Else the first key of each page would wait for that page. One step does no other optional work
 * then.
 */
static bool is_backed(struct node *node)
{
    struct tally *tally = &node->tally;
    if (tally->backed > tally->mask)
        return true;
    for (uint32_t page = 0; page < PAGES_A_STEP && tally->backed <= tally->mask; page++) {
        ((volatile struct unsettled_index_slot *)tally->slot)[tally->backed].epoch = 0;
        tally->backed += PAGE_SLOTS;
    }
    step_works(node, node->step.left);
    todo_add_if(&node->todo, DO_STEP, tally->backed <= tally->mask);
    return tally->backed > tally->mask;
}

bool unsettled_index_is_wanted(const struct node *node)
{
    const struct origin *mine = &node->origin[node->my_slot];
    return mine->log_count > TALLY_BATCHES && mine->log_keys <= slots_max(node) / 2 && !node->tally.failed;
}

bool unsettled_index_is_whole(struct node *node)
{
    return node->tally.batches > 0 && node->tally.batches == own_batches(node);
}

void unsettled_index_step(struct node *node)
{
    struct tally *tally = &node->tally;
    if (!unsettled_index_is_wanted(node)) {
        if (tally->batches > 0 && node->origin[node->my_slot].log_count == 0)
            unsettled_index_reset(node);
        return;
    }
    if (unsettled_index_is_whole(node))
        return;
    /*
     * Settled keys keep their slots until the table begins anew; keys of the whole log fill at most
     * half of it.
     */
    if ((!tally->slot || tally->used > tally->mask / 4 * 3) && !begin_anew(node))
        return;
    if (!is_backed(node))
        return;
    uint32_t whole = own_batches(node);
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        if (is_own(&node->origin[slot]))
            add_missing(node, &node->origin[slot], whole);
}

uint64_t unsettled_index_strike(struct node *node, const struct batch *batch, uint32_t index)
{
    const struct spend *spend = &batch->spend[index];
    prefetch_slot(&node->tally, batch, index);
    struct unsettled_index_slot *slot = slot_of(&node->tally, spend->id);
    assert(slot->epoch == node->tally.epoch && slot->tokens >= spend->tokens);
    slot->tokens -= spend->tokens;
    return slot->tokens;
}

static void struck(struct node *node, struct batch *batch)
{
    batch->tallied = false;
    node->tally.batches--;
}

void unsettled_index_forget(struct node *node, struct batch *batch)
{
    for (uint32_t i = 0; i < batch->spend_count && batch->tallied; i++)
        (void)unsettled_index_strike(node, batch, i);
    if (batch->tallied)
        struck(node, batch);
}
