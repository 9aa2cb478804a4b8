/*
 * background: threads that do not interrupt those that serve.
 *
 * The one idea: whom the kernel wakes up it mostly gives the processor at once, in the middle of whatever the thread
 * does that has it; not so a thread of the class SCHED_BATCH, which gets as much of the processor, but when the other
 * has paused, or had its turn. A new thread has the class of the one that starts it. No privileges are needed, and
 * where processors are idle nothing changes.
 */
#ifndef HEADGATE_EDGE_BACKGROUND_H
#define HEADGATE_EDGE_BACKGROUND_H

#include <stdbool.h>

/*
 * Threads that the calling one starts from now on are of that kind, until background_end. False: they are not, since
 * this thread has a class other than the usual one, which its operator gave it and which they shall have, too, or the
 * system does not allow it.
 */
bool background_begin(void);

/* After a background_begin that returned true. */
void background_end(void);

#endif
