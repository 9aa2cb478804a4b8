/*
 * plane_message: the bytes of messages about rules: adverts, questions, pages.
 *
 * The one idea: a message is read within bounds and counted as nonsense if anything of it does not
 * fit. What a message means is not decided here.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_MESSAGE_H
#define HEADGATE_CLUSTER_PLANE_PLANE_MESSAGE_H

#include <stdbool.h>

struct effects;
struct event;
struct node;

/* False: not of the rule plane. True: read, and understood or counted as nonsense. */
bool plane_receive(struct node *node, const struct event *event, struct effects *effects);
void plane_advertise(struct node *node, struct effects *effects);
void plane_ask(struct node *node, struct effects *effects);

#endif
