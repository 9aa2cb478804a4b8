/*
 * plane_message: the bytes of the messages about rules: adverts, questions and pages.
 *
 * The one idea: a message is read within bounds, and refused whole if a field that this release
 * knows does not fit. This file does not decide what follows from a message: plane_scan.c and
 * plane_health.c do.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_MESSAGE_H
#define HEADGATE_CLUSTER_PLANE_PLANE_MESSAGE_H

#include <stdbool.h>

struct effects;
struct envelope;
struct node;

/*
 * Reads a message about rules and hands its content on. The message must have come as the event of
 * its kind. False: the body is malformed.
 */
bool plane_receive(struct node *node, const struct envelope *envelope, struct effects *effects);
void plane_advertise(struct node *node, struct effects *effects);
void plane_ask(struct node *node, struct effects *effects);

#endif
