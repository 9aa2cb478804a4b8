/*
 * voucher_lack computes refill from the newest ask on, by the same clocks and as coarsely as the age of an ask, so that
 * looking often rounds up no more than looking once.
 */
#include "cluster/spend/voucher_lack.h"

#include "base/number.h"
#include "cluster/codec/batch.h"
#include "cluster/spend/deferred.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/spenders.h"
#include "cluster/spend/voucher_left.h"
#include "cluster/spend/voucher_places.h"
#include "cluster/spend/voucher_times.h"
#include "cluster/state/origin.h"
#include "limit/bucket_units.h"
#include "limit/kind.h"

/* so many gathered spends, and so many of the newest own batches, are looked at for what was spent lately */
enum { GATHERED_LOOKS = 64, BATCH_LOOKS = 4 };

/* No bucket was seen, or it may be another one than the one that was: nothing is known to be spent of it. */
#define NEVER_SEEN INT64_MAX
/* above the units of any capacity, and half of what refill counts to */
#define REFILLED_MOST (INT64_C(1) << 60)

static void count_from(const struct node *node, struct own_lack *lack, uint64_t now_ns)
{
    lack->since_ns = now_ns;
    lack->since_sleepless_ns = voucher_sleepless_ns(node);
    lack->refilled = 0;
}

void voucher_lack_init(const struct node *node, struct voucher *voucher, uint64_t now_ns)
{
    voucher->lack = (struct own_lack){.seen = NEVER_SEEN, .untold = NEVER_SEEN};
    count_from(node, &voucher->lack, now_ns);
}

static int64_t refilled(const struct node *node, const struct voucher *voucher, uint64_t now_ns)
{
    const struct own_lack *lack = &voucher->lack;
    const uint64_t age_ns = voucher_age_ns(node, lack->since_ns, lack->since_sleepless_ns, now_ns);
    return voucher_refilled_units(&node->limits.limit[voucher->limit], age_ns);
}

int64_t voucher_lack_lost(const struct node *node, const struct voucher *voucher, uint64_t now_ns)
{
    const int64_t units = refilled(node, voucher, now_ns) - voucher->lack.refilled;
    return units > voucher->lack.units ? units - voucher->lack.units : 0;
}

int64_t voucher_lack_units(const struct node *node, const struct voucher *voucher, uint64_t now_ns)
{
    const int64_t units = voucher->lack.units - (refilled(node, voucher, now_ns) - voucher->lack.refilled);
    return units > 0 ? units : 0;
}

void voucher_lack_take_off(const struct node *node, struct voucher *voucher, uint64_t now_ns)
{
    struct own_lack *lack = &voucher->lack;
    const int64_t all = refilled(node, voucher, now_ns), lost = voucher_lack_lost(node, voucher, now_ns);
    if (all <= lack->refilled)
        return;
    const int64_t left = lack->units - (all - lack->refilled);
    lack->units = left > 0 ? left : 0;
    lack->refilled = all;
    for (unsigned a = 0; a < VOUCHER_ASKS; a++)
        voucher->ask[a].lost = voucher_sum(voucher->ask[a].lost, lost);
    if (all >= REFILLED_MOST)
        count_from(node, lack, now_ns);
}

void voucher_lack_begin(const struct node *node, struct voucher *voucher)
{
    voucher_lack_take_off(node, voucher, node->now_ns);
    count_from(node, &voucher->lack, node->now_ns);
}

/* An entry that was made anew, or has had another limit, may have unsettled tokens that were not spent meanwhile. */
static bool is_another(const struct node *node, const struct voucher *voucher)
{
    const struct own_lack *lack = &voucher->lack;
    return lack->changes != table_changes(node->table, voucher->id) ||
           lack->converted_ns != __atomic_load_n(&node->converted_ns, __ATOMIC_RELAXED);
}

static int64_t own_units(const struct limit *limit, const struct spend *spend)
{
    return units_of_full_at_most(limit, spenders_own_tokens(spend));
}

/*
 * What the key's untold spend has. NEVER_SEEN: it does not count, as spends wait that will join it, and were seen as
 * unsettled tokens. Or all are heard: so exact a figure would only have a steady load ask in vain.
 */
static int64_t untold_units(const struct node *node, const struct entry *entry)
{
    if (deferred_has(node, entry) || !node->awake.somebody_silent)
        return NEVER_SEEN;
    return outbox_has_open(node, entry)
               ? own_units(&node->limits.limit[entry->limit], &node->outbox.spend[entry->open_index])
               : 0;
}

/*
 * Refill has paid off some of the unsettled tokens meanwhile. The untold spend has all that was spent since it was last
 * seen, unless it was told: voucher_lack_told sees it just before.
 */
void voucher_lack_see(const struct node *node, struct voucher *voucher, const struct bucket *bucket,
                      uint64_t now_ns)
{
    struct own_lack *lack = &voucher->lack;
    const struct entry *entry = table_find(node->table, voucher->id);
    const bool another = is_another(node, voucher);
    const int64_t seen = another ? NEVER_SEEN : lack->seen, untold_seen = another ? NEVER_SEEN : lack->untold;
    if (!kind_refills(node->limits.limit[voucher->limit].kind) || !entry || entry->limit != voucher->limit)
        return;
    lack->changes = table_changes(node->table, voucher->id);
    lack->converted_ns = __atomic_load_n(&node->converted_ns, __ATOMIC_RELAXED);
    lack->seen = bucket->unsettled;
    lack->untold = untold_units(node, entry);
    const int64_t told_more = lack->untold == NEVER_SEEN ? 0 : lack->untold - untold_seen;
    const int64_t more = bucket->unsettled - seen > told_more ? bucket->unsettled - seen : told_more;
    if (more <= 0)
        return;
    voucher_lack_take_off(node, voucher, now_ns);
    voucher_lack_used(voucher, more);
}

void voucher_lack_told(struct node *node, const struct spend *spend)
{
    struct voucher *voucher = voucher_of_key(node, spend->id);
    const struct entry *entry = voucher ? table_find(node->table, spend->id) : NULL;
    if (!entry || !outbox_has_open(node, entry) || &node->outbox.spend[entry->open_index] != spend)
        return;
    voucher_lack_see(node, voucher, &entry->bucket, node->now_ns);
    voucher->lack.untold = 0;
}

/* `units` were spent after `since_ns`: what a full bucket lacks of them by now. */
static void lack_least(const struct node *node, struct voucher *voucher, int64_t units, uint64_t since_ns)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    units -= voucher_refilled_units(limit, number_minus(node->now_ns, since_ns));
    if (units > voucher->lack.units)
        voucher->lack.units = units;
}

/* The key's spend that no batch has yet; NULL: there is none, or it was gathered with many others. */
static const struct spend *untold_spend(const struct node *node, const struct voucher *voucher,
                                        const struct entry *entry)
{
    const struct telling *telling = &node->telling;
    if (outbox_has_open(node, entry))
        return &node->outbox.spend[entry->open_index];
    for (uint32_t i = 0; i < telling->count && i < GATHERED_LOOKS; i++)
        if (key_id_equal(telling->spend[i].id, voucher->id))
            return &telling->spend[i];
    return NULL;
}

/*
 * The spends in their order, the newest first, until one that gives something back. A spend that no batch has yet may
 * be older than some batches: it has waited.
 */
void voucher_lack_see_lately(struct node *node, struct voucher *voucher, const struct entry *entry)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const struct list *log = &node->origin[node->my_slot].log;
    const struct spend *spend = untold_spend(node, voucher, entry);
    int64_t units = 0, untold = 0;
    uint64_t untold_since_ns = 0;
    unsigned looks = 0;
    voucher_lack_take_off(node, voucher, node->now_ns);
    if (!kind_refills(limit->kind) || (spend && (spend->limit != voucher->limit || spend->returned > 0)))
        return;
    if (spend) {
        untold = own_units(limit, spend);
        untold_since_ns = outbox_time_ns(node, spend->since);
        lack_least(node, voucher, untold, untold_since_ns);
    }
    for (struct list *at = log->previous; at != log && looks < BATCH_LOOKS; at = at->previous, looks++) {
        const struct batch *batch = LIST_OWNER(at, const struct batch, link);
        spend = batch_find(batch, voucher->limit, voucher->id);
        if (spend && spend->returned > 0)
            return;
        const uint64_t opened_ns = batch_opened_ns(batch);
        units = voucher_sum(units, spend ? own_units(limit, spend) : 0);
        lack_least(node, voucher, voucher_sum(units, opened_ns <= untold_since_ns ? untold : 0), opened_ns);
    }
}

void voucher_lack_used(struct voucher *voucher, int64_t units)
{
    const int64_t lacks = voucher->lack.units + units;
    voucher->lack.units = lacks < 0 ? 0 : lacks < REFILLED_MOST ? lacks : REFILLED_MOST;
}

void voucher_lack_granted(struct node *node, struct key_id id, int64_t units)
{
    struct voucher *voucher = voucher_of_key(node, id);
    if (voucher)
        voucher->lack.seen = NEVER_SEEN - units > voucher->lack.seen ? voucher->lack.seen + units : NEVER_SEEN;
}

void voucher_lack_forget(struct node *node, struct key_id id, uint64_t now_ns)
{
    vouchers_lock(node);
    struct voucher *voucher = voucher_of_key(node, id);
    if (voucher) {
        voucher_lack_take_off(node, voucher, now_ns);
        voucher->lack.units = 0;
        voucher->lack.seen = voucher->lack.untold = NEVER_SEEN;
    }
    vouchers_unlock(node);
}
