/*
 * shares: computes this node's share after members or their states have changed.
 *
 * The one idea: there may be thousands of limits, so budgets are computed again only when the
 * share, the number of peers, or being alone has changed.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_SHARES_H
#define HEADGATE_CLUSTER_MEMBERS_SHARES_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct node;

/* False: terms would name two regions of the options by one number as their home. */
bool shares_create(struct node *node, struct error *error);
/* True: the share of some member that has left for good is free since this call. */
bool shares_refresh(struct node *node);
/*
 * To be called when that member takes a part of a share of this region that it had not before. This
 * node's messages do not name the member's incarnation before they, and earlier ones, have told all
 * that this node spent by its larger share. To be called before the member has that incarnation.
 */
void shares_divide(struct node *node, uint32_t index);
/* Tells these spends, as many as one step may work on, while some member waits for that. */
void shares_tell_former(struct node *node);

#endif
