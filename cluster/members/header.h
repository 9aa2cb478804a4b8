/*
 * header: the head of every message: members, and how far each origin is applied.
 *
 * The one idea: a digest never says more than what its reader can have heard, so urgent spends are
 * closed into a batch before the digest is made.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_HEADER_H
#define HEADGATE_CLUSTER_MEMBERS_HEADER_H

#include "cluster/codec/message.h"
#include "cluster/node.h"

#include <stdint.h>

/* Seals the message that was written and emits it. */
void emit_message(struct node *node, const struct message_writer *writer, enum effect_kind kind,
                  const char *address);
void gossip_header(struct node *node, enum message_kind kind);
/* Also tells of which origin slots it has digests, in their order. */
void gossip_header_slots(struct node *node, enum message_kind kind, uint32_t *slots);

#endif
