/*
 * level: what a key has left, in this node's view. Of a sliding window two cells count as one.
 *
 * The one idea: whoever asks how much a key has left gets a bucket to read, whatever the key is. Requests know the
 * window of their charge; a step knows it by what a voucher, or a peer that asks, says of it. Nothing is changed.
 */
#ifndef HEADGATE_CLUSTER_SPEND_LEVEL_H
#define HEADGATE_CLUSTER_SPEND_LEVEL_H

#include "cluster/state/rights_state.h"
#include "limit/bucket.h"

#include <stdint.h>

struct charge;
struct node;

/*
 * The cell of the window before, refilled. `absent` is what there is where the table has none; `end_ns`: when the
 * present window ends.
 */
const struct bucket *level_previous(struct node *node, struct key_id previous, uint16_t limit, uint64_t end_ns,
                                    uint64_t now_ns, struct bucket *absent);

/* The window of a charge; of one that is not sliding, none. */
struct key_window level_window(const struct charge *charge);
/* `current` is a refilled bucket of that limit. Without a window it is the level itself. */
struct bucket level_of(struct node *node, const struct bucket *current, uint16_t limit,
                       const struct key_window *window, uint64_t now_ns);

#endif
