/*
 * contest: a floor for each region. Where regions ask for more of a key than there is, each gets its weight's part of
 * the refill if it asks for it. Tokens that one region leaves, others may have.
 *
 * The one idea: a node that is refused though it has not had its part says so, and how many tokens must be left for its
 * requests to be admitted. Peers that have had their parts then take nothing until that node is not short any more, and
 * leave those tokens for some time after. A contest only refuses more, so the arguments of docs/accounting.md need not
 * mention it. A part is a credit, which grows by this node's share of the refill and falls by what it admits. This file
 * spends nothing.
 */
#ifndef HEADGATE_CLUSTER_SPEND_CONTEST_H
#define HEADGATE_CLUSTER_SPEND_CONTEST_H

#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"

#include <stdbool.h>
#include <stdint.h>

struct bucket;
struct charge;

#define CONTEST_SAMPLE_NS UINT64_C(1000000)

static inline _Atomic uint64_t *contest_word(struct node *node, struct key_id id)
{
    return &node->contests.mark[id.low >> 6 & (CONTEST_MARKS - 1)];
}

/* False: nobody contends for the key. */
static inline bool contest_concerns(struct node *node, struct key_id id)
{
    return __builtin_expect(atomic_load_explicit(&node->contests.some, memory_order_relaxed), 0) &&
           (atomic_load_explicit(contest_word(node, id), memory_order_relaxed) >> (id.low & 63) & 1) != 0;
}

/* True for one refusal of this thread in a while: the full kernel should look at it. */
static inline bool contest_samples(const struct node *node, struct thread_state *thread, uint64_t now_ns)
{
    if (now_ns - thread->sampled_ns < CONTEST_SAMPLE_NS)
        return false;
    thread->sampled_ns = now_ns;
    return node->rights.shared;
}

/* ---- the caller has locked the key ---- */

/*
 * The rule refuses the charge. Notes whether this node is short of its part. `bucket` is refilled.
 */
void contest_note_refused(struct node *node, const struct charge *charge, uint64_t now_ns);
/*
 * The rule admits the charge, and the key is marked. 0: it may be made; else it must not, since others are short of
 * their parts: for how long, about.
 */
uint64_t contest_holds_ns(struct node *node, const struct charge *charge, const struct bucket *bucket,
                          uint64_t now_ns);
/* True if a peer is short of its part of the key now. The caller holds the lock of vouchers. */
bool contest_others_short(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns);
/* The charge was made: takes it off the credit. Returns how many units it took. */
int64_t contest_take(struct node *node, const struct charge *charge, uint64_t now_ns);
/* The charge was taken back at once: gives back what contest_take took. */
void contest_put_back(struct node *node, const struct charge *charge, int64_t units);

#endif
