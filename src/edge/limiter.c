#include "headgate/limiter.h"

#include "edge/memory.h"
#include "limit/limiter.h"

struct headgate_limiter *headgate_limiter_create(const struct headgate_options *options, char *error,
                                                 size_t error_room)
{
    return limiter_create(options, memory_prefer_huge_pages, error, error_room);
}
