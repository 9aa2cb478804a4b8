/*
 * uncharged keeps spends whose charge waits while some member is silent: the sum of each key. aside.c keeps their
 * debts by member and time, so that a late charge takes off what is not paid off by then, and no more. Only keys wait
 * whose own spends use half of what this node may spend: others lack nothing. All are charged together, in one step,
 * as soon as nobody is silent, a member starts or leaves, or figures of this node are given away.
 */
#include "cluster/apply/uncharged.h"

#include "cluster/apply/charge.h"
#include "cluster/log/aside.h"
#include "cluster/log/tell.h"
#include "cluster/spend/counters.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/spenders.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "cluster/state/step.h"
#include "limit/bucket_units.h"
#include "limit/kind.h"

#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 2 * UNCHARGED_KEYS_MAX, /* a power of two */
    USED_PART = 2,                  /* a key waits when own spends use this part of a full key's allowance */
    MAKERS = 3,                     /* of a key's spends, whose parts are known */
};

struct uncharged_key {
    struct key_id id;
    uint64_t tokens; /* 0: the slot is empty */
    uint32_t epoch;  /* aside_epoch() when the first of them was heard */
    uint16_t limit;
    uint8_t member; /* the maker of the newest of them */
    bool several;   /* some of them were told under another tier than the key had here */
    uint8_t maker[MAKERS];
    uint64_t made[MAKERS]; /* of the tokens, those of each maker; 0: a free place */
};

bool uncharged_are_some(const struct node *node)
{
    return node->uncharged.count > 0;
}

static struct uncharged_key *slot_of(const struct node *node, struct key_id id)
{
    struct uncharged_key *slot = node->uncharged.slot;
    uint64_t index = id.high % SLOTS;
    while (slot[index].tokens > 0 && !key_id_equal(slot[index].id, id))
        index = (index + 1) % SLOTS;
    return &slot[index];
}

bool uncharged_has(const struct node *node, struct key_id id)
{
    return node->uncharged.count > 0 && slot_of(node, id)->tokens > 0;
}

static uint32_t keys_max(const struct node *node)
{
    return node->step.keys / 2 < UNCHARGED_KEYS_MAX ? node->step.keys / 2 : UNCHARGED_KEYS_MAX;
}

/* Of further makers nobody knows which part is whose: they give nothing of that back. */
static void add_maker(struct uncharged_key *key, uint32_t member, uint64_t tokens)
{
    for (uint32_t i = 0; i < MAKERS && tokens > 0; i++) {
        if (key->made[i] > 0 && key->maker[i] != member)
            continue;
        key->maker[i] = (uint8_t)member;
        key->made[i] += tokens;
        return;
    }
}

static void note_makers(struct node *node, const struct entry *entry, const struct uncharged_key *key,
                        int64_t charged)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    for (uint32_t i = 0; i < MAKERS && charged > 0; i++) {
        const int64_t made = units_of_tokens(limit, key->made[i]), units = made < charged ? made : charged;
        spenders_note_charge(node, entry, key->maker[i], units);
        charged -= units;
    }
}

/*
 * Debts that aside.c forgot meanwhile cannot tell what was paid off: all of the tokens count as spent now, and as the
 * debt of whatever member.
 */
static void charge(struct node *node, const struct uncharged_key *key)
{
    tell_for_room(node);
    struct entry *entry = table_obtain_nobodys(node->table, key->id, key->limit, 0, node->now_ns);
    if (!entry)
        return;
    /* own spends of the key are older than the word that it is charged */
    outbox_urge(node, entry);
    const struct limit *limit = &node->limits.limit[entry->limit];
    const struct budget *budget = &node->by_limit.budget[entry->limit];
    entry->several |= limit->of_tiers && (key->several || key->limit != entry->limit);
    charge_note_peak(node, entry);
    bucket_refill(&entry->bucket, limit, budget, node->now_ns);
    const struct bucket before = entry->bucket;
    bucket_apply(&entry->bucket, limit, budget, key->tokens, 0, node->now_ns, 0);
    charge_stop_debt(node, entry, &before);
    const int64_t charged = before.settled - entry->bucket.settled;
    if (key->epoch == aside_epoch(node))
        note_makers(node, entry, key, charged - aside_raise(node, entry, &before));
    else
        note_makers(node, entry, key,
                    charged - aside_spare(node, entry, &before, key->member, key->tokens, node->now_ns));
    counters_mark_dirty(node, entry);
}

void uncharged_charge(struct node *node)
{
    struct uncharged *uncharged = &node->uncharged;
    if (uncharged->count == 0)
        return;
    for (uint32_t i = 0; i < SLOTS; i++)
        if (uncharged->slot[i].tokens > 0)
            charge(node, &uncharged->slot[i]);
    memset(uncharged->slot, 0, SLOTS * sizeof *uncharged->slot);
    step_works(node, uncharged->count);
    uncharged->count = 0;
    todo_add(&node->todo, DO_ANSWER); /* others wait for the word that all is charged */
}

/* Changes when a member starts, becomes active, leaves, or is not needed any more. */
static uint64_t members_hash(const struct node *node)
{
    uint64_t hash = node->member_end;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        uint64_t bits =
            (uint64_t)member->state * 4 + (member_needed(member) ? 2 : 0) + (member->share_freed ? 1 : 0);
        hash = member_hash(hash, member, bits);
    }
    return hash;
}

/* Somebody is silent, and nobody who is heard starts or leaves. */
static bool charges_may_wait(const struct node *node)
{
    bool some_silent = false;
    if (!node->awake.somebody_silent || !may_decide(node) || node->sharing.alone || node->takeover.after_ns > 0 ||
        node->snapshot.running)
        return false;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member_needed(member))
            continue;
        some_silent |= member->silent;
        if (!member->silent && member->state != PEER_ACTIVE)
            return false;
    }
    return some_silent;
}

void uncharged_refresh(struct node *node)
{
    struct uncharged *uncharged = &node->uncharged;
    if (!charges_may_wait(node)) {
        uncharged->waits = false;
        uncharged->members = 0;
        uncharged_charge(node);
        return;
    }
    const uint64_t members = members_hash(node);
    uncharged->waits = uncharged->members == 0 || uncharged->members == members;
    uncharged->members = members;
    if (!uncharged->waits)
        uncharged_charge(node);
}

/* The maker must know that it may not settle by a digest that names what is not charged. */
static bool maker_heeds(const struct node *node, uint32_t member, const struct batch *batch)
{
    const struct member *maker = &node->member[member];
    int slot = origin_find_uid(node, batch->origin_uid);
    return maker->heeds_uncharged && !maker->silent && slot >= 0 && !origin_is_ghost(node, &node->origin[slot]);
}

/*
 * Away from a limit's home refill pays off nothing, whoever is heard, and what is given back needs a view of all
 * spends.
 */
static bool is_short(const struct node *node, const struct entry *entry)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (limit_home_is_one(limit->home) && node->by_limit.budget[entry->limit].share == 0)
        return false;
    int64_t most = budget_allowance(&node->by_limit.budget[entry->limit], limit->capacity_units);
    return entry->bucket.unsettled >= most / USED_PART;
}

/* What was granted is of those to whom it was. */
static void add_makers(const struct node *node, struct uncharged_key *key, uint32_t member,
                       const struct batch *batch, const struct spend *fresh)
{
    for (uint32_t i = 0; i < batch->grant_count && fresh->granted > 0; i++) {
        const int holder = spenders_holder(node, &batch->grant[i], key->id);
        if (holder >= 0)
            add_maker(key, (uint32_t)holder, batch->grant[i].tokens);
    }
    add_maker(key, member, spenders_own_tokens(fresh));
}

bool uncharged_takes(struct node *node, const struct entry *entry, uint32_t member, const struct batch *batch,
                     const struct spend *fresh)
{
    struct uncharged *uncharged = &node->uncharged;
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (!uncharged->waits || !kind_refills(limit->kind) || (limit->flags & LIMIT_SPLIT) != 0 ||
        fresh->tokens == 0 || fresh->returned > 0 || fresh->credit > 0 || fresh->spare > 0 ||
        !maker_heeds(node, member, batch))
        return false;
    if (!uncharged->slot)
        uncharged->slot = calloc(SLOTS, sizeof *uncharged->slot);
    if (!uncharged->slot)
        return false;
    struct uncharged_key *key = slot_of(node, entry->id);
    bool is_new = key->tokens == 0;
    if ((is_new && (uncharged->count >= keys_max(node) || !is_short(node, entry))) ||
        !aside_owe(node, entry, member, fresh->tokens, batch->at_ns))
        return false;
    if (is_new)
        *key = (struct uncharged_key){.id = entry->id, .limit = entry->limit, .epoch = aside_epoch(node)};
    uncharged->count += is_new;
    key->tokens += fresh->tokens;
    key->member = (uint8_t)member;
    key->several |= fresh->limit != entry->limit;
    add_makers(node, key, member, batch, fresh);
    node->stats.uncharged_spends++;
    return true;
}

void uncharged_close(struct node *node)
{
    free(node->uncharged.slot);
    node->uncharged.slot = NULL;
}
