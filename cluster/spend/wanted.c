/*
 * wanted keeps for each key that is refused the time when the bucket of all others would be full again, which says how
 * much it has.
 */
#include "cluster/spend/wanted.h"

#include "base/spin.h"
#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"
#include "limit/charge.h"
#include "limit/kind.h"

enum { PROBES = 4 };

/* How long the limit takes to fill; of what does not refill, how long a spend counts. */
static uint64_t fills_ns_of(const struct limit *limit, const struct charge *charge)
{
    if (kind_refills(limit->kind))
        return limit_refill_ns(limit, limit->capacity_units);
    return kind_expires(limit->kind) ? charge->window_ns : limit->period_ns;
}

/* The key's place; or one that nobody needs; or the one that is needed for the shortest time. */
static struct wanted_key *place_of(struct wanted *wanted, struct key_id id)
{
    struct wanted_key *best = &wanted->key[id.low % WANTED_KEYS_MAX];
    for (uint32_t i = 0; i < PROBES; i++) {
        struct wanted_key *key = &wanted->key[(id.low + i) % WANTED_KEYS_MAX];
        if (key->full_ns > 0 && key_id_equal(key->id, id))
            return key;
        if (key->full_ns < best->full_ns)
            best = key;
    }
    return best;
}

/* False: the others' part of the key has not so many tokens. */
static bool take(struct wanted *wanted, struct key_id id, double takes_ns, double fills_ns, uint64_t now_ns)
{
    struct wanted_key *key = place_of(wanted, id);
    const bool is_own = key->full_ns > 0 && key_id_equal(key->id, id);
    const bool is_free = key->full_ns <= now_ns;
    double full_ns = is_free ? 0 : (double)(key->full_ns - now_ns);
    if (!is_own && !is_free) /* whose place is taken begins with what it takes: it may have been here before */
        full_ns = fills_ns > takes_ns ? fills_ns - takes_ns : 0;
    full_ns += takes_ns;
    if (full_ns > fills_ns)
        return false;
    *key = (struct wanted_key){.id = id, .full_ns = now_ns + (uint64_t)full_ns};
    return true;
}

void wanted_note(struct node *node, const struct charge *charge, struct key_id id, uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    const uint64_t share = node->by_limit.budget[charge->limit].share;
    const double fills_ns = (double)fills_ns_of(limit, charge);
    if (share >= SHARE_ONE || limit->home != 0) /* weights of regions change nothing there */
        return;
    const double others = (double)(SHARE_ONE - share) / (double)SHARE_ONE;
    const double takes_ns = (double)charge->cost * fills_ns / ((double)limit->capacity * others);
    if (node->thread_count > 1)
        spin_lock(&node->wanted.locked);
    if (take(&node->wanted, id, takes_ns, fills_ns, now_ns))
        own_thread(node)->wanted_tokens += charge->cost;
    if (node->thread_count > 1)
        spin_unlock(&node->wanted.locked);
}
