/*
 * handover: a member's key that follows another one of the same member.
 *
 * The one idea: the former key has signed which one follows it, and that travels with all that the new key signs. So
 * whoever knows the former key takes the new one in its place, whenever it hears of it and from whom, and from then on
 * nothing that the former key has signed counts. The former key signs once and is then destroyed: the handover is what
 * is kept.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_HANDOVER_H
#define HEADGATE_CLUSTER_MEMBERS_HANDOVER_H

#include "cluster/codec/message.h"

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct event;
struct node;

/* This node signs with another key from now on. */
void handover_begin(struct node *node, const struct event *event, struct effects *effects);
/* Adds the handover to a life that is passed on. */
void handover_say(const struct node *node, uint32_t index, struct life_record *life);
/*
 * The record has a life under another key than is known of that member. True: the known one has signed that this one
 * follows, and it is known in its place from now on. `bringer`: as in signature_check_text.
 */
bool handover_take(struct node *node, const struct member_record *record, uint32_t index, int bringer,
                   struct effects *effects);
/* The record of a member that it has brought itself, whose life is checked: keeps its handover for others. */
void handover_keep(struct node *node, const struct member_record *record, uint32_t index);
/* True: that key was the member's before the present one. */
bool handover_is_former(const struct node *node, uint32_t index, const uint8_t *key);
/* True: the former key has signed that, which is nobody's fault, and does not count. */
bool handover_was_right(const struct node *node, uint32_t index, struct bytes text, const uint8_t *proof);
/* What that member's message says of this node itself. */
void handover_heard(struct node *node, const struct member_record *record, int bringer);

#endif
