/*
 * membership: who there is, by what the config names and what messages say.
 *
 * The one idea: of two things that are said of a member, the one of the larger incarnation counts,
 * and of the same incarnation the later state (joining, active, left). Which silence counts and
 * which share follows is not decided here.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_MEMBERSHIP_H
#define HEADGATE_CLUSTER_MEMBERS_MEMBERSHIP_H

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct message;
struct node;

void membership_init(struct node *node, struct effects *effects);
/* Takes over what a message says of members; map[i] becomes the member index of its record i, or -1. */
void membership_merge(struct node *node, const struct message *message, int *map, struct effects *effects);
void membership_left(struct node *node, uint32_t index, bool forgotten, struct effects *effects, const char *why);

#endif
