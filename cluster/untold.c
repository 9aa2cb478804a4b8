#include "base/touch.h"
#include "cluster/parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * Own spends that no peer was told of yet, one per key: a ring for each thread of requests. What was told leaves a gap;
 * whatever is in front of the oldest untold spend is free again.
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
    NEARLY_FULL_PART = 16,
    PLAIN_BITS = 64,  /* of a word of lane.plain */
    SINCE_SHIFT = 20, /* times in spends are in steps of about a millisecond */
};

#define PACE_MAX UINT64_C(50000000)

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
    bool has_lists = true;
    node->open_memory = calloc(all + 1, sizeof *node->open); /* of zeros that are not touched yet */
    size_t ahead = (uintptr_t)node->open_memory % sizeof *node->open;
    node->open = node->open_memory;
    if (ahead > 0)
        node->open = (void *)((char *)node->open_memory + (sizeof *node->open - ahead));
    for (uint32_t i = 0; i < node->lane_count; i++) {
        node->lane[i].open = node->open ? node->open + (size_t)i * node->open_room : NULL;
        node->lane[i].urgent = calloc(all, sizeof *node->lane[i].urgent);
        node->lane[i].plain = calloc(node->open_room / PLAIN_BITS + 1, sizeof *node->lane[i].plain);
        has_lists &= node->lane[i].urgent && node->lane[i].plain;
    }
    node->telling = calloc(node->batch_max, sizeof *node->telling);
    node->sorted = calloc(node->batch_max, sizeof *node->sorted);
    return node->open && has_lists && node->telling && node->sorted;
}

void untold_destroy(struct node *node)
{
    for (uint32_t i = 0; i < node->lane_count; i++) {
        free(node->lane[i].urgent);
        free(node->lane[i].plain);
    }
    free(node->open_memory);
    free(node->telling);
    free(node->sorted);
}

static uint32_t place_of(const struct node *node, const struct lane *lane, uint32_t index)
{
    uint32_t behind = node->open_room - lane->open_first;
    return index < behind ? lane->open_first + index : index - behind;
}

struct spend *untold_at(const struct node *node, const struct lane *lane, uint32_t index)
{
    return &lane->open[place_of(node, lane, index)];
}

static void mark_plain(struct lane *lane, const struct spend *spend, bool plain)
{
    uint32_t place = (uint32_t)(spend - lane->open);
    uint64_t bit = (uint64_t)1 << place % PLAIN_BITS, *word = &lane->plain[place / PLAIN_BITS];
    *word = plain ? *word | bit : *word & ~bit;
}

/* Most of a ring may wait: it is not read for what does not. */
struct spend *untold_next_plain(const struct node *node, struct lane *lane)
{
    if (lane->open_count == lane->waits_count)
        lane->passed_span = lane->open_span;
    while (lane->passed_span < lane->open_span) {
        uint32_t place = place_of(node, lane, lane->passed_span), left = PLAIN_BITS - place % PLAIN_BITS;
        uint64_t word = lane->plain[place / PLAIN_BITS] >> place % PLAIN_BITS;
        uint32_t none = word != 0                        ? (uint32_t)__builtin_ctzll(word)
                        : left < node->open_room - place ? left
                                                         : node->open_room - place;
        if (none == 0)
            return &lane->open[place];
        none = none < lane->open_span - lane->passed_span ? none : lane->open_span - lane->passed_span;
        lane->passed_span += none;
    }
    return NULL;
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

struct spend *open_spend(struct node *node, struct entry *entry, bool waits)
{
    struct lane *lane = own_lane(node);
    uint32_t now = (uint32_t)(lane->spent_ns >> SINCE_SHIFT);
    if (is_in_open(node, entry)) {
        node->open[entry->open_index].spent = now;
        return &node->open[entry->open_index];
    }
    assert(lane->open_span < node->open_room);
    struct spend *spend = untold_at(node, lane, lane->open_span++);
    lane->open_count++;
    entry->open_index = (uint32_t)(spend - node->open) & (RING_KEYS_MAX - 1);
    entry->own_batch = batch_trace(node->origin[node->my_slot].applied + 1);
    __atomic_store_n(&spend->id.low, entry->id.low, __ATOMIC_RELAXED);
    spend->id.high = entry->id.high;
    spend->tokens = spend->returned = spend->credit = 0;
    spend->limit = entry->limit;
    spend->urgent = spend->orphan = false;
    spend->waits = waits;
    lane->waits_count += waits;
    if (!waits)
        mark_plain(lane, spend, true);
    spend->since = spend->spent = spend->looked = now;
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

uint32_t untold_plain_count(const struct node *node)
{
    uint32_t count = untold_count(node);
    for (uint32_t i = 0; i < node->lane_count; i++)
        count -= node->lane[i].waits_count;
    return count;
}

void untold_drop(struct node *node, struct spend *spend)
{
    struct lane *lane = &node->lane[(uint32_t)(spend - node->open) / node->open_room];
    lane->waits_count -= spend->waits;
    lane->open_count--;
    if (!spend->waits)
        mark_plain(lane, spend, false);
    spend->untold = spend->urgent = spend->waits = false;
}

void untold_wait_no_more(struct lane *lane, struct spend *spend)
{
    assert(spend->waits);
    spend->waits = false;
    lane->waits_count--;
    mark_plain(lane, spend, true);
    if (lane->passed_span > lane->looked_span)
        lane->passed_span = lane->looked_span;
}

void untold_skip_gaps(const struct node *node, struct lane *lane)
{
    uint32_t before = lane->open_span;
    while (lane->open_span > 0 && !lane->open[lane->open_first].untold) {
        lane->open_first = lane->open_first + 1 == node->open_room ? 0 : lane->open_first + 1;
        lane->open_span--;
    }
    uint32_t gone = before - lane->open_span;
    lane->passed_span -= gone < lane->passed_span ? gone : lane->passed_span;
    lane->looked_span -= gone < lane->looked_span ? gone : lane->looked_span;
    if (lane->open_span == 0)
        lane->open_first = 0; /* so that little memory is touched while little is untold */
}

void untold_requeue(struct node *node, struct lane *lane, struct spend *spend)
{
    struct entry *entry = table_find(node->table, spend->id);
    struct spend *last = untold_at(node, lane, lane->open_span);
    assert(lane->open_span < node->open_room && spend->waits && !spend->urgent);
    assert(entry && &node->open[entry->open_index] == spend); /* or it would be urgent: evicted, converted */
    lane->open_span++;
    *last = *spend;
    last->looked = (uint32_t)(node->now_ns >> SINCE_SHIFT);
    entry->open_index = (uint32_t)(last - node->open) & (RING_KEYS_MAX - 1);
    spend->untold = spend->waits = false;
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

uint32_t untold_nearly_full(const struct node *node)
{
    uint32_t part = node->open_room / NEARLY_FULL_PART, least = 2 * CHARGES_MAX;
    return node->open_room - (part > least ? part : least);
}

bool untold_wants_push(const struct node *node)
{
    const struct lane *lane = own_lane(node);
    return lane->open_count - lane->waits_count >= node->push_keys / node->lane_count ||
           lane->open_span > untold_nearly_full(node);
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

uint64_t untold_passed_ns(const struct node *node, uint32_t then)
{
    return untold_time_ns(node, then) + (1u << SINCE_SHIFT);
}

uint64_t untold_time_ns(const struct node *node, uint32_t then)
{
    uint32_t age = (uint32_t)(node->now_ns >> SINCE_SHIFT) - then;
    uint64_t now = node->now_ns >> SINCE_SHIFT;
    if (age > UINT32_MAX / 2) /* it was made after the last step */
        return node->now_ns;
    return age < now ? (now - age) << SINCE_SHIFT : 0;
}

void untold_check(const struct node *node)
{
    uint32_t urgent = 0, listed = 0;
    for (uint32_t i = 0; i < node->lane_count; i++) {
        const struct lane *lane = &node->lane[i];
        uint32_t untold = 0, waits = 0;
        assert(lane->passed_span <= lane->open_span && lane->looked_span <= lane->open_span);
        assert(lane->open_span <= node->open_room && lane->open_first < node->open_room);
        for (uint32_t k = 0; k < lane->open_span; k++) {
            const struct spend *spend = untold_at(node, lane, k);
            assert(spend->untold || (!spend->urgent && !spend->waits));
            uint32_t place = (uint32_t)(spend - lane->open);
            bool plain = (lane->plain[place / PLAIN_BITS] >> place % PLAIN_BITS & 1) != 0;
            assert(plain == (spend->untold && !spend->waits));
            assert(k >= lane->passed_span || !spend->untold || spend->waits || spend->urgent);
            assert(k >= lane->looked_span || !spend->waits || spend->urgent);
            untold += spend->untold;
            waits += spend->waits;
            urgent += spend->urgent;
        }
        assert(untold == lane->open_count && waits == lane->waits_count);
        assert(lane->open_span == 0 || lane->open[lane->open_first].untold);
        listed += lane->urgent_count;
    }
    assert(urgent == listed && node->telling_count == 0);
}
