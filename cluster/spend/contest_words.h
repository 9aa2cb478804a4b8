/*
 * contest_words: says to peers where this node is short of its part, and hears where they are.
 *
 * The one idea: a word names a key and a level: so many tokens must be left for this node's requests to be admitted.
 * Peers that have had their parts leave them (contest.h). Words travel as asks with the number 0. Only steps call this
 * file. It holds nobody back.
 */
#ifndef HEADGATE_CLUSTER_SPEND_CONTEST_WORDS_H
#define HEADGATE_CLUSTER_SPEND_CONTEST_WORDS_H

#include <stdint.h>

struct ask_record;
struct node;

/* Writes what peers should know, at most `room`, as asks with the number 0, and counts it as said. */
uint32_t contest_words_due(struct node *node, struct ask_record *asks, uint32_t room);
/* A peer says that it is short of its part of the key. `index`: the limit of its terms. */
void contest_hear(struct node *node, const struct ask_record *ask, uint16_t index);

#endif
