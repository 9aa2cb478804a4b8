/*
 * snapshot merges one part of a donor's table. It first stages the donor's figures by key
 * (snapshot_stage.c). It corrects each figure by the batches in the logs: spends of others that the
 * donor did not know are charged on top; own spends that the donor has charged and that are still
 * unsettled here are given back, since settling will charge them. Then the lower of the corrected
 * figure and this node's own figure counts (I12 of docs/accounting.md). snapshot_page.c decides
 * whether a part can be merged.
 */
#include "cluster/snapshot/snapshot.h"

#include "base/number.h"
#include "cluster/apply/charge.h"
#include "cluster/apply/pages.h"
#include "cluster/apply/uncharged.h"
#include "cluster/codec/batch.h"
#include "cluster/codec/message.h"
#include "cluster/log/aside.h"
#include "cluster/log/compact.h"
#include "cluster/log/tell.h"
#include "cluster/snapshot/snapshot_page.h"
#include "cluster/snapshot/snapshot_stage.h"
#include "cluster/spend/counters.h"
#include "cluster/spend/grant.h"
#include "cluster/spend/spenders.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_lack.h"
#include "cluster/state/node_state.h"
#include "cluster/state/step.h"
#include "limit/kind.h"

#include <assert.h>
#include <string.h>

static const uint128 units_max = (uint128)1 << 61; /* more than any debt of a bucket */

static int64_t units_of_tokens(const struct limit *limit, int64_t tokens)
{
    uint64_t size = tokens < 0 ? 0 - (uint64_t)tokens : (uint64_t)tokens;
    uint128 units = (uint128)size * (uint64_t)limit->units_per_token;
    int64_t most = (int64_t)(units < units_max ? units : units_max);
    return tokens < 0 ? -most : most;
}

/* a + b, both within 2^62, limited to a level that a bucket may have. */
static int64_t add_units(int64_t a, int64_t b)
{
    int64_t sum = a + b, most = (int64_t)units_max;
    return sum > most ? most : sum < -most ? -most : sum;
}

/* A batch of this node or of another one, applied at the donor or not. */
enum correction {
    OWN_THERE,
    OWN_NOT_THERE,
    OWN_PERHAPS_THERE,
    OTHERS_NOT_THERE,
    OTHERS_PERHAPS_THERE,
    OWN_PAID,
};

/*
 * Tokens that were credited for refill, not for returns. A donor that lacks the spend has used that
 * refill for other spends.
 */
static uint64_t paid_here(const struct spend *spend)
{
    return spend->credit > spend->returned ? spend->credit - spend->returned : 0;
}

static void correct_key(struct staged *key, struct spend *spend, enum correction how)
{
    uint64_t left = spend->tokens > spend->credit ? spend->tokens - spend->credit : 0;
    uint64_t kept = spend->tokens > spend->returned ? spend->tokens - spend->returned : 0;
    uint64_t paid = paid_here(spend), returned = spend->credit - paid;
    key->returned |= how != OTHERS_NOT_THERE && how != OTHERS_PERHAPS_THERE && spend->returned > 0;
    switch (how) {
    case OWN_THERE: /* tokens that were credited are not charged again either, nor are spare parts of one */
        key->own = add_units(key->own, (int64_t)spend->tokens - (int64_t)spend->credit);
        key->spare += spend->spare;
        break;
    case OWN_PERHAPS_THERE: /* the donor's level may have all returns, and none of the spends */
        key->own = add_units(key->own, -(int64_t)returned);
        key->untold = add_units(key->untold, (int64_t)left);
        key->later = add_units(key->later, (int64_t)paid);
        key->doubted += spend->tokens + returned;
        break;
    case OWN_NOT_THERE:
        key->untold = add_units(key->untold, (int64_t)left);
        key->later = add_units(key->later, (int64_t)paid);
        break;
    case OTHERS_PERHAPS_THERE:
        key->later = add_units(key->later, (int64_t)spend->tokens);
        key->doubted += spend->tokens + spend->returned;
        break;
    case OTHERS_NOT_THERE:
        key->later = add_units(key->later, (int64_t)kept);
        break;
    case OWN_PAID:
        left = left < key->paid ? left : key->paid;
        spend->credit += left;
        key->paid -= left;
        break;
    }
}

static void correct_by_batch(const struct page *page, const struct stage *stage, struct batch *batch,
                             enum correction how)
{
    const uint64_t first = page_first(page), last = page_last(page);
    for (uint32_t i = 0, end; i < batch->spend_count; i = end) {
        end = batch_next_limit(batch, i);
        for (i = batch_first_from(batch, first, i, end); i < end && batch->spend[i].id.high <= last; i++) {
            struct staged *key = stage_find(stage, batch->spend[i].id);
            if (key)
                correct_key(key, &batch->spend[i], how);
        }
    }
}

/*
 * Batches of third peers that are applied here and not at the donor are charged on top. Own batches
 * that are applied there and unsettled here are given back, since settling will charge them.
 */
static void correct_stage(struct node *node, const struct page *page, const struct stage *stage)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        struct origin *origin = &node->origin[slot];
        if (!origin->uid)
            continue;
        LIST_EACH(struct batch, batch, &origin->log, link) {
            bool there = batch->last <= page->applied[slot];
            bool perhaps = batch->first <= page->beyond[slot];
            if (origin->mine)
                correct_by_batch(page, stage, batch,
                                 there     ? OWN_THERE
                                 : perhaps ? OWN_PERHAPS_THERE
                                           : OWN_NOT_THERE);
            else if (!there)
                correct_by_batch(page, stage, batch, perhaps ? OTHERS_PERHAPS_THERE : OTHERS_NOT_THERE);
        }
    }
}

/*
 * Refill pays off the oldest spends first. A run that is being merged already has some of the
 * batches, so its merge is given up.
 */
static void credit_what_is_paid(struct node *node, const struct page *page, const struct stage *stage)
{
    for (uint32_t slot = 0; slot < node->origin_end && stage->some_paid; slot++) {
        struct origin *origin = &node->origin[slot];
        if (!origin->mine)
            continue;
        LIST_EACH(struct batch, batch, &origin->log, link) {
            compact_forget(node, batch);
            correct_by_batch(page, stage, batch, OWN_PAID);
        }
    }
}

static bool is_staged(void *context, const struct entry *entry)
{
    return stage_find(context, entry->id) != NULL;
}

/* The tokens that are missing at that level; a part of one counts as a whole one. */
static uint64_t tokens_used(const struct limit *limit, int64_t level)
{
    int64_t used = limit->capacity_units - level;
    return used <= 0 ? 0 : (uint64_t)((used - 1) / limit->units_per_token + 1);
}

/* The level under `to` of a key with that level under `from`: used tokens stay used. */
static int64_t level_under(const struct limit *from, const struct limit *to, int64_t level)
{
    if (from == to)
        return level;
    return add_units(to->capacity_units, -units_of_tokens(to, (int64_t)tokens_used(from, level)));
}

/* Parts of a token are rounded up: no more is given back than the donor has charged. */
static int64_t own_units(const struct limit *limit, const struct staged *staged)
{
    uint64_t spare = staged->spare < UINT32_MAX ? staged->spare : UINT32_MAX;
    uint128 units = ((uint128)(uint64_t)limit->units_per_token * spare >> SPARE_BITS) + (spare > 0);
    return add_units(units_of_tokens(limit, staged->own), -(int64_t)(units < units_max ? units : units_max));
}

/*
 * The units of the donor's charge that settling will charge here. Spends of a LOG may end, here and
 * there, before they settle: all unsettled spends may be ones that the donor does not know.
 */
static int64_t own_part(const struct limit *limit, const struct bucket *bucket, const struct staged *staged)
{
    int64_t own = own_units(limit, staged), most = bucket->unsettled;
    if (kind_lists(limit->kind))
        most -= staged->untold < most ? staged->untold : most;
    return own < most ? own : most;
}

/*
 * Refill may have paid off some of a bucket's own spends here, the oldest first. The donor's bucket
 * was refilled as well, with all spends that the donor knows: the true level is the donor's, less
 * the spends that it does not know. So settling must charge no more than the tokens that are
 * unsettled now. Where some were given back, paid-off tokens cannot be told from returned ones.
 */
static int64_t own_part_unpaid(const struct limit *limit, struct bucket *bucket, struct staged *staged)
{
    int64_t own = own_units(limit, staged), untold = units_of_tokens(limit, staged->untold);
    int64_t paid = add_units(own, untold) - bucket->unsettled;
    if (!kind_refills(limit->kind) || staged->returned || paid <= 0)
        return own_part(limit, bucket, staged);
    staged->paid = (uint64_t)(paid / limit->units_per_token);
    bucket->unsettled += paid % limit->units_per_token;
    return bucket->unsettled - untold;
}

/*
 * The donor says when the spends in its log end, whoever made them. It lacks the newest spends of the log here, own
 * ones and others': those that are in none of its batches. Its times are of no use where all charges of this node are
 * added on top, or where the key has other terms here.
 */
static void lower_log(const struct node *node, const struct stage *stage, const struct staged *staged,
                      struct entry *entry, int64_t level, int64_t own)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    const bool timely = !stage->adds && staged->limit == entry->limit;
    const struct log_told told = {.parts = stage->part + staged->first_part,
                                  .count = timely ? staged->part_count : 0,
                                  .lacks_own = (uint64_t)(entry->bucket.unsettled - own),
                                  .lacks_others = (uint64_t)staged->later};
    bucket_lower_log(&entry->bucket, limit, level, &told, node->now_ns);
}

static void merge_stage(struct node *node, struct stage *stage)
{
    for (uint32_t i = 0; i < stage->count; i++) {
        struct staged *staged = &stage->staged[i];
        tell_for_room(node);
        struct entry *entry =
            table_obtain_nobodys(node->table, staged->id, staged->limit, staged->expires_ns, node->now_ns);
        const struct limit *limit = &node->limits.limit[entry->limit];
        struct bucket *bucket = &entry->bucket;
        bucket_refill(bucket, limit, &node->by_limit.budget[entry->limit], node->now_ns);
        charge_note_peak(node, entry);
        int64_t level = level_under(&node->limits.limit[staged->limit], limit, staged->settled);
        int64_t own = own_part_unpaid(limit, bucket, staged);
        if (voucher_may_be_held(node, staged->id)) /* a part of a token may be unsettled once more */
            voucher_lack_forget(node, staged->id, node->now_ns);
        level = add_units(add_units(level, -units_of_tokens(limit, staged->later)), own);
        if (stage->adds) { /* the donor may have charged some of it as well */
            level = add_units(level, bucket->settled - limit->capacity_units);
            staged->doubted += tokens_used(limit, bucket->settled);
        }
        const int64_t before = bucket->settled;
        entry->several |= limit->of_tiers; /* nobody says which tiers the key had */
        if (kind_lists(limit->kind))
            lower_log(node, stage, staged, entry, level, own);
        else
            bucket_lower_level(bucket, limit, level, node->now_ns);
        spenders_note_lowered(node, entry, before - bucket->settled);
        counters_mark_dirty(node, entry);
        stage->some_paid |= staged->paid > 0;
        charge_note_doubted(node, entry, staged->doubted);
    }
}

/*
 * The donor's figures may contain grants that no batch will tell here. A key that the part does not list was full at
 * the donor, and may have grants as well: those of a holder whose own spends the donor has not heard of.
 */
static void note_grants(struct node *node, const struct stage *stage, const struct table_owed *owed, bool dropped)
{
    for (uint32_t i = 0; i < stage->count; i++)
        if (!stage->staged[i].unlisted && kind_refills(node->limits.limit[stage->staged[i].limit].kind))
            granted_unknown_of(node, stage->staged[i].id);
    /* evicted keys, or of limits for which there is no room, or full ones */
    if (owed->refill_ns > 0 || dropped || node->rights.shared)
        granted_unknown(node);
}

/* True: one step would work on too many keys. The stage is closed, and halves of the part are asked for. */
static bool is_too_large(const struct node *node, const struct page *page, struct stage *stage)
{
    const bool too_large = stage->some_unlisted && page->bits < SNAPSHOT_PREFIX_BITS_MAX &&
                           stage->count > snapshot_page_keys_max(node);
    if (too_large)
        stage_close(stage);
    return too_large;
}

enum snapshot_merge snapshot_merge(struct node *node, const struct message *reply, const int *member_map,
                                   struct number_reader reader)
{
    struct snapshot *snapshot = &node->snapshot;
    struct page page = {.prefix = reply->page_prefix, .bits = reply->page_bits};
    struct stage stage = {0};
    uncharged_charge(node);
    if (!pages_have_room(snapshot) || !snapshot_page_digest(node, reply, member_map, &page) ||
        !snapshot_page_can_be_merged(node, &page, &stage.adds))
        return SNAPSHOT_REFUSED;
    if (snapshot_page_is_ahead(node, &page))
        return SNAPSHOT_AHEAD;
    if (!stage_page(node, reader, &stage))
        return SNAPSHOT_REFUSED;
    /* Untold spends of these keys are told first, so that batches have all spends. */
    tell_urge_part(node, page.prefix, page.bits);
    tell_urgent(node);
    stage_unlisted(node, &page, &reply->page_owed, &stage);
    if (is_too_large(node, &page, &stage))
        return SNAPSHOT_TOO_LARGE;
    node->stores.has_merged = true;
    snapshot_note_retired(node, reply, member_map);
    node->stats.parts_beyond += memcmp(page.beyond, page.applied, sizeof page.beyond) != 0;
    correct_stage(node, &page, &stage);
    table_lower(node->table, page.prefix, page.bits, &reply->page_owed, node->now_ns, is_staged, &stage);
    merge_stage(node, &stage);
    credit_what_is_paid(node, &page, &stage);
    /*
     * An unlisted key was full when the donor answered; it need not have been full at earlier
     * spends.
     */
    table_absent_are_full(node->table, node->now_ns);
    aside_forget(node);
    step_works(node, stage.count);
    snapshot_page_contains_no_more(node, &page);
    pages_add(snapshot, &page);
    note_grants(node, &stage, &reply->page_owed, stage.some_unknown);
    stage_close(&stage);
    return SNAPSHOT_MERGED;
}

/*
 * No tokens were spent since the donor's store had its counters. Unsettled own spends may be among
 * them, and are treated as if all were: settling charges them, and the lower of the two levels
 * counts.
 */
void snapshot_merge_store(struct node *node, const struct message *reply, struct number_reader reader)
{
    struct stage stage = {0};
    const bool staged = stage_page(node, reader, &stage);
    assert(staged && "out of memory");
    for (uint32_t i = 0; i < stage.count; i++) {
        stage.staged[i].own = (int64_t)LIMIT_CAPACITY_MAX;
        stage.staged[i].returned = true;
    }
    table_lower(node->table, reply->page_prefix, reply->page_bits, &reply->page_owed, node->now_ns, is_staged,
                &stage);
    merge_stage(node, &stage);
    aside_forget(node);
    step_works(node, stage.count);
    node->stores.taken_ns = node->now_ns;
    stage_close(&stage);
}
