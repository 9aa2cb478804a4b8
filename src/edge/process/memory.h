/*
 * memory: how the system backs large memory.
 *
 * The one idea: a table is read at random. With pages of 4 KiB nearly every access would miss the
 * processor's translation cache; huge pages avoid that. This header does not allocate.
 */
#ifndef HEADGATE_EDGE_PROCESS_MEMORY_H
#define HEADGATE_EDGE_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* The memory of this process that the system backs now; 0: the system does not say. */
uint64_t memory_resident_bytes(void);

/*
 * Asks the system for huge pages (2 MiB on most machines); without effect where the system has
 * none. A page is backed when its first byte is touched. Memory below MEMORY_LARGE_BYTES stays as
 * it is.
 */
enum { MEMORY_LARGE_BYTES = 256 << 10 };
void memory_prefer_huge_pages(void *memory, size_t bytes);

/* Returns the start of the first whole page within `memory`; *bytes becomes the size of all whole
 * pages. */
char *memory_pages(void *memory, size_t *bytes);

/*
 * Makes the system back all whole pages within `memory` now, which takes as long as zeroing them.
 * Neither reads nor writes their content, so other threads may use the memory meanwhile. Returns 0
 * or an errno: EINVAL where the system cannot do it (before Linux 5.14).
 */
int memory_populate(void *memory, size_t bytes);

#endif
