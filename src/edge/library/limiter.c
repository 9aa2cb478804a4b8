#include "headgate/limiter.h"

#include "edge/process/memory.h"
#include "limit/limiter.h"

struct headgate_limiter *headgate_limiter_create(const struct headgate_options *options, char *error,
                                                 size_t error_room)
{
    return limiter_create(options, memory_prefer_huge_pages, error, error_room);
}

int headgate_limiter_populate(struct headgate_limiter *limiter)
{
    size_t bytes;
    void *memory = limiter_memory(limiter, &bytes);
    return memory_populate(memory, bytes);
}
