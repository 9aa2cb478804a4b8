/*
 * pay: rounds through the table, in which keys with waiting spends are looked at.
 *
 * The one idea: what was marked before the last round and not since is paid off, if news of all
 * others until then has come. waits.h has what one key waits with.
 */
#ifndef HEADGATE_CLUSTER_LOG_PAY_H
#define HEADGATE_CLUSTER_LOG_PAY_H

struct node;

/* Looks at what has waited to be paid off. */
void pay_step(struct node *node);

#endif
