/*
 * deferred_round: goes through the table in rounds and looks at keys with waiting spends.
 *
 * The one idea: spends that were marked before the last round, and not again since, are paid off if
 * the news of all other peers until then has arrived. deferred.h keeps the waiting spends of one key.
 */
#ifndef HEADGATE_CLUSTER_LOG_DEFERRED_ROUND_H
#define HEADGATE_CLUSTER_LOG_DEFERRED_ROUND_H

struct node;

/* Looks at keys whose spends wait to be paid off. */
void deferred_step(struct node *node);

#endif
