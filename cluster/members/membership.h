/*
 * membership: keeps the list of members, from the config and from messages.
 *
 * The one idea: of two records of a member the one with the larger incarnation counts, and of the
 * same incarnation the later state (joining, active, left). silence.h decides which silence counts,
 * and shares.h which share follows.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_MEMBERSHIP_H
#define HEADGATE_CLUSTER_MEMBERS_MEMBERSHIP_H

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct message;
struct node;

void membership_init(struct node *node, struct effects *effects);
/* Takes over the members of a message; map[i] becomes the member index of record i, or -1. */
void membership_merge(struct node *node, const struct message *message, int *map, struct effects *effects);
void membership_left(struct node *node, uint32_t index, bool forgotten, struct effects *effects, const char *why);

#endif
