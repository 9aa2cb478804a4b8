/*
 * return: tokens are given back.
 *
 * The one idea: a token is given back once, by the node that spent it. Whoever hears of a return
 * after the spend has ended does not heed it.
 */
#ifndef HEADGATE_CLUSTER_SPEND_RETURN_H
#define HEADGATE_CLUSTER_SPEND_RETURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct charge;
struct node;

/* Gives back what a reservation holds. By whoever holds the keys. */
void return_held(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns);
/* What a reservation holds of a LOG begins anew, until `ends_ns`; false: it cannot, and ends as it would have. */
bool hold_anew(struct node *node, struct charge *charge, uint64_t ends_ns, uint64_t now_ns);

#endif
