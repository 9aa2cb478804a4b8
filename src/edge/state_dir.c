#include "edge/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

/* It and what is above it; only its owner and group may look at it. False with errno set. */
static bool make_all(const char *path)
{
    char part[STATE_DIR_BYTES];
    (void)snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return mkdir(part, 0750) == 0 || errno == EEXIST;
}

/* What is wrong with it, or NULL: it is there and may be written. */
static const char *prepare(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 && !make_all(path))
        return strerror(errno);
    if (stat(path, &status) != 0)
        return strerror(errno);
    if (!S_ISDIR(status.st_mode))
        return strerror(ENOTDIR);
    return faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0 ? NULL : strerror(errno);
}

enum state_dir state_dir_find(const struct state_dir_options *options, char path[STATE_DIR_BYTES],
                              struct error *error)
{
    const char *problem;
    int size;
    if (strcmp(options->wanted, "none") == 0)
        return STATE_DIR_OFF;
    bool wanted = options->wanted[0] != '\0';
    bool systemd = !wanted && options->systemd && options->systemd[0];
    if (wanted)
        size = snprintf(path, STATE_DIR_BYTES, "%s", options->wanted);
    else if (systemd)
        size = snprintf(path, STATE_DIR_BYTES, "%.*s", (int)strcspn(options->systemd, ":"), options->systemd);
    else
        size = snprintf(path, STATE_DIR_BYTES, "%s/%s", options->parent, options->node);
    if (size < 0 || size >= STATE_DIR_BYTES)
        problem = strerror(ENAMETOOLONG);
    else if (options->node[0] == '.' && !wanted && !systemd)
        problem = "the node's name begins with a dot";
    else
        problem = prepare(path);
    if (!problem)
        return STATE_DIR_READY;
    if (wanted || systemd) {
        (void)error_set(error, EX_CANTCREAT, "%s is '%s': expected a directory that can be made and written (%s)",
                        wanted ? "state_dir" : "$STATE_DIRECTORY", path, problem);
        return STATE_DIR_WRONG;
    }
    (void)error_set(error, EX_CANTCREAT, "no state_dir is given, and %s cannot be used (%s)", path, problem);
    return STATE_DIR_NONE;
}
