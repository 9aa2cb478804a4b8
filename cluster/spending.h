/*
 * spending: what the files of the request path do for each other, file by file: keys are decided over, and what is
 * spent from them recorded, to be told later or never. Only for the files of the cluster: parts.h includes it.
 *
 * The one idea: what is done to a key is done by whoever holds its lock, and noted in the thread's own lane. What only
 * steps do, and what makes and ends a node, is said to be alone.
 */
#ifndef HEADGATE_CLUSTER_SPENDING_H
#define HEADGATE_CLUSTER_SPENDING_H

#include "cluster/state.h"

/* ---- lane.c: what threads of requests have of their own ---- */
/* Alone, as the next. */
bool lanes_create(struct node *node);
void lanes_destroy(struct node *node);
/* This thread's. */
struct lane *own_lane(const struct node *node);
/* What the lanes want becomes what the node wants. Alone. */
void lanes_gather(struct node *node);

/* ---- record.c: what is spent or given back is noted ---- */
/* What is spent from the key now can be told, to peers and to the store. */
bool can_record(const struct node *node, const struct entry *entry);
/* Notes what was spent from the key, or given back, for the next batch and the store; there is room. */
void record_spend(struct node *node, struct entry *entry, uint64_t tokens);
/* `until_ns`: of a LOG: when others stop to take notice of it. */
void record_return(struct node *node, struct entry *entry, uint64_t tokens, uint64_t credit, uint64_t until_ns);
/* The key was charged under that budget: it is recorded, told soon if little is left, and counted. */
void note_charged(struct node *node, struct entry *entry, const struct budget *budget, uint64_t cost,
                  uint64_t now_ns);
/* What is untold of the key is told as soon as can be. */
void hurry_if_untold(struct node *node, struct entry *entry);

/* ---- untold.c: own spends that are recorded and not told yet: those that wait, in the table, others in rings ---- */
/* Alone, as the next. */
bool untold_create(struct node *node);
void untold_destroy(struct node *node);
/*
 * The entry's key has spends that are to be told, at node->open[entry->open_index]. is_in_ring: the same, for whoever
 * knows that nothing of it waits.
 */
bool is_in_open(const struct node *node, const struct entry *entry);
bool is_in_ring(const struct node *node, const struct entry *entry);
/* It has some, or some that wait. Not: what is gathered of it, which is told without it. */
bool is_untold(const struct node *node, const struct entry *entry);
/* All that is in the rings. Alone. */
void untold_visit(const struct node *node, void (*visit)(void *context, const struct spend *spend), void *context);
/* How many there are, waiting and gathered ones included, and how many of these are in the rings. Alone. */
uint32_t untold_count(const struct node *node);
uint32_t untold_listed(const struct node *node);
/* How many places of the rings these take, with the gaps between them. Alone. */
uint64_t untold_span(const struct node *node);
/* It is a gap from now on. Alone, as the next. */
void untold_drop(struct node *node, struct spend *spend);
/* Afterwards the oldest untold spend stands at the lane's front, if there is any. */
void untold_skip_gaps(const struct node *node, struct lane *lane);
/* So many are in the rings that it is worth while to ask memory for them; does so, by table_prefetch's guess. */
bool untold_is_far(const struct node *node);
void untold_prefetch(const struct node *node, uint64_t guess);
/* So many more keys can be recorded by this thread; 0: and it may evict others, which are told then. */
bool untold_has_room(const struct node *node, uint32_t keys);
/* The key's spend in a ring, begun if there is none; there is room for one. What waits of it does so no more. */
struct spend *open_spend(struct node *node, struct entry *entry);
/* So much is untold of this thread's that it should be told now. */
bool untold_wants_push(const struct node *node);
/* If the key has untold spends, they are told with the next batch; there is room for one. */
void untold_urge(struct node *node, struct entry *entry);
/* All in the rings of keys that begin with the prefix (see table_visit) are told with the next batch. Alone. */
void untold_urge_listed(struct node *node, uint64_t prefix, unsigned prefix_bits);
/* A ring that spans more is nearly full: some requests' keys fit beyond. */
uint32_t untold_nearly_full(const struct node *node);
/* What the spend's `since` says: at most a millisecond too early, and no later than now. */
uint64_t untold_time_ns(const struct node *node, uint32_t then);
void untold_check(const struct node *node);

/* ---- pay.c: what need not be told ---- */
/* What that share of the refill pays off within an interval: so much waits instead of being told; -1: nothing does. */
int64_t soon_paid_units(const struct node *node, const struct limit *limit, uint64_t share);
/* What may be spent of that limit has changed: spends of it may wait now. Alone, as the next. */
void wait_note_limit(struct node *node, uint32_t index);
/* What refill pays off in some time is not what it was: each key that waits by now is looked at. */
void wait_carefully(struct node *node);
/* Something of the key waits. */
bool wait_has(const struct node *node, const struct entry *entry);
/* So much more was spent of the key: it waits. False: it has to be told, with what of the key waits already. */
bool wait_more(struct node *node, struct entry *entry, uint64_t tokens);
/* Of what waits, so much was not spent after all. */
void wait_less(struct entry *entry, uint64_t tokens);
/* The entry of a key that waits has another place in the table. */
void wait_moved(struct entry *entry);
/* When what waits of the key began to, at the earliest. */
uint64_t wait_since_ns(const struct node *node, const struct entry *entry);
/* The key waits no more. Returns how many tokens did. */
uint64_t wait_end(struct node *node, struct entry *entry);
/* How many keys wait. Alone, as what follows. */
uint32_t wait_count(const struct node *node);
/* Since when the oldest of them does, at the earliest. */
uint64_t wait_oldest_ns(const struct node *node);
/* When what was visited so often since it began to wait did so; the last visit may have been in this round. */
uint64_t wait_began_ns(const struct node *node, uint32_t visits);
/* Looks at what has waited to be paid off. */
void pay_step(struct node *node);
void wait_check(const struct node *node);

/* ---- decide.c: the way of a request to its decision ---- */
/* False: this node decides nothing now. */
bool may_decide(const struct node *node);
/* The time of a request: never before the last step's. */
uint64_t request_time(const struct node *node, uint64_t now_ns);
/* Asks memory for the keys of one request: worth it before they are looked up one by one. */
void touch_keys(const struct node *node, const struct charge *charges, size_t count);
/* The stripes of all keys of all charges, until table_unlock: what was decided still holds when it is charged. */
void hold_keys(struct node *node, const struct charge *charges, size_t count, struct table_held *held);
/*
 * node_decide_one by whoever holds the keys; the time is that of request_time. taken[i]: charges[i] was charged;
 * `taken` may be NULL, and is not written where nothing is taken.
 */
bool decide_held(struct node *node, const struct charge *charges, size_t count, bool take, uint64_t now_ns,
                 struct verdict *verdicts, bool *taken);

/* ---- decide_full.c: any request ---- */
/* decide_held, whatever the charges are: takes. */
bool decide_full(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns,
                 struct verdict *verdicts, bool *taken);
/* The same decision; charges nothing. */
bool peek_full(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns,
               struct verdict *verdicts);

/* ---- return.c: giving back ---- */
/* Gives back what a reservation holds. By whoever holds the keys. */
void return_held(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns);
/* What a reservation holds of a LOG begins anew, until `ends_ns`; false: it cannot, and ends as it would have. */
bool hold_anew(struct node *node, struct charge *charge, uint64_t ends_ns, uint64_t now_ns);

/* ---- reserve.c ---- */
/* How many tokens of that key reservations hold. */
uint64_t reserved_tokens(struct node *node, struct key_id id);
/* Returns what ended reservations hold. Alone, as the next. */
void reserve_step(struct node *node);
/* When the next one ends; UINT64_MAX: there is none, or no room to tell of it, which only another step makes. */
uint64_t reserve_next_ns(const struct node *node);

#endif
