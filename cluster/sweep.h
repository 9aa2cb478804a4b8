/*
 * sweep: limits that nobody uses any more are freed.
 *
 * The one idea: whatever may name a limit is visited once: the config, rules, keys, rings, logs and
 * the inbox. It happens only when few numbers are left.
 */
#ifndef HEADGATE_CLUSTER_SWEEP_H
#define HEADGATE_CLUSTER_SWEEP_H

struct node;

/* Frees those that nobody uses any more, when few are left. */
void sweep_limits(struct node *node);

#endif
