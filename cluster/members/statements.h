/*
 * statements: what members sign of what they have heard, applied and spent, for those who do not hear them.
 *
 * The one idea: a node that hears a member itself needs no signature on that member's digests and batches. A node that
 * does not hear the member believes only what the member has signed. So a statement is made and passed on only while
 * some member does not hear its maker, and costs nothing in a cluster whose members all hear each other. Lives are
 * signed apart from statements: see proofs.h.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_STATEMENTS_H
#define HEADGATE_CLUSTER_MEMBERS_STATEMENTS_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

struct digest_row;
struct effects;
struct message;
struct node;
struct statement;

/* Signs what the header says in its own row, if somebody may not hear this node; else it is empty. */
struct bytes statements_say(struct node *node, const struct message *header, const struct digest_row *row);
/* What is to be passed on of that member; empty: nothing. */
struct bytes statements_of(const struct node *node, uint32_t index);

/* Keeps the statement that the member itself has sent, to pass it on. */
void statements_keep(struct node *node, uint32_t index, struct bytes bytes, struct effects *effects);
/*
 * What `bringer` has passed on is a newer statement of that member, with its signature; else NULL. It is kept as well,
 * and valid until the next call of this file.
 */
const struct statement *statements_heed(struct node *node, uint32_t index, struct bytes bytes, int bringer,
                                        struct effects *effects);

/* The slot has another owner. */
void statements_drop(struct node *node, uint32_t index);
void statements_close(struct node *node);

#endif
