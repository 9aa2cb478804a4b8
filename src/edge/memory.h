/*
 * memory: how the system backs large memory.
 *
 * A table is read at random: with pages of 4 KiB, nearly every look first misses the processor's list of pages.
 */
#ifndef HEADGATE_EDGE_MEMORY_H
#define HEADGATE_EDGE_MEMORY_H

#include <stddef.h>

/*
 * Asks for huge pages (2 MiB on most machines) where the system gives them to those who ask; harmless where it does
 * not. A page is there when its first byte is touched. Less than MEMORY_LARGE_BYTES is left as it is.
 */
enum { MEMORY_LARGE_BYTES = 256 << 10 };
void memory_prefer_huge_pages(void *memory, size_t bytes);

#endif
