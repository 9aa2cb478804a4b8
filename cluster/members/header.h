/*
 * header: the head of every message: members, and how far each origin is applied.
 *
 * The one idea: a digest must not overtake spends that its reader has to know first, so urgent
 * spends are closed into a batch before the digest is made.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_HEADER_H
#define HEADGATE_CLUSTER_MEMBERS_HEADER_H

#include "cluster/codec/message.h"
#include "cluster/node.h"

#include <stdint.h>

struct member;

/* Seals the written message and emits it. */
void header_emit(struct node *node, const struct message_writer *writer, enum effect_kind kind);
/* Seals the written message and asks that member with it. */
void header_ask(struct node *node, const struct message_writer *writer, const struct member *member);
void header_begin(struct node *node, enum message_kind kind);
/* Also gives the origin slots of the digests, in their order. */
void header_begin_slots(struct node *node, enum message_kind kind, uint32_t *slots);

#endif
