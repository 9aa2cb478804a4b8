#include "base/touch.h"
#include "cluster/parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * Own spends that no peer was told of yet, one per key: a ring for each thread of requests, told oldest first and at a
 * pace. What must not wait is urgent: it is told before anything else, and before any message leaves that acknowledges
 * what others have spent. What was told leaves a gap; whatever is in front of the oldest untold spend is free again.
 *
 * A spend is begun by a thread in its own ring, and from then on by whoever holds its key: until a step tells it, which
 * is alone. So a place of a ring goes from a gap to a spend once between two steps, and another thread that an outdated
 * index leads there looks at `untold` and at half of the id: as atomics, and that half is there before it is untold.
 */
enum {
    SLICE_KEYS = 2048, /* told together: more would keep requests waiting */
    RING_KEYS_DEFAULT = 1 << 20,
    RING_KEYS_MAX = 1 << 20, /* entry.open_index has 20 bits */
    RING_KEYS_MIN = 4 * CHARGES_MAX,
    PACE_DEFAULT = 250000,
    CREDIT_INTERVALS = 2,
    NEARLY_FULL_PART = 16,
    SINCE_SHIFT = 20, /* spend.since is in steps of about a millisecond */
};

#define KEY_CREDIT UINT64_C(1000000000) /* what telling one key costs: the pace earns so much in its time */
#define PACE_MAX UINT64_C(50000000)
#define TELL_GAP_NS UINT64_C(1000000)
#define PATIENCE_NS UINT64_C(4000000000)

bool untold_create(struct node *node)
{
    const struct node_options *options = &node->options;
    uint64_t room = options->untold_max;
    if (room == 0) {
        room = options->table_keys > 2 * (uint64_t)node->batch_max ? options->table_keys
                                                                   : 2 * (uint64_t)node->batch_max;
        room = room < RING_KEYS_DEFAULT ? room : RING_KEYS_DEFAULT;
    }
    uint64_t least = (uint64_t)RING_KEYS_MIN * node->lane_count;
    room = room < least ? least : room > RING_KEYS_MAX ? RING_KEYS_MAX : room;
    node->open_room = (uint32_t)(room / node->lane_count);
    node->pace = options->tell_pace == 0         ? PACE_DEFAULT
                 : options->tell_pace < PACE_MAX ? options->tell_pace
                                                 : PACE_MAX;
    node->slice_keys = node->batch_max < SLICE_KEYS ? node->batch_max : SLICE_KEYS;
    node->push_keys = node->slice_keys;
    node->tell_ns = UINT64_MAX;
    const size_t all = (size_t)node->open_room * node->lane_count;
    bool has_urgent = true;
    node->open = calloc(all, sizeof *node->open);
    for (uint32_t i = 0; i < node->lane_count; i++) {
        node->lane[i].open = node->open ? node->open + (size_t)i * node->open_room : NULL;
        node->lane[i].urgent = calloc(all, sizeof *node->lane[i].urgent);
        has_urgent &= node->lane[i].urgent != NULL;
    }
    node->telling = calloc(node->batch_max, sizeof *node->telling);
    node->sorted = calloc(node->batch_max, sizeof *node->sorted);
    return node->open && has_urgent && node->telling && node->sorted;
}

void untold_destroy(struct node *node)
{
    for (uint32_t i = 0; i < node->lane_count; i++)
        free(node->lane[i].urgent);
    free(node->open);
    free(node->telling);
    free(node->sorted);
}

/* Number `index` of the lane's ring, from its front: untold, or a gap. */
static struct spend *untold_at(const struct node *node, const struct lane *lane, uint32_t index)
{
    uint32_t behind = node->open_room - lane->open_first;
    return &lane->open[index < behind ? lane->open_first + index : index - behind];
}

bool is_in_open(const struct node *node, const struct entry *entry)
{
    const struct spend *spend = &node->open[entry->open_index];
    return entry->open_index < node->open_room * node->lane_count &&
           __atomic_load_n(&spend->untold, __ATOMIC_ACQUIRE) &&
           __atomic_load_n(&spend->id.low, __ATOMIC_RELAXED) == entry->id.low && spend->id.high == entry->id.high &&
           spend->limit == entry->limit;
}

void untold_prefetch(const struct node *node, const struct entry *entry)
{
    const struct spend *spend = &node->open[entry->open_index];
    ask_to_write(spend);
    ask_to_write((const char *)(spend + 1) - 1);
}

bool untold_has_room(const struct node *node, uint32_t keys)
{
    return keys <= node->open_room - own_lane(node)->open_span;
}

void note_open(struct node *node, uint64_t now_ns)
{
    struct lane *lane = own_lane(node);
    if (lane->open_count == 0)
        lane->open_since_ns = now_ns;
    lane->spent_ns = now_ns;
}

struct spend *open_spend(struct node *node, struct entry *entry)
{
    if (is_in_open(node, entry))
        return &node->open[entry->open_index];
    struct lane *lane = own_lane(node);
    assert(lane->open_span < node->open_room);
    struct spend *spend = untold_at(node, lane, lane->open_span++);
    lane->open_count++;
    entry->open_index = (uint32_t)(spend - node->open) & (RING_KEYS_MAX - 1);
    entry->own_batch = batch_trace(node->origin[node->my_slot].applied + 1);
    __atomic_store_n(&spend->id.low, entry->id.low, __ATOMIC_RELAXED);
    spend->id.high = entry->id.high;
    spend->tokens = spend->returned = spend->credit = 0;
    spend->limit = entry->limit;
    spend->urgent = false;
    spend->since = (uint32_t)(lane->spent_ns >> SINCE_SHIFT);
    spend->expires_ns = node->limits.limit[entry->limit].kind == LIMIT_CELL ? entry->bucket.expires_ns : 0;
    __atomic_store_n(&spend->untold, true, __ATOMIC_RELEASE);
    return spend;
}

uint32_t untold_count(const struct node *node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->lane_count; i++)
        count += node->lane[i].open_count;
    return count;
}

void untold_visit(const struct node *node, void (*visit)(void *context, const struct spend *spend), void *context)
{
    for (uint32_t i = 0; i < node->lane_count; i++)
        for (uint32_t k = 0; k < node->lane[i].open_span; k++) {
            const struct spend *spend = untold_at(node, &node->lane[i], k);
            if (spend->untold)
                visit(context, spend);
        }
}

/* Some requests' keys fit beyond. */
static uint32_t nearly_full(const struct node *node)
{
    uint32_t part = node->open_room / NEARLY_FULL_PART, least = 2 * CHARGES_MAX;
    return node->open_room - (part > least ? part : least);
}

bool untold_wants_push(const struct node *node)
{
    const struct lane *lane = own_lane(node);
    return lane->open_count >= node->push_keys / node->lane_count || lane->open_span > nearly_full(node);
}

void untold_urge(struct node *node, const struct entry *entry)
{
    struct lane *lane = own_lane(node);
    struct spend *spend = &node->open[entry->open_index];
    if (!is_in_open(node, entry) || spend->urgent)
        return;
    spend->urgent = true;
    lane->urgent[lane->urgent_count++] = entry->open_index;
}

/* ---- telling ---- */

static uint64_t began_ns(const struct node *node, const struct spend *spend)
{
    uint32_t age = (uint32_t)(node->now_ns >> SINCE_SHIFT) - spend->since;
    uint64_t now = node->now_ns >> SINCE_SHIFT;
    if (age > UINT32_MAX / 2) /* it was made after the last step */
        return node->now_ns;
    return age < now ? (now - age) << SINCE_SHIFT : 0;
}

/* What it returns is as old as the oldest spend that is unsettled: batches do not stand in that order. */
static uint64_t returns_since_ns(const struct origin *mine, const struct batch *batch)
{
    uint64_t since_ns = batch_opened_ns(batch);
    bool credited = false;
    for (uint32_t i = 0; i < batch->spend_count && !credited; i++)
        credited = batch->spend[i].credit > 0;
    for (struct list *at = mine->log.next; at != &mine->log && credited; at = at->next) {
        uint64_t opened_ns = batch_opened_ns(LIST_OWNER(at, const struct batch, link));
        since_ns = opened_ns < since_ns ? opened_ns : since_ns;
    }
    return since_ns;
}

static void close_part(struct node *node, const struct spend *spends, uint32_t count)
{
    struct origin *mine = &node->origin[node->my_slot];
    struct depend depends[ORIGINS_MAX];
    uint32_t depend_count = 0;
    for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++)
        if (slot != node->my_slot && node->origin[slot].uid && node->origin[slot].applied > 0)
            depends[depend_count++] = (struct depend){node->origin[slot].uid, node->origin[slot].applied};
    struct batch *batch = batch_create(depend_count, count);
    assert(batch && "out of memory");
    memcpy(batch->depend, depends, depend_count * sizeof *depends);
    memcpy(batch->spend, spends, count * sizeof *spends);
    batch->origin_uid = mine->uid;
    batch->first = batch->last = ++mine->applied;
    batch->at_ns = batch->arrived_ns = node->now_ns;
    batch->open_ns = node->now_ns > node->telling_since_ns ? node->now_ns - node->telling_since_ns : 0;
    batch->open_ns = batch->at_ns - returns_since_ns(mine, batch);
    batch->complete = untold_count(node) == 0;
    origin_log_append(node, mine, batch);
    node->stats.batches_closed++;
}

/* A key that was evicted and came back may stand there twice: it is told once. */
static uint32_t add_equal_ones(const struct node *node, struct spend *spends, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept > 0 && spend_compare(&spends[kept - 1], &spends[i]) == 0)
            spend_add(&spends[kept - 1], &spends[i], node->limits.limit[spends[i].limit].kind == LIMIT_LOG);
        else
            spends[kept++] = spends[i];
    }
    return kept;
}

static void flush(struct node *node)
{
    if (node->telling_count == 0)
        return;
    spends_sort(node->sorted, node->telling, node->telling_count, SPENDS_BY_LIMIT);
    uint32_t count = add_equal_ones(node, node->sorted, node->telling_count);
    for (uint32_t from = 0, end; from < count; from = end) {
        end = batch_end(node, node->sorted, from, count);
        close_part(node, node->sorted + from, end - from);
    }
    step_works(node, node->telling_count);
    node->telling_count = 0;
}

static void gather(struct node *node, struct spend *spend)
{
    struct lane *lane = &node->lane[(uint32_t)(spend - node->open) / node->open_room];
    uint64_t made_ns = began_ns(node, spend);
    made_ns = made_ns > lane->open_since_ns ? made_ns : lane->open_since_ns; /* that is exact */
    if (node->telling_count == 0 || made_ns < node->telling_since_ns)
        node->telling_since_ns = made_ns;
    spend->untold = spend->urgent = false;
    node->telling[node->telling_count++] = *spend;
    lane->open_count--;
    if (node->telling_count == node->batch_max)
        flush(node);
}

/* The oldest untold spend stands at the front, if there is any. */
static void skip_gaps(const struct node *node, struct lane *lane)
{
    while (lane->open_span > 0 && !lane->open[lane->open_first].untold) {
        lane->open_first = lane->open_first + 1 == node->open_room ? 0 : lane->open_first + 1;
        lane->open_span--;
    }
    if (lane->open_span == 0)
        lane->open_first = 0; /* so that little memory is touched while little is untold */
}

static void gather_urgent(struct node *node)
{
    for (uint32_t i = 0; i < node->lane_count; i++) {
        struct lane *lane = &node->lane[i];
        for (uint32_t k = 0; k < lane->urgent_count; k++)
            gather(node, &node->open[lane->urgent[k]]);
        lane->urgent_count = 0;
    }
    for (uint32_t i = 0; i < node->lane_count; i++)
        skip_gaps(node, &node->lane[i]);
}

static void gather_front(struct node *node, struct lane *lane)
{
    gather(node, &lane->open[lane->open_first]);
    skip_gaps(node, lane);
}

void tell_urgent(struct node *node)
{
    gather_urgent(node);
    flush(node);
}

void tell_all(struct node *node)
{
    gather_urgent(node);
    for (uint32_t i = 0; i < node->lane_count; i++)
        while (node->lane[i].open_span > 0)
            gather_front(node, &node->lane[i]);
    flush(node);
}

void tell_much_urgent(struct node *node)
{
    uint32_t urgent = 0;
    for (uint32_t i = 0; i < node->lane_count; i++)
        urgent += node->lane[i].urgent_count;
    if (urgent >= node->step_keys)
        tell_urgent(node);
}

/* Two intervals' worth at most, and a key's at least. */
static void earn_credit(struct node *node)
{
    uint64_t most = CREDIT_INTERVALS * node->options.interval_ns * node->pace;
    most = most < KEY_CREDIT ? KEY_CREDIT : most;
    uint64_t elapsed_ns = node->now_ns - node->credit_ns;
    uint64_t earned = elapsed_ns < most / node->pace ? elapsed_ns * node->pace : most;
    node->credit = earned < most - node->credit ? node->credit + earned : most;
    node->credit_ns = node->now_ns;
}

/* When the credit suffices for what is worth a message; `more` might have been told but for the step's time. */
static void plan_next(struct node *node, bool more)
{
    node->push_wanted = false;
    node->push_keys = node->slice_keys;
    node->tell_ns = UINT64_MAX;
    uint32_t count = untold_count(node);
    if (count == 0)
        return;
    node->push_keys = UINT32_MAX;
    uint64_t keys = count < node->slice_keys ? count : node->slice_keys;
    uint64_t missing = keys * KEY_CREDIT > node->credit ? keys * KEY_CREDIT - node->credit : 0;
    uint64_t wait_ns = missing / node->pace, gap_ns = more ? 0 : TELL_GAP_NS;
    node->tell_ns = node->now_ns + (wait_ns > gap_ns ? wait_ns : gap_ns);
}

/* The lane whose ring's front has waited longest, or is nearly full; NULL: nothing is untold. */
static struct lane *next_lane(const struct node *node, uint64_t *since_ns)
{
    struct lane *next = NULL;
    for (uint32_t i = 0; i < node->lane_count; i++) {
        struct lane *lane = &node->lane[i];
        if (lane->open_span == 0)
            continue;
        uint64_t front_ns = began_ns(node, &lane->open[lane->open_first]);
        if (next && front_ns >= *since_ns && lane->open_span <= nearly_full(node))
            continue;
        next = lane;
        *since_ns = front_ns;
        if (lane->open_span > nearly_full(node))
            break;
    }
    return next;
}

void tell_at_pace(struct node *node)
{
    uint32_t before = untold_count(node), told;
    uint64_t since_ns;
    struct lane *lane;
    earn_credit(node);
    gather_urgent(node);
    told = before - untold_count(node);
    uint64_t most = node->credit / KEY_CREDIT;
    bool more = false;
    while ((lane = next_lane(node, &since_ns)) != NULL &&
           (told < most || lane->open_span > nearly_full(node) || node->stopping ||
            node->now_ns - since_ns > PATIENCE_NS)) {
        more = told >= node->step_keys;
        if (more)
            break;
        gather_front(node, lane);
        told++;
    }
    flush(node);
    uint64_t spent = told * KEY_CREDIT;
    node->credit -= spent < node->credit ? spent : node->credit;
    plan_next(node, more);
}

bool tell_some(struct node *node)
{
    if (untold_count(node) <= node->step_keys) {
        tell_all(node);
        return true;
    }
    uint64_t since_ns;
    gather_urgent(node);
    for (uint32_t i = 0; i < node->step_keys && untold_count(node) > 0; i++)
        gather_front(node, next_lane(node, &since_ns));
    flush(node);
    return false;
}

uint64_t untold_age_ns(const struct node *node)
{
    uint64_t since_ns;
    return next_lane(node, &since_ns) ? node->now_ns - since_ns : 0;
}

void untold_check(const struct node *node)
{
    uint32_t urgent = 0, listed = 0;
    for (uint32_t i = 0; i < node->lane_count; i++) {
        const struct lane *lane = &node->lane[i];
        uint32_t untold = 0;
        assert(lane->open_span <= node->open_room && lane->open_first < node->open_room);
        for (uint32_t k = 0; k < lane->open_span; k++) {
            const struct spend *spend = untold_at(node, lane, k);
            assert(spend->untold || !spend->urgent);
            untold += spend->untold;
            urgent += spend->urgent;
        }
        assert(untold == lane->open_count);
        assert(lane->open_span == 0 || lane->open[lane->open_first].untold);
        listed += lane->urgent_count;
    }
    assert(urgent == listed && node->telling_count == 0);
}
