#include "edge/memory.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

void memory_prefer_huge_pages(void *memory, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (0 - (uintptr_t)memory) % page;
    if (bytes < MEMORY_LARGE_BYTES || bytes < before + page)
        return;
    (void)madvise((char *)memory + before, (bytes - before) / page * page, MADV_HUGEPAGE);
}
