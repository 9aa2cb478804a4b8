/*
 * plane_message: the bytes of messages about rules: adverts, questions, pages.
 *
 * The one idea: a message is read within bounds and is nonsense if anything of it that this release knows does not
 * fit. What a message means is not decided here.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_MESSAGE_H
#define HEADGATE_CLUSTER_PLANE_PLANE_MESSAGE_H

#include <stdbool.h>

struct effects;
struct envelope;
struct node;

/* Takes a message of one of the kinds about rules, sent as it should be; false: its body makes no sense. */
bool plane_receive(struct node *node, const struct envelope *envelope, struct effects *effects);
void plane_advertise(struct node *node, struct effects *effects);
void plane_ask(struct node *node, struct effects *effects);

#endif
