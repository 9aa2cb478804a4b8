#include "edge/process/memory.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

char *memory_pages(void *memory, size_t *bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (0 - (uintptr_t)memory) % page;
    *bytes = *bytes < before ? 0 : (*bytes - before) / page * page;
    return (char *)memory + before;
}

void memory_prefer_huge_pages(void *memory, size_t bytes)
{
    size_t whole_bytes = bytes;
    char *pages = memory_pages(memory, &whole_bytes);
    if (bytes >= MEMORY_LARGE_BYTES && whole_bytes > 0)
        (void)madvise(pages, whole_bytes, MADV_HUGEPAGE);
}

int memory_populate(void *memory, size_t bytes)
{
    char *pages = memory_pages(memory, &bytes);
    int status = 0;
    do
        status = bytes > 0 ? madvise(pages, bytes, MADV_POPULATE_WRITE) : 0;
    while (status != 0 && errno == EINTR);
    return status == 0 ? 0 : errno;
}
