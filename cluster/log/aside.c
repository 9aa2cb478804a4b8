/*
 * aside keeps, for each key and member, the part of the member's late spends that its own share of
 * the refill has not paid off yet: a debt. What has been paid off is not charged a second time when
 * the spend is heard of. The table begins when a member is late and ends when all have been in time
 * for long. Its size is fixed: keys that find no place in it are charged in full.
 */
#include "cluster/log/aside.h"

#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/share.h"
#include "limit/bucket_units.h"
#include "limit/kind.h"

#include <stdlib.h>
#include <string.h>

enum {
    ASIDE_KEYS_MAX = 1 << 16,
    SLOTS_PER_KEY = 2,
    STREAMS = 6,                 /* members with debts of their own, for each key */
    STREAM_OTHERS = STREAMS - 1, /* the debts of all other members: no refill pays them off */
    /* of silent_after: a member not heard, or a batch not acknowledged, for longer is late */
    LATE_PART = 2,
    CALM_INTERVALS = 64, /* old batches may still arrive so long after the last member was late */
};

/* of all members together: twice the most that a bucket holds or owes */
#define DEBTS_MOST ((int64_t)1 << 62)

/* Spends of one member of a key that its part of the refill has not paid off by `at_ns`. */
struct debt {
    int64_t units;
    uint64_t at_ns; /* on whole ticks, rounded up */
};

struct aside_key {
    struct key_id id;
    uint32_t epoch;
    uint16_t limit;
    uint8_t member[STREAMS]; /* of each stream, plus one; 0: none. The first is this node */
    struct debt debt[STREAMS];
    uint64_t since_ns; /* no spend is charged as of an earlier moment */
};
_Static_assert(sizeof(struct aside_key) <= 136, "see ASIDE_KEYS_MAX: 17 MiB");

/* ---- when ---- */

/* Changes when a member, its incarnation or its use of a share changes. */
static uint64_t members_hash(const struct node *node)
{
    uint64_t hash = node->member_end;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        hash = member_hash(hash, member, member->used && !member->share_freed);
    }
    return hash;
}

static bool begin(struct node *node)
{
    struct aside *aside = &node->aside;
    uint64_t slots = SLOTS_PER_KEY;
    while (slots < SLOTS_PER_KEY * node->options.table_keys && slots < SLOTS_PER_KEY * (uint64_t)ASIDE_KEYS_MAX)
        slots *= 2;
    if (!aside->slot) {
        aside->slot = calloc(slots, sizeof *aside->slot);
        aside->mask = slots - 1;
    }
    return aside->slot != NULL;
}

static void note_region(struct node *node, uint32_t i)
{
    const struct member *member = &node->member[i];
    const bool shares = member->used && !member->share_freed;
    node->aside.region[i] = (uint8_t)region_place(node, member->region);
    node->aside.sharers[i] = shares ? (uint8_t)region_sharers(node, member->region) : 0;
}

void aside_forget(struct node *node)
{
    struct aside *aside = &node->aside;
    aside->epoch++;
    /* slots of the first epochs must not count as current ones */
    if (aside->epoch == 0 && aside->slot) {
        memset(aside->slot, 0, (aside->mask + 1) * sizeof *aside->slot);
        aside->epoch = 1;
    }
    aside->count = 0;
    aside->overflowed = false;
    aside->began_ns = node->now_ns;
    aside->converted_ns = node->converted_ns;
    aside->swept_ns = node->by_limit.swept_ns;
    aside->members = members_hash(node);
    uint64_t left = SHARE_ONE;
    for (uint32_t i = 0; i < node->member_end; i++) {
        uint64_t share = share_of_member(node, i);
        aside->share[i] = share < left ? share : left;
        left -= aside->share[i];
        note_region(node, i);
    }
}

void aside_close(struct node *node)
{
    free(node->aside.slot);
    node->aside.slot = NULL;
}

static uint64_t late_after_ns(const struct node *node)
{
    return node->options.silent_after_ns / LATE_PART;
}

/* A member was not heard for a while, or has not acknowledged an own batch of a while ago. */
static bool somebody_is_late(const struct node *node)
{
    const struct origin *mine = &node->origin[node->my_slot];
    const uint64_t late_ns = late_after_ns(node);
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_needed(member) && (!member->heard_ns || node->now_ns - member->heard_ns > late_ns))
            return true;
    }
    return !list_empty(&mine->log) &&
           node->now_ns - LIST_OWNER(mine->log.next, const struct batch, link)->at_ns > late_ns;
}

void aside_step(struct node *node)
{
    struct aside *aside = &node->aside;
    bool late = node->life.state == PEER_ACTIVE && !node->sharing.alone && somebody_is_late(node);
    aside->late_ns = late ? node->now_ns : aside->late_ns;
    if (!aside->on) {
        aside->on = late && begin(node);
        if (aside->on)
            aside_forget(node);
        return;
    }
    if (node->now_ns - aside->late_ns > CALM_INTERVALS * node->options.interval_ns || node->sharing.alone)
        aside->on = false;
    else if (aside->members != members_hash(node))
        aside_forget(node);
}

/* ---- keys ---- */

static uint64_t ticks_up(const struct limit *limit, uint64_t ns)
{
    uint64_t whole = whole_ticks(limit, ns);
    return whole == ns ? ns : whole + limit->tick_ns;
}

/*
 * By the weights of the limit's rule, if it has some: all parts of one list add up to the whole, and those of two lists
 * may not.
 */
static uint64_t share_of(const struct node *node, const struct limit *limit, uint32_t member)
{
    const struct aside *aside = &node->aside;
    if (!limit_home_is_list(limit->home))
        return aside->share[member];
    const struct weight_list *list = weight_list_of(node, limit);
    if (!list || aside->sharers[member] == 0 || aside->region[member] >= node->options.region_count)
        return 0;
    return list->weight[aside->region[member]] / aside->sharers[member];
}

static int64_t owed(const struct node *node, const struct aside_key *key, uint32_t s, uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[key->limit];
    const struct debt *debt = &key->debt[s];
    uint64_t ticks = now_ns > debt->at_ns ? (now_ns - debt->at_ns) / limit->tick_ns : 0, refill;
    if (debt->units == 0 || s == STREAM_OTHERS || key->member[s] == 0)
        return debt->units;
    if (__builtin_mul_overflow(ticks, (uint64_t)limit->units_per_tick, &refill) || refill > UNITS_MOST)
        refill = UNITS_MOST;
    int64_t paid = units_times((int64_t)refill, share_of(node, limit, key->member[s] - 1));
    return paid < debt->units ? debt->units - paid : 0;
}

/* Both must be within DEBTS_MOST. */
static int64_t debts_added(int64_t a, int64_t b)
{
    return a > DEBTS_MOST - b ? DEBTS_MOST : a + b;
}

static int64_t owed_by_all(const struct node *node, const struct aside_key *key, uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[key->limit];
    int64_t sum = 0;
    for (uint32_t s = 0; s < STREAMS; s++)
        sum = debts_added(sum, owed(node, key, s, whole_ticks(limit, now_ns)));
    return sum;
}

static void owe(const struct node *node, struct aside_key *key, uint32_t s, int64_t units, uint64_t at_ns)
{
    const struct limit *limit = &node->limits.limit[key->limit];
    struct debt *debt = &key->debt[s];
    at_ns = ticks_up(limit, at_ns > key->since_ns ? at_ns : key->since_ns);
    at_ns = at_ns > debt->at_ns ? at_ns : debt->at_ns;
    *debt = (struct debt){.units = debts_added(owed(node, key, s, at_ns), units), .at_ns = at_ns};
}

static struct aside_key *slot_of(const struct aside *aside, struct key_id id)
{
    uint64_t index = id.high & aside->mask;
    while (aside->slot[index].epoch == aside->epoch && !key_id_equal(aside->slot[index].id, id))
        index = (index + 1) & aside->mask;
    return &aside->slot[index];
}

/*
 * A key without a place here was not charged since the table was turned on. Such a key is full
 * after the time in which its largest possible debt of that moment refills: no bucket owes more
 * than -E, unless it was converted.
 */
static void begin_key(struct node *node, struct aside_key *key, const struct entry *entry, int64_t settled)
{
    const struct aside *aside = &node->aside;
    const struct limit *limit = &node->limits.limit[entry->limit];
    uint64_t full_ns = limit_refill_ns(limit, limit->capacity_units + limit->debt_units);
    *key =
        (struct aside_key){.id = entry->id, .epoch = aside->epoch, .limit = entry->limit, .since_ns = node->now_ns};
    key->member[0] = (uint8_t)(node->me + 1);
    if (!aside->overflowed && aside->converted_ns == 0 && node->now_ns - aside->began_ns > full_ns)
        key->since_ns = aside->began_ns + full_ns;
    else
        owe(node, key, 0, limit->capacity_units - settled, node->now_ns);
}

/* The debts of the entry under its present limit; NULL: none are noted. */
static const struct aside_key *debts_of(const struct aside *aside, const struct entry *entry)
{
    const struct aside_key *key = slot_of(aside, entry->id);
    return key->epoch == aside->epoch && key->limit == entry->limit ? key : NULL;
}

/* NULL: no place is free. `settled`: the level of the key before it is charged. */
static struct aside_key *obtain(struct node *node, const struct entry *entry, int64_t settled)
{
    struct aside *aside = &node->aside;
    struct aside_key *key = slot_of(aside, entry->id);
    bool found = key->epoch == aside->epoch;
    if (found && key->limit == entry->limit)
        return key;
    if (!found && aside->count >= (aside->mask + 1) / SLOTS_PER_KEY) {
        aside->overflowed = true;
        return NULL;
    }
    aside->count += !found;
    begin_key(node, key, entry, settled);
    return key;
}

static uint32_t stream_of(struct aside_key *key, uint32_t member)
{
    for (uint32_t s = 0; s < STREAM_OTHERS; s++) {
        if (key->member[s] == 0)
            key->member[s] = (uint8_t)(member + 1);
        if (key->member[s] == member + 1)
            return s;
    }
    return STREAM_OTHERS;
}

/* Requests convert keys between steps: all debts are forgotten then. */
static bool is_on(struct node *node)
{
    struct aside *aside = &node->aside;
    if (aside->on && (aside->converted_ns != node->converted_ns || aside->swept_ns != node->by_limit.swept_ns))
        aside_forget(node);
    return aside->on;
}

static int64_t settled_now(const struct node *node, const struct limit *limit, struct bucket bucket)
{
    (void)bucket_refill_settled(&bucket, limit, node->now_ns);
    return bucket.settled;
}

void aside_note(struct node *node, const struct entry *entry)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (is_on(node) && kind_refills(limit->kind))
        (void)obtain(node, entry, settled_now(node, limit, entry->bucket));
}

/* NULL: the debt has no place. */
static struct aside_key *owe_of(struct node *node, const struct entry *entry, int64_t settled, uint32_t member,
                                uint64_t tokens, uint64_t at_ns)
{
    struct aside *aside = &node->aside;
    const struct limit *limit = &node->limits.limit[entry->limit];
    struct aside_key *key = is_on(node) && kind_refills(limit->kind) ? obtain(node, entry, settled) : NULL;
    if (!key)
        return NULL;
    if (node->now_ns - at_ns > late_after_ns(node))
        aside->late_ns = node->now_ns;
    owe(node, key, stream_of(key, member), units_of_tokens(limit, tokens), at_ns);
    return key;
}

bool aside_owe(struct node *node, const struct entry *entry, uint32_t member, uint64_t tokens, uint64_t at_ns)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    return owe_of(node, entry, settled_now(node, limit, entry->bucket), member, tokens, at_ns) != NULL;
}

static int64_t raise_to_least(struct node *node, struct entry *entry, const struct aside_key *key, int64_t settled)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    int64_t least = limit->capacity_units - owed_by_all(node, key, node->now_ns);
    least = least < settled ? least : settled;
    int64_t charged = settled_now(node, limit, entry->bucket);
    if (least <= charged)
        return 0;
    node->stats.spared_tokens += (uint64_t)((least - charged) / limit->units_per_token);
    bucket_refill(&entry->bucket, limit, &node->by_limit.budget[entry->limit], node->now_ns);
    entry->bucket.settled = least;
    return least - charged;
}

int64_t aside_raise(struct node *node, struct entry *entry, const struct bucket *before)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (!is_on(node) || !kind_refills(limit->kind))
        return 0;
    const struct aside_key *key = debts_of(&node->aside, entry);
    return key ? raise_to_least(node, entry, key, settled_now(node, limit, *before)) : 0;
}

int64_t aside_spare(struct node *node, struct entry *entry, const struct bucket *before, uint32_t member,
                    uint64_t tokens, uint64_t at_ns)
{
    int64_t settled = settled_now(node, &node->limits.limit[entry->limit], *before);
    const struct aside_key *key = owe_of(node, entry, settled, member, tokens, at_ns);
    return key ? raise_to_least(node, entry, key, settled) : 0;
}

uint32_t aside_epoch(const struct node *node)
{
    return node->aside.epoch;
}

int64_t aside_lowers(const struct node *node, const struct entry *entry, const struct spend *own, uint32_t count)
{
    const struct aside *aside = &node->aside;
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (!aside->on || aside->converted_ns != node->converted_ns || aside->swept_ns != node->by_limit.swept_ns)
        return INT64_MAX;
    const struct aside_key *found = debts_of(aside, entry);
    if (!found)
        return INT64_MAX;
    struct aside_key key = *found;
    for (uint32_t i = 0; i < count; i++)
        if (own[i].tokens > own[i].credit)
            owe(node, &key, 0, units_of_tokens(limit, own[i].tokens - own[i].credit), own[i].expires_ns);
    int64_t least = limit->capacity_units - owed_by_all(node, &key, node->now_ns);
    int64_t settled = settled_now(node, limit, entry->bucket);
    return least < settled ? settled - least : 0;
}
