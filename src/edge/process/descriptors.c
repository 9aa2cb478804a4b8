#include "edge/process/descriptors.h"

#include <sys/resource.h>
#include <sys/stat.h>

struct descriptors descriptors_count(void)
{
    struct descriptors count = {0};
    struct rlimit limit;
    struct stat directory;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        count.max = limit.rlim_cur;
    if (stat("/proc/self/fd", &directory) == 0 && directory.st_size > 0)
        count.open = (uint64_t)directory.st_size;
    return count;
}
