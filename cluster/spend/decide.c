/*
 * decide leads a request to its decision. It prefetches the keys of the request, takes their locks and calls the fast
 * kernel (decide_fast.h). Where the fast kernel leaves the request undecided, it calls the full kernel
 * (decide_full.c). It does not know the rule by which tokens are spent.
 */
#include "cluster/spend/decide.h"

#include "base/number.h"
#include "cluster/spend/decide_fast.h"
#include "cluster/spend/decide_full.h"
#include "cluster/spend/key_view.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/reserve.h"
#include "cluster/spend/wanted.h"
#include "cluster/state/node_state.h"

#include <assert.h>

uint64_t decide_time_ns(const struct node *node, uint64_t now_ns)
{
    now_ns = now_ns > node->now_ns ? now_ns : node->now_ns;
    /*
     * Once this node's right has ended, refill pays off no unsettled spends any more. The step that ends the
     * right may come late.
     */
    return now_ns < node->takeover.right_ends_ns ? now_ns : node->takeover.right_ends_ns;
}

uint64_t node_stepped_ns(const struct node *node)
{
    return node->now_ns;
}

/* ---- new keys of requests with several charges, for the fast kernel ---- */

bool fast_allows_new(const struct node *node, const struct terms *terms, struct key_id id, size_t count)
{
    const struct charge *charge = terms->charge;
    const struct bucket full = {.settled = terms->limit->capacity_units};
    return table_absent_start_full(node->table) && table_tenant_has_room(node->table, id, charge->tenant, count) &&
           bucket_allows_inline(&full, terms->limit, terms->budget, charge->cost, charge->floor_tokens);
}

static enum verdict_reason fast_reason(const struct node *node, const struct terms *terms,
                                       const struct bucket *bucket)
{
    const struct limit *limit = terms->limit;
    const struct bucket full = {.settled = limit->capacity_units};
    const uint64_t cost = terms->charge->cost;
    if (key_view_home_is_gone(node, terms->charge))
        return VERDICT_ISOLATION;
    if (!bucket_allows(&full, limit, terms->budget, cost, terms->charge->floor_tokens) &&
        voucher_is_hopeless(node, terms->charge))
        return VERDICT_TOO_LARGE;
    if (bucket->settled - bucket->unsettled < (int64_t)cost * limit->units_per_token)
        return VERDICT_CAPACITY;
    return node->awake.somebody_silent ? VERDICT_ISOLATION : VERDICT_SHARE;
}

/* noinline: refusals alone need it. */
__attribute__((noinline)) void fast_count_refused(struct node *node, struct thread_state *thread,
                                                  const struct terms *terms, const struct entry *entry,
                                                  uint64_t now_ns)
{
    const enum verdict_reason reason = fast_reason(node, terms, &entry->bucket);
    thread_count_refused(thread, reason);
    if (reason == VERDICT_SHARE)
        wanted_note(node, terms->charge, entry->id, now_ns);
}

/* noinline: hardly any key has a voucher. */
__attribute__((noinline)) void fast_add_granted(struct node *node, const struct terms *terms, struct key_id id,
                                                uint64_t now_ns, struct verdict *verdict)
{
    struct charge charge = *terms->charge;
    charge.id = id; /* that of the charge is not read */
    verdict->available_tokens = voucher_available(node, &charge, verdict->available_tokens, now_ns);
}

/* True if an earlier charge of the request has the same key. */
static bool is_repeated(const struct key_id *ids, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (key_id_equal(ids[i], ids[index]))
            return true;
    return false;
}

bool fast_obtain_all(struct node *node, const struct terms *terms, const struct key_id *ids, size_t count,
                     uint64_t now_ns, struct fast_keys *keys)
{
    for (size_t i = 0; i < count; i++)
        fast_obtain(node, &terms[i], ids[i], !keys->entry[i] && !is_repeated(ids, i), now_ns, keys, i);
    return table_absent_start_full(node->table);
}

/* ---- memory ---- */

/* keys that are prefetched together: each takes two or three cache lines */
enum { AHEAD_KEYS = 8 };
_Static_assert(CHARGES_MAX <= 2 * AHEAD_KEYS, "the keys of a request are asked for before it is decided");

/*
 * A processor loads a few cache lines side by side; a request for more of them stalls it. So a few keys are
 * prefetched at a time, in order, a few keys before they are decided.
 */
struct ahead {
    const struct key_id *ids;
    uint64_t *hints; /* of the first `asked` keys */
    uint32_t asked, count;
};

void node_prefetch_tags(const struct node *node, struct key_id id)
{
    table_prefetch_tags(node->table, id);
}

/* An entry says where its untold spend stands: that place is prefetched as well. */
static void ask_for(const struct node *node, struct ahead *ahead, uint32_t count)
{
    const struct key_id *ids = ahead->ids;
    const uint32_t first = ahead->asked;
    for (uint32_t i = first; i < first + count; i++)
        ahead->hints[i] = i > first && key_id_equal(ids[i], ids[i - 1]) ? ahead->hints[i - 1]
                                                                        : table_prefetch(node->table, ids[i]);
    if (count > 1 && outbox_is_far(node))
        for (uint32_t i = first; i < first + count; i++)
            outbox_prefetch(node, ahead->hints[i]);
    ahead->asked += count;
}

/* The next keys need no prefetch if they are the same as the last one. */
static void repeat_hints(struct ahead *ahead)
{
    for (uint32_t i = ahead->asked; i > 0 && i < ahead->count && key_id_equal(ahead->ids[i], ahead->ids[i - 1]);
         i++)
        ahead->hints[ahead->asked++] = ahead->hints[i - 1];
}

/*
 * Requests up to key `keys` are decided. Returns the key up to which requests may be decided before
 * the next call.
 */
static uint32_t reach(const struct node *node, struct ahead *ahead, uint32_t keys)
{
    while (ahead->asked < ahead->count && ahead->asked < keys + 2 * AHEAD_KEYS) {
        const uint32_t most = ahead->asked == 0 ? 2 * AHEAD_KEYS : AHEAD_KEYS;
        ask_for(node, ahead, (uint32_t)number_least(ahead->count - ahead->asked, most));
        repeat_hints(ahead);
    }
    return ahead->asked == ahead->count ? ahead->count : ahead->asked - AHEAD_KEYS;
}

/* ---- locks ---- */

void decide_lock_keys(struct node *node, const struct charge *charges, size_t count, struct table_held *held)
{
    struct key_id ids[2 * CHARGES_MAX];
    uint32_t ids_count = 0;
    held->count = 0;
    assert(count <= CHARGES_MAX);
    if (node->thread_count == 1)
        return;
    for (size_t i = 0; i < count; i++) {
        ids[ids_count++] = charges[i].id;
        if (charges[i].sliding)
            ids[ids_count++] = charges[i].previous;
    }
    table_lock(node->table, ids, ids_count, held);
}

/* ---- one request ---- */

static void fill_charges(const struct run *run, const struct key_id *ids, struct charge *charges)
{
    for (size_t i = 0; i < run->charge_count; i++) {
        charges[i] = run->charge[i];
        charges[i].id = ids[i];
    }
}

/* noinline: keeps its large frame off the fast path. */
__attribute__((noinline)) static bool decide_slowly(struct node *node, const struct run *run,
                                                    const struct key_id *ids, uint64_t now_ns,
                                                    struct verdict *verdicts)
{
    struct charge charges[CHARGES_MAX];
    struct verdict unwanted[CHARGES_MAX];
    fill_charges(run, ids, charges);
    verdicts = verdicts ? verdicts : unwanted;
    return decide_full(node, charges, run->charge_count, run->take, now_ns, verdicts, NULL, run->await);
}

/* ---- runs ---- */

/* How far a call of node_decide has come. */
struct deciding {
    struct ahead ahead;
    uint32_t key;  /* the first key of the next request */
    uint32_t near; /* requests whose keys end before this one may be decided */
    uint64_t now_ns;
};

static inline void come_near(const struct node *node, struct deciding *deciding, uint32_t keys)
{
    if (deciding->key + keys > deciding->near)
        deciding->near = reach(node, &deciding->ahead, deciding->key);
}

/*
 * One charge in each request, no figures; neighbours with the same key keep its lock. noinline,
 * like decide_several: each instance of the kernel has the registers and the frame that it needs.
 */
__attribute__((noinline)) static uint64_t decide_singles(struct node *node, const struct run *run,
                                                         const struct terms *terms, struct deciding *deciding)
{
    const struct key_id *ids = deciding->ahead.ids + deciding->key;
    const uint64_t *hints = deciding->ahead.hints + deciding->key;
    const bool final = terms_refuse_finally(node, run->charge);
    const uint64_t now_ns = deciding->now_ns;
    uint64_t allowed = 0;
    for (uint32_t i = 0; i < run->request_count;) {
        come_near(node, deciding, 1);
        const uint32_t end = (uint32_t)number_least(run->request_count, i + deciding->near - deciding->key);
        struct table_held held;
        held.count = 0; /* the rest is not cleared: it is large */
        deciding->key += end - i;
        for (; i < end; i++) {
            table_lock_next(node->table, ids[i], &held);
            enum fast_outcome outcome = decide_fast(node, terms, &ids[i], &hints[i], 1, final, now_ns, NULL);
            bool is_allowed = outcome == FAST_ALLOWED;
            if (__builtin_expect(outcome == FAST_UNDECIDED, 0))
                is_allowed = decide_slowly(node, run, &ids[i], now_ns, NULL);
            allowed |= (uint64_t)is_allowed << i;
        }
        table_unlock(node->table, &held);
    }
    return allowed;
}

/* noinline: keeps its large frame off the fast path. */
__attribute__((noinline)) static void lock_with_windows(struct node *node, const struct run *run,
                                                        const struct key_id *ids, struct table_held *held)
{
    struct charge charges[CHARGES_MAX];
    fill_charges(run, ids, charges);
    decide_lock_keys(node, charges, run->charge_count, held);
}

__attribute__((noinline)) static uint64_t decide_several(struct node *node, const struct run *run,
                                                         struct deciding *deciding)
{
    struct terms terms[CHARGES_MAX];
    const uint32_t count = run->charge_count;
    const bool overtakes = run->await && run->await->ahead_tokens > 0;
    const bool fast = run->take && !overtakes && terms_of(node, run->charge, count, terms);
    struct verdict *verdicts = run->verdicts;
    uint64_t allowed = 0;
    for (size_t i = 0; i < count; i++)
        assert(run->request_count == 1 || !run->charge[i].sliding); /* a window has one request */
    for (uint32_t i = 0; i < run->request_count; i++) {
        struct table_held held;
        come_near(node, deciding, count);
        const struct key_id *ids = deciding->ahead.ids + deciding->key;
        const uint64_t *hints = deciding->ahead.hints + deciding->key;
        if (run->request_count > 1 || node->thread_count == 1)
            table_lock(node->table, ids, count, &held);
        else
            lock_with_windows(node, run, ids, &held);
        bool is_allowed = (fast && decide_fast(node, terms, ids, hints, count, false, deciding->now_ns, verdicts) ==
                                       FAST_ALLOWED) ||
                          decide_slowly(node, run, ids, deciding->now_ns, verdicts);
        table_unlock(node->table, &held);
        allowed |= (uint64_t)is_allowed << i;
        deciding->key += count;
        verdicts = verdicts ? verdicts + count : NULL;
    }
    return allowed;
}

/* noinline: keeps its large frame off the fast path. */
__attribute__((noinline)) static uint64_t decide_hold(struct node *node, const struct run *run,
                                                      struct deciding *deciding)
{
    struct charge charges[CHARGES_MAX];
    assert(run->request_count == 1 && run->take && run->verdicts);
    come_near(node, deciding, run->charge_count);
    fill_charges(run, deciding->ahead.ids + deciding->key, charges);
    deciding->key += run->charge_count;
    return reserve_decide(node, charges, run->charge_count, deciding->now_ns, run->verdicts, run->hold, run->await);
}

static void decide_run(struct node *node, struct run *run, struct deciding *deciding)
{
    struct terms terms;
    assert(run->charge_count <= CHARGES_MAX && run->request_count <= NODE_EACH_MAX);
    assert(!run->await || (run->request_count == 1 && run->take && run->verdicts));
    if (run->charge_count == 1 && !run->verdicts && run->take && terms_of(node, run->charge, 1, &terms))
        run->allowed = decide_singles(node, run, &terms, deciding);
    else if (run->hold)
        run->allowed = decide_hold(node, run, deciding);
    else
        run->allowed = decide_several(node, run, deciding);
}

void node_decide(struct node *node, struct run *runs, uint32_t run_count, const struct key_id *ids, uint64_t now_ns)
{
    uint64_t hints[NODE_KEYS_MAX];
    struct deciding deciding = {.ahead = {.ids = ids, .hints = hints}, .now_ns = decide_time_ns(node, now_ns)};
    for (uint32_t i = 0; i < run_count; i++)
        deciding.ahead.count += runs[i].charge_count * runs[i].request_count;
    assert(deciding.ahead.count <= NODE_KEYS_MAX);
    /* a single key is looked up at once: there is no time for a prefetch */
    if (deciding.ahead.count == 1) {
        deciding.ahead.hints[0] = 0;
        deciding.ahead.asked = deciding.near = 1;
    }
    for (uint32_t i = 0; i < run_count; i++)
        if (runs[i].charge_count > 0 || runs[i].hold)
            decide_run(node, &runs[i], &deciding);
}

void node_count_request(struct node *node, enum verdict_reason reason, uint64_t tokens)
{
    struct thread_state *thread = own_thread(node);
    if (reason != VERDICT_ALLOWED) {
        thread_count_refused(thread, reason);
        return;
    }
    thread->admitted_requests++;
    thread->admitted_tokens += tokens;
}
