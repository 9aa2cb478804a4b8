/*
 * memory_limit: how much memory the system lets this process have.
 *
 * The one idea: tables are reserved at the start and backed as keys come, so that a limit that is too small ends the
 * process days later, without a word. Whoever knows the limit at the start can say so then. Reads files of the system
 * alone, and must be asked before a sandbox refuses them.
 */
#ifndef HEADGATE_EDGE_PROCESS_MEMORY_LIMIT_H
#define HEADGATE_EDGE_PROCESS_MEMORY_LIMIT_H

#include <stdint.h>

/*
 * The least limit of the control groups that the process is in, of version 1 or 2, in bytes; UINT64_MAX: there is none,
 * or it is not known. `root` stands before the paths of the system's files: "" but in tests.
 */
uint64_t memory_limit_of_groups(const char *root);
/* The same, or what the machine has if that is less. */
uint64_t memory_limit_bytes(void);

#endif
