#include "edge/process/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool descriptors_open_standard(void)
{
    bool good = true;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && good; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            good = open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) == fd;
    return good;
}
