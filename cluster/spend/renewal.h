/*
 * renewal: leases that were admitted away from their home, and go on beyond the period that they began with.
 *
 * The one idea: halfway through the period a new spend takes the place of the old one, both told in one batch. The
 * lease ends with the old one until each daemon of the home says that it has applied that batch, while the old spend
 * still counts there (docs/accounting.md, "Homes"). Nothing waits here: RENEW and the end of a reservation look at the
 * digests. Leases that this node decides itself are renewed by hold_anew() in hold.h.
 */
#ifndef HEADGATE_CLUSTER_SPEND_RENEWAL_H
#define HEADGATE_CLUSTER_SPEND_RENEWAL_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct charge;
struct node;
struct renewal;
struct reservation_id;

/* True for spends that end by themselves, of which other daemons have the whole share. */
bool renewal_is_elsewhere(const struct node *node, const struct charge *charge);
/* The reservation was made just now. The caller has locked its keys, as for the next four. */
void renewal_opened(struct node *node, struct reservation_id id, const struct charge *held, size_t count);
/* A former process made it. The clock that runs while the machine sleeps is taken to have run as that of decisions. */
void renewal_taken_over(struct node *node, struct reservation_id id, const struct charge *held, size_t count);
/*
 * The reservation is to be renewed: its charges may end later from now on, if the home knows that. Else, and in time, a
 * new spend begins.
 */
void renewal_go_on(struct node *node, struct reservation_id id, struct charge *held, size_t count,
                   struct renewal *renewal, uint64_t now_ns);
/* True: nothing is awaited, or no longer, since the home has all of it in time: the charges end later from now on. */
bool renewal_confirm(const struct node *node, struct charge *held, size_t count, struct renewal *renewal,
                     uint64_t now_ns);
/* All that is urgent stands in own batches: so do all new spends. In a step. */
void renewals_are_told(struct node *node);

#endif
