/*
 * voucher: tokens that peers have granted to this node. When a request is refused for this node's share alone, the node
 * asks its peers. They spend on its behalf, in their batches (grant.h), and once those batches are applied here, the
 * node may admit requests with these tokens.
 *
 * The one idea: all daemons charge the tokens of a voucher when they are granted, so the node tells nobody when it uses
 * them. Refill that the ground truth may have lost meanwhile, because it was full, is taken off: a voucher decays at
 * the rate of its limit, from the moment of the ask, and ends after VOUCHER_LIFE_NS. docs/accounting.md, "Vouchers",
 * has the argument. Requests are in voucher.c and voucher_told.c, steps in voucher_ask.c, the memory of both in
 * voucher_places.c, and what is left of a voucher in voucher_left.c. These files spend from no bucket and send nothing.
 */
#ifndef HEADGATE_CLUSTER_SPEND_VOUCHER_H
#define HEADGATE_CLUSTER_SPEND_VOUCHER_H

#include "base/number.h"
#include "cluster/state/node_state.h"
#include "limit/kind.h"

#include <stdbool.h>
#include <stdint.h>

struct ask_record;
struct batch;
struct charge;

enum { LEAST_LEFT_BITS = 5 }; /* of a capacity: of less nobody asks for a part */

#define VOUCHER_LIFE_NS UINT64_C(4000000000)
/* A voucher of which nobody has wanted or used a token for so long is given back. */
#define VOUCHER_IDLE_NS UINT64_C(1250000000)

/* What a grant of so many tokens, less so many parts of one, is in units. `tokens` is at least 1. */
static inline int64_t grant_units(const struct limit *limit, uint64_t tokens, uint32_t spare)
{
    uint128 off = (uint128)(uint64_t)limit->units_per_token * spare >> SPARE_BITS;
    return (int64_t)tokens * limit->units_per_token - (int64_t)off;
}

enum { GRANT_WHOLE_TOKENS = 8 }; /* a grant of so many is rounded to whole ones */

/* How many units more than was wanted a grant may have, where a token has parts. */
static inline int64_t grant_rounding_units(const struct limit *limit)
{
    return limit->units_per_token > 1 ? (limit->units_per_token >> SPARE_BITS) + 2 : 0;
}

/* False: some daemon may list a grant of the limit as a spend of its own time, and so let it go too early. */
static inline bool voucher_is_understood(const struct node *node, const struct limit *limit)
{
    return !limit_is_shared_log(limit) || (limit_lists_grants(limit) && node->rights.listed);
}

/* False: there is no voucher of the key. */
static inline bool voucher_may_be_held(const struct node *node, struct key_id id)
{
    return atomic_load_explicit(&node->rights.held[id.low % HELD_MARKS], memory_order_relaxed) != 0;
}

/*
 * What vouchers pay of the limit is this node's to hold, and to give back. Of what refills that is so where all that
 * clients here take was granted: they have no tokens of another kind.
 */
static inline bool voucher_pays_own(const struct node *node, uint16_t index)
{
    const struct limit *limit = &node->limits.limit[index];
    return kind_returns_granted(limit->kind) ||
           (limit_home_is_one(limit->home) && node->by_limit.budget[index].share == 0);
}

/*
 * False: a voucher of the key cannot help a charge that was refused, and there is nothing to ask for.
 * `bucket` is refilled: the key's level, see level.h.
 */
static inline bool voucher_may_help(const struct node *node, struct key_id id, const struct bucket *bucket,
                                    const struct limit *limit, uint64_t cost)
{
    if (voucher_may_be_held(node, id))
        return true;
    if (!node->rights.shared)
        return false;
    int64_t left = bucket->settled - bucket->unsettled;
    return left >= (int64_t)cost * limit->units_per_token && left >= limit->capacity_units >> LEAST_LEFT_BITS &&
           (limit->flags & LIMIT_SPLIT) == 0;
}

/* False: no voucher ever pays for the charge. */
bool voucher_can_pay(const struct node *node, const struct charge *charge);
/* True: this node's share of the full limit does not suffice for the charge. */
bool voucher_is_beyond_share(const struct node *node, const struct charge *charge);
/*
 * For a charge that the budget does not allow: how many of its tokens the key's voucher must pay, and has. 0: the
 * voucher cannot pay for it. `take`: the tokens that are missing are noted, to be asked for. The caller has locked the
 * key; `bucket` is its level, as in voucher_may_help.
 */
uint64_t voucher_pays(struct node *node, const struct charge *charge, const struct bucket *bucket, bool take,
                      uint64_t now_ns);
/*
 * Requests that this node's share alone refuses wait here for so many tokens of the charge's key, all together: has
 * what the key's voucher lacks asked for, unless an answer is on its way. The caller has locked the key.
 */
void voucher_note_waiting(struct node *node, const struct charge *charge, uint64_t tokens, uint64_t now_ns);
/*
 * A charge whose wish was noted just now waits for its tokens, and for so many more of requests like it. False: no
 * wish was noted, as the asks of the key do not pay (voucher_loss.h).
 */
bool voucher_note_waits(struct node *node, const struct charge *charge, uint64_t more);
/* The tokens that a voucher paid, by ask. */
struct voucher_payment {
    int64_t units[VOUCHER_ASKS];
    uint64_t asked_ns; /* when the oldest of them was asked for */
};
/* Uses tokens of the key's voucher. False: there are not as many. voucher_put_back undoes it at once. */
bool voucher_use(struct node *node, const struct charge *charge, uint64_t tokens, uint64_t now_ns,
                 struct voucher_payment *payment);
void voucher_put_back(struct node *node, const struct charge *charge, const struct voucher_payment *payment);
/* Counts tokens that were paid so. `charged`: they are an own spend as well, which is counted as one. */
void voucher_note_used(struct node *node, uint64_t tokens, bool charged);
/*
 * Of a log: tokens that a charge of this moment used are an own spend, so what was granted for them ends. The caller
 * has locked the key.
 */
void voucher_tell_used(struct node *node, const struct charge *charge, uint64_t tokens, uint64_t asked_ns);
/* Of no log: tokens that a charge of this moment used may be given back by this node, and by no other. */
void voucher_own_used(struct node *node, const struct charge *charge, uint64_t tokens, uint64_t now_ns);
/* The whole tokens that are available of the charge's key: this node's `own`, and those of the key's voucher. */
uint64_t voucher_available(struct node *node, const struct charge *charge, uint64_t own, uint64_t now_ns);
/* Whole tokens of the key that may be used now. */
uint64_t voucher_tokens(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns);
/*
 * So much of the limit must be left, in units, that others' shares may pay for the charge, which has been refused, one
 * answer later, or a few; INT64_MAX: they never do. Of logs, it may be less than that if it is not more than `left`.
 */
int64_t voucher_enough_units(const struct node *node, const struct charge *charge, int64_t left);
/*
 * True: a cost of so many units is more than one ask may bring where `left` is left and held. Peers may grant all of
 * it in several asks, of which each brings about half of what is left.
 */
bool voucher_needs_rounds(const struct node *node, const struct limit *limit, int64_t cost, int64_t left);
/* The same, and so much is left that the first of these asks is worth it. */
bool voucher_rounds_suffice(const struct node *node, const struct limit *limit, int64_t cost, int64_t left);
/*
 * What peers would grant of a log of which so much is left, each of them whole tokens; 0 of a log with parts of its
 * own. `with_own`: and what this node's share would pay.
 */
int64_t voucher_of_log_units(const struct node *node, const struct limit *limit, int64_t left, bool with_own);
/*
 * What a charge that was refused may expect of its key's voucher.
 * rest_ns: a part of a charge beyond this node's share, or of one that needs several asks, has been granted: the time
 * until the rest is expected, which is asked for when the charge comes again; UINT64_MAX: nothing is granted, or too
 * little is left.
 * in_vain: no peer is asked for the charge, which this node's share of a full key could pay, since the asks of the key
 * do not pay (voucher_loss.h).
 */
struct voucher_outlook {
    uint64_t rest_ns;
    bool in_vain;
};
/* `level`: the key's, see level.h. */
struct voucher_outlook voucher_outlook(struct node *node, const struct charge *charge, const struct bucket *level,
                                       uint64_t now_ns);
/* True: others' shares never pay for the charge, not even when all peers are heard again. */
bool voucher_is_hopeless(const struct node *node, const struct charge *charge);

/* ---- steps ---- */

/* Finds out whether all peers answer asks: while one does not, of an earlier release perhaps, nobody asks. */
void voucher_look_around(struct node *node);
/* Writes the asks that are due, at most `room`, and counts them as made. The rest waits in rights.wanting. */
uint32_t voucher_ask_due(struct node *node, struct ask_record *asks, uint32_t room);
/* True: only clients of whom nothing is known want tokens. Who is refused for its cost, or waits, is no such client. */
bool voucher_wants_of_unknown(const struct node *node);
/* True: vouchers are to be looked at in the next message. */
bool voucher_wants_more(const struct node *node);
/* So many units came for the ask of the voucher. */
void voucher_receive(struct node *node, struct voucher *voucher, struct voucher_ask *ask, int64_t units);
/* All of the batch is applied: takes its grants to this node. `member`: its maker. */
void voucher_take(struct node *node, const struct batch *batch, uint32_t member);
/* True if this node has asked for tokens of the key lately: it has none to spare. */
bool voucher_asked_lately(struct node *node, struct key_id id);
/* Asks for no tokens of the key for a while: a peer that has the right of way does. */
void voucher_yield(struct node *node, struct key_id id);
/* Gives back what nobody has used of the voucher for so long that others should have it. */
void voucher_give_back_idle(struct node *node, struct voucher *voucher);
/* Gives back all vouchers: this node leaves. */
void voucher_give_back_all(struct node *node);
/* True: somebody may still answer an ask of this node. */
bool voucher_is_awaited(const struct node *node);
/* Gives the key's voucher back if nobody has used it within the last answers: a peer is short of the key. */
void voucher_give_back_for(struct node *node, struct key_id id);
/* Gives back what nobody uses, and frees the places of vouchers that have ended; of many places a part. */
void voucher_sweep(struct node *node);
/*
 * Keys have other terms than these from now on: their vouchers end. They decay by these terms, and others' views may
 * refill by faster ones, before keys have these again.
 */
void voucher_drop_limit(struct node *node, uint16_t limit);
/*
 * This node has another incarnation from now on: grants to the one before are not its own. Or it is alone, and its
 * returns do not look at vouchers.
 */
void voucher_forget(struct node *node);

#endif
