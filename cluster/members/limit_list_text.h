/*
 * limit_list_text: versions of limits as text, for messages and for the store, one thing in a line:
 *
 *   version 3 81985529216486895 1764166800000 eu-1
 *   config 3 6148914691236517205
 *   limit 1000 100 1000000000 1000 50 1 default
 *   file 1229782938247303441
 *
 * that is the version's number, maker, time and author; a list that a config has or had, and the number of the version
 * for which it was of use last; a limit's capacity, rate, period, overshoot, patience, whether it is the default, and
 * its name; of the store alone the hash of the list in the file. Lines of other words are passed over: a later release
 * may write them.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_LIMIT_LIST_TEXT_H
#define HEADGATE_CLUSTER_MEMBERS_LIMIT_LIST_TEXT_H

#include "base/bytes.h"
#include "cluster/state/limit_list_state.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes a version, with the hash of the file or without. Returns the number of bytes. */
size_t limit_list_print(const struct limit_list *list, bool file, char text[LIMITS_TEXT_MAX_BYTES]);
/* False: the text is nonsense, or names limits that no config could have. */
bool limit_list_read(struct bytes text, struct limit_list *list);
/* A hash of all that a file says of its limits, their order and their patience included. */
uint64_t limit_list_hash(const struct named_limits *limits);

#endif
