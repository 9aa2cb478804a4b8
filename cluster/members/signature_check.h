/*
 * signature_check: checks signatures, a bounded number in each step.
 *
 * The one idea: a text for which a step has no check left is as if it had not come, and comes again. A member that has
 * brought many wrong signatures lately has none checked that it passes on. It learns no key: proofs.h does.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_SIGNATURE_CHECK_H
#define HEADGATE_CLUSTER_MEMBERS_SIGNATURE_CHECK_H

#include "cluster/state/node_state.h"

#include <stdbool.h>
#include <stdint.h>

struct effects;

/* To be called when a step begins. */
void signature_begin_step(struct node *node);

/* False: this node cannot check signatures, and believes members as releases before did. */
static inline bool signatures_are_checked(const struct node *node)
{
    return node->options.signing.check != NULL;
}

/* True: this step has a check left, and the bringer, below 0: nobody, has not brought many wrong signatures lately. */
bool signature_may_check(const struct node *node, int bringer);

/* True: the text has the signature of that key. Counts as one of those that a step checks, even if none is left. */
bool signature_check(struct node *node, const uint8_t *key, struct bytes text, const uint8_t *proof);

/*
 * True: the text has that member's signature. A wrong one is held against `bringer`; below 0: against nobody. False as
 * well where signature_may_check is.
 */
bool signature_check_text(struct node *node, uint32_t index, struct bytes text, const uint8_t *proof, int bringer,
                          struct effects *effects);

/* A word about that name had a wrong signature: it is counted, held against the bringer, and told now and then. */
void signature_was_wrong(struct node *node, struct bytes about, int bringer, struct effects *effects);

#endif
