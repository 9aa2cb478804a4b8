/*
 * plane_canary: watches canaries, versions of rules that count for a part of the keys, until they
 * are kept or rolled back.
 *
 * The one idea: the author of a canary acts first; other peers act when the author does not.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_CANARY_H
#define HEADGATE_CLUSTER_PLANE_PLANE_CANARY_H

struct effects;
struct node;
struct rule_version;

void plane_watch(struct node *node, const struct rule_version *version);
void plane_canary_step(struct node *node, struct effects *effects);

#endif
