#include "edge/process/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

/* Of later kernels than the headers may be of. */
#define RIGHT_REFER ((uint64_t)1 << 13)    /* version 2 */
#define RIGHT_TRUNCATE ((uint64_t)1 << 14) /* version 3 */
#define RIGHTS_FIRST (RIGHT_REFER - 1)     /* version 1 */

#define RIGHTS_READ ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR))
#define RIGHTS_ADD ((uint64_t)(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG) | RIGHT_TRUNCATE)
#define RIGHTS_WRITE                                                                                               \
    (RIGHTS_READ | RIGHTS_ADD |                                                                                    \
     (uint64_t)(LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_DIR))
/* A rule for a file may name these only. */
#define RIGHTS_OF_FILES ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE) | RIGHT_TRUNCATE)

/*
 * Where libraries look for their parts, names of hosts, authorities and time zones, on all kinds of Linux. The pages of
 * /proc about other processes are kept from it by their own rules.
 */
static const char *const system_paths[] = {"/usr",
                                           "/lib",
                                           "/lib64",
                                           "/etc",
                                           "/nix/store",
                                           "/gnu/store",
                                           "/proc",
                                           "/sys",
                                           "/dev/null",
                                           "/dev/urandom",
                                           "/dev/random",
                                           "/run/systemd/resolve",
                                           "/run/resolvconf",
                                           "/run/nscd",
                                           "/run/secrets",
                                           "/var/run/secrets",
                                           "/var/lib/ca-certificates"};

void fence_add(struct fence *fence, const char *path, enum fence_rights rights)
{
    if (fence->count == FENCE_PATHS_MAX || strlen(path) >= FENCE_PATH_BYTES) {
        fence->full = true;
        return;
    }
    memcpy(fence->path[fence->count], path, strlen(path) + 1);
    fence->rights[fence->count++] = rights;
}

static void add_directory(struct fence *fence, const char *path, enum fence_rights rights)
{
    char place[FENCE_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        fence_add(fence, ".", rights);
    else if (snprintf(place, sizeof place, "%.*s", slash == path ? 1 : (int)(slash - path), path) <
             FENCE_PATH_BYTES)
        fence_add(fence, place, rights);
    else
        fence->full = true;
}

void fence_add_place(struct fence *fence, const char *path, enum fence_rights rights)
{
    if (!path[0])
        return;
    add_directory(fence, path, rights);
    char *behind = realpath(path, NULL);
    if (behind != NULL && strcmp(behind, path) != 0)
        add_directory(fence, behind, rights);
    free(behind);
}

void fence_add_system(struct fence *fence)
{
    for (size_t i = 0; i < sizeof system_paths / sizeof system_paths[0]; i++)
        fence_add(fence, system_paths[i], FENCE_READ);
}

static uint64_t rights_of(enum fence_rights rights)
{
    switch (rights) {
    case FENCE_READ:
        return RIGHTS_READ;
    case FENCE_WRITE:
        return RIGHTS_WRITE;
    case FENCE_ADD:
        return RIGHTS_ADD;
    }
    return 0;
}

/* A path that cannot be opened needs no right. */
static bool add_rule(int rules, const char *path, uint64_t rights)
{
    struct stat status;
    const int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return true;
    const bool is_file = fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode);
    const struct landlock_path_beneath_attr beneath = {.allowed_access =
                                                           is_file ? rights & RIGHTS_OF_FILES : rights,
                                                       .parent_fd = fd};
    const bool good = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0;
    const int failed = errno;
    (void)close(fd);
    errno = failed;
    return good;
}

static bool enter(const struct fence *fence, int rules, uint64_t known)
{
    bool good = true;
    for (uint32_t i = 0; i < fence->count && good; i++)
        good = add_rule(rules, fence->path[i], rights_of(fence->rights[i]) & known);
    return good && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_landlock_restrict_self, rules, 0) == 0;
}

enum fence_state fence_build(const struct fence *fence)
{
    if (IS_SANITIZED)
        return FENCE_NOT_HERE;
    if (fence->full) {
        errno = E2BIG;
        return FENCE_FAILED;
    }
    const long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1)
        return errno == ENOSYS || errno == EOPNOTSUPP ? FENCE_NO_KERNEL : FENCE_FAILED;
    const uint64_t known = RIGHTS_FIRST | (version >= 2 ? RIGHT_REFER : 0) | (version >= 3 ? RIGHT_TRUNCATE : 0);
    const struct landlock_ruleset_attr handled = {.handled_access_fs = known};
    const int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled.handled_access_fs, 0);
    const bool good = rules >= 0 && enter(fence, rules, known);
    const int failed = errno;
    if (rules >= 0)
        (void)close(rules);
    errno = failed;
    return good ? FENCE_ON : FENCE_FAILED;
}
