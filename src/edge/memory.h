/*
 * memory: how the system backs large memory.
 *
 * A table is read at random: with pages of 4 KiB, nearly every look first misses the processor's list of pages.
 */
#ifndef HEADGATE_EDGE_MEMORY_H
#define HEADGATE_EDGE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* The memory of this process that the system backs now; 0: it does not say. */
uint64_t memory_resident_bytes(void);

/*
 * Asks for huge pages (2 MiB on most machines) where the system gives them to those who ask; harmless where it does
 * not. A page is there when its first byte is touched. Less than MEMORY_LARGE_BYTES is left as it is.
 */
enum { MEMORY_LARGE_BYTES = 256 << 10 };
void memory_prefer_huge_pages(void *memory, size_t bytes);

/* Where the first whole page in there begins; `bytes` become those of all whole pages. */
char *memory_pages(void *memory, size_t *bytes);

/*
 * Has the system back now all whole pages that lie in there, which takes as long as zeroing them; what they hold is
 * neither read nor written, so that others may use them meanwhile. 0, or an errno: EINVAL where it does not know how
 * (before Linux 5.14).
 */
int memory_populate(void *memory, size_t bytes);

#endif
