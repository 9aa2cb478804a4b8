/*
 * plane_change: turns an operator's change of rules from text into versions.
 *
 * The one idea: a change is read into a copy of the book and refused as a whole if any part of it
 * is wrong. plane_work.h brings it into force.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_CHANGE_H
#define HEADGATE_CLUSTER_PLANE_PLANE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct node;
struct plane_work;
struct rule_changes;
struct rule_version;
struct rulebook_rule;

void plane_change(struct node *node, const struct rule_changes *changes, struct effects *effects);
/*
 * Queues a version of a rule that this node makes by itself, with the content of `like` (NULL:
 * deleted).
 */
void plane_amend(struct node *node, const struct rulebook_rule *rule, const struct rule_version *like,
                 uint64_t lamport_step, const char *note);
/* Begins to read the change; false, with result.error: it is refused. */
bool plane_change_begin(struct node *node, struct plane_work *work);
/* Reads one unit of the change; false: it is refused. *ended: all of it is in the book. */
bool plane_change_read(struct node *node, struct plane_work *work, bool *ended);
/* To be called when the change is in force. */
void plane_change_end(struct node *node, struct plane_work *work, struct effects *effects);

#endif
