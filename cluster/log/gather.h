/*
 * gather: takes untold spends out of their rings, and closes batches of them.
 *
 * The one idea: spends are gathered, in one step or in several, and then closed as a batch. Gathered spends are in no
 * ring and in no log: a caller that reads either must call tell_gathered() before. Which spends are gathered, and when,
 * tell.c decides.
 */
#ifndef HEADGATE_CLUSTER_LOG_GATHER_H
#define HEADGATE_CLUSTER_LOG_GATHER_H

#include <stdint.h>

struct node;
struct spend;
struct thread_state;

/* Gathers a spend that is in a ring. Closes a batch before, if as many are gathered as one may hold. */
void gather_spend(struct node *node, struct spend *spend);
/* Gathers the first spend of the thread's ring, which must not be empty. */
void gather_front(struct node *node, struct thread_state *thread);
/* Gathers the urgent spends of all threads. */
void gather_urgent(struct node *node);

/* How many urgent spends all threads have. */
uint32_t gather_urgent_count(const struct node *node);

/* Closes a batch of all gathered spends, or several: a batch is of bounded size. */
void tell_gathered(struct node *node);

#endif
