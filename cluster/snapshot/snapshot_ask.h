/*
 * snapshot_ask: chooses a donor and asks it for the parts of its table.
 *
 * The one idea: a part that is too large for one answer is split into halves. A snapshot is given
 * up when its donor is not heard any more, or takes too long; a node that joins asks the next one then.
 */
#ifndef HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_ASK_H
#define HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_ASK_H

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct node;
struct part;
struct snapshot;

/* `of_store`: the donor is joining as well and is asked for the counters of its store. */
void snapshot_start(struct node *node, uint32_t donor, bool of_store);
/*
 * The active peer whose snapshot a node that joins takes; -1: none can be heard. Peers that were asked for theirs in
 * vain are passed over while there is another one.
 */
int snapshot_donor(const struct node *node);
/*
 * Another active peer that a start takes a snapshot of as well, where peers sign, so that none alone says how much is
 * left; -1: there is none, or two have given theirs.
 */
int snapshot_second(const struct node *node);
void snapshot_start_second(struct node *node, uint32_t donor, struct effects *effects);
/* That peer has given its snapshot since this node began to join. */
bool snapshot_has_given(const struct node *node, uint32_t donor);
/* The snapshot that is taken is complete. */
void snapshot_note_giver(struct node *node);
/*
 * True if a peer that gave this node its figures has left since, or has started anew. A peer that knew only that one is
 * alone from then on. It spends without telling anybody, so no batch says that the figures here lack those spends.
 */
bool snapshot_giver_is_gone(const struct node *node);
/* To be called before that donor is asked: where all were passed over, all are asked once more. */
void snapshot_choose(struct node *node, uint32_t donor);
/* The donor gave what could not be used. It is given up, and in time passed over. */
void snapshot_fails(struct node *node);
/* Asks for missing parts; finishes the snapshot when none is missing. */
void snapshot_ask(struct node *node, struct effects *effects);
/* Starts a snapshot for batches that cannot arrive any more, from an active peer that has them. */
void snapshot_catch_up(struct node *node, struct effects *effects);
/*
 * True if an answer that could not be used has just ended a snapshot: the next answer would be the
 * same.
 */
bool snapshot_was_in_vain(const struct node *node);
/* As snapshot_catch_up, while this node joins: another snapshot, after the one that it has taken. */
void snapshot_renew(struct node *node, struct effects *effects);
/* The part with that prefix that was asked for, or NULL. */
struct part *snapshot_asked(struct snapshot *snapshot, uint64_t prefix, uint32_t bits);
/* The answer is of no use yet: the part is asked for again after an interval. */
void snapshot_ask_later(const struct node *node, struct part *part);
/* The part was answered: merged, or split into halves that must be asked for. */
void snapshot_answered(struct snapshot *snapshot, struct part *part, bool is_split);

#endif
