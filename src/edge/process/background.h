/*
 * background: threads that do not interrupt the threads that serve clients.
 *
 * The one idea: the kernel mostly gives the processor at once to a thread that it wakes, and
 * interrupts the running thread. A thread of the class SCHED_BATCH gets the same share of the
 * processor, but only when the running thread pauses or its turn ends. A new thread inherits the
 * class of its creator. This needs no privileges, and changes nothing where processors are idle.
 */
#ifndef HEADGATE_EDGE_PROCESS_BACKGROUND_H
#define HEADGATE_EDGE_PROCESS_BACKGROUND_H

#include <stdbool.h>

/*
 * Gives all threads that the caller starts from now on the class SCHED_BATCH, until background_end.
 * False: the caller's class is unchanged, because an operator gave it a class other than the usual
 * one, which new threads should inherit, or because the system refuses.
 */
bool background_begin(void);

/* Must follow a background_begin that returned true. */
void background_end(void);

#endif
