/*
 * weights_text: versions of weights as text, one in a line, for messages and for the store:
 *
 *   base 3 81985529216486895 1764166800000 eu-1 us-east=500000000 eu-west=300000000
 *
 * that is what the version is to the writer (base, newest, floor, past), its number, its maker, its
 * time, its author, and the weights in billionths. Lines of other words are passed over: a later
 * release may write them.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_WEIGHTS_TEXT_H
#define HEADGATE_CLUSTER_MEMBERS_WEIGHTS_TEXT_H

#include "cluster/state/weights_state.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes what is known, with past versions or without. Returns the number of bytes. */
size_t weights_print(const struct weights_known *known, bool past, char text[WEIGHTS_TEXT_MAX_BYTES]);
/* False: the text is nonsense. Weights of a version that add up to more than the whole are. */
bool weights_read(struct bytes text, struct weights_known *known);

#endif
