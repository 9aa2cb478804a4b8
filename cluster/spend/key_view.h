/*
 * key_view: the key of a charge as it is now, in the table or as it would start, and whether it allows the charge.
 *
 * The one idea: the full kernel looks a key up once, and then asks the view: is the charge allowed, when may it be
 * tried again, what are the figures. The view knows every kind of limit and changed limits. It spends nothing, and it
 * knows nothing of vouchers, of isolation, or of the other charges of the request.
 */
#ifndef HEADGATE_CLUSTER_SPEND_KEY_VIEW_H
#define HEADGATE_CLUSTER_SPEND_KEY_VIEW_H

#include "limit/bucket.h"
#include "limit/sliding.h"

#include <stdbool.h>
#include <stdint.h>

struct budget;
struct charge;
struct entry;
struct node;
struct verdict;

struct key_view {
    struct bucket *bucket;
    struct entry *entry;            /* NULL: not in the table, or `stays` */
    struct bucket absent, previous; /* the targets of the pointers where there is no entry */
    struct sliding sliding;         /* for sliding charges */
    const struct limit *limit;
    const struct budget *budget;
    bool stays; /* the key has another limit, and owes more than this one can: every charge is refused */
};

/*
 * Looks the charge's key up, and refills it; `take`: the table makes room for a key that is not in it. The view is
 * valid until the next table_obtain.
 */
void key_view_look(struct node *node, const struct charge *charge, bool take, uint64_t now_ns,
                   struct key_view *view);
/* The key has another limit than its rule, or its tier, has now: converts its state to that of the charge. */
void key_view_convert(struct node *node, struct entry *entry, const struct charge *charge, uint64_t now_ns);
/* Who sees the whole limit as its own. */
extern const struct budget key_view_whole;

/* What is left of the key, to be read: of a sliding charge of both cells. */
struct bucket key_view_level(const struct key_view *view, const struct charge *charge, uint64_t now_ns);
/* True if that budget allows the charge; what a voucher pays is not asked. */
bool key_view_allows(const struct key_view *view, const struct charge *charge, const struct budget *budget,
                     uint64_t now_ns);
/* True: all of the limit is in a region that is not heard, so that this node can have nothing of it. */
bool key_view_home_is_gone(const struct node *node, const struct charge *charge);
/* Writes the present figures, and that the charge is allowed. */
void key_view_show(const struct key_view *view, const struct charge *charge, uint64_t now_ns,
                   struct verdict *verdict);
/*
 * Writes the present figures, and why and for how long the charge is refused. `rest_ns`: until what a part of it was
 * granted for is expected; UINT64_MAX: nothing is. `in_vain`: no peer is asked, see voucher_loss.h.
 */
void key_view_show_refused(const struct node *node, const struct key_view *view, const struct charge *charge,
                           uint64_t rest_ns, bool in_vain, uint64_t now_ns, struct verdict *verdict);

#endif
