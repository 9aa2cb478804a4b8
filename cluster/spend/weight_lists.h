/*
 * weight_lists: the lists of weights that rules of this node have; struct weight_list says what they are for.
 *
 * The one idea: a list is noted before the terms that name it are interned, and stays while some limit has its number.
 * Lists have fixed places; where none is free, the rule is refused.
 */
#ifndef HEADGATE_CLUSTER_SPEND_WEIGHT_LISTS_H
#define HEADGATE_CLUSTER_SPEND_WEIGHT_LISTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct node;

bool weight_lists_create(struct node *node, struct error *error);
void weight_lists_destroy(struct node *node);
/* The place of the list with that number, plus one; 0: this node knows none. */
uint16_t weight_lists_place(const struct node *node, uint64_t number);
/* True: limits should be swept, so that lists which no rule has any more make room. */
bool weight_lists_are_scarce(const struct node *node);
/* Frees the places of lists that no limit names any more. */
void weight_lists_sweep(struct node *node);

#endif
