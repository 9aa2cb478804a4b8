/*
 * sweep: frees limits that are not used any more.
 *
 * The one idea: a sweep visits each place that may name a limit once: the config, rules, keys,
 * rings, logs and the inbox. It runs only when few numbers are left.
 */
#ifndef HEADGATE_CLUSTER_SWEEP_H
#define HEADGATE_CLUSTER_SWEEP_H

struct node;

/* Frees unused limits when few numbers are left. */
void sweep_limits(struct node *node);

#endif
