/*
 * wanted: how many tokens requests wanted here that the whole limit had and this node's share had not.
 *
 * The one idea: a client that is refused asks again, and its requests must not count as those of many clients. So for
 * each key no more counts than the shares of all others would have admitted: the tokens that a bucket of their part of
 * the limit has, full at first. No decision reads these figures. Where many keys are refused at once, some of them
 * share a place, and count a little more.
 */
#ifndef HEADGATE_CLUSTER_SPEND_WANTED_H
#define HEADGATE_CLUSTER_SPEND_WANTED_H

#include "base/hash.h"

#include <stdint.h>

struct charge;
struct node;

/* The charge of this key was refused for this node's share alone. The caller holds no lock but the key's. */
void wanted_note(struct node *node, const struct charge *charge, struct key_id id, uint64_t now_ns);

#endif
