/*
 * Finds the state directory, in the order config, systemd, /var/lib, and checks files before the daemon
 * opens them.
 */
#include "edge/store/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

/* Makes the directory and its parents; only owner and group get access. False, with errno. */
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

/* NULL: the directory exists and may be written; otherwise the reason. */
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

/* Warns if other users may put files there: they could make this daemon read data that it never
 * wrote. */
static void check_others(const char *path, struct error *error)
{
    struct stat status;
    error->text[0] = '\0';
    if (stat(path, &status) != 0)
        return;
    if (status.st_uid != geteuid() && status.st_uid != 0)
        (void)error_set(error, 0, "it is another user's (%u): expected one of this daemon's own",
                        (unsigned)status.st_uid);
    else if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        (void)error_set(error, 0, "others may write it (mode %04o): expected 0750 or less",
                        (unsigned)status.st_mode & 07777u);
}

static const char *kind_of(const struct stat *status)
{
    if (S_ISLNK(status->st_mode))
        return "a symbolic link";
    if (!S_ISREG(status->st_mode))
        return "no plain file";
    if (status->st_nlink != 1)
        return "a file of several names";
    if (status->st_uid != geteuid() && status->st_uid != 0)
        return "another user's file";
    return NULL;
}

bool state_dir_guard_file(const char *path, char flaw[STATE_FLAW_BYTES], bool *closed)
{
    struct stat status;
    const char *name = strrchr(path, '/');
    *closed = false;
    if (lstat(path, &status) != 0)
        return true; /* opening the file reports the mistake, if there is one */
    const char *kind = kind_of(&status);
    if (kind) {
        (void)snprintf(flaw, STATE_FLAW_BYTES, "%.60s is %s", name ? name + 1 : path, kind);
        return false;
    }
    if ((status.st_mode & 07777 & ~(mode_t)STATE_DIR_FILE_MODE) != 0) {
        int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        *closed = file >= 0 && fchmod(file, status.st_mode & STATE_DIR_FILE_MODE) == 0;
        if (file >= 0)
            (void)close(file);
    }
    return true;
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
    if (!problem) {
        check_others(path, error);
        return STATE_DIR_READY;
    }
    if (wanted || systemd) {
        (void)error_set(error, EX_CANTCREAT, "%s is '%s': expected a directory that can be made and written (%s)",
                        wanted ? "state_dir" : "$STATE_DIRECTORY", path, problem);
        return STATE_DIR_WRONG;
    }
    (void)error_set(error, EX_CANTCREAT, "no state_dir is given, and %s cannot be used (%s)", path, problem);
    return STATE_DIR_NONE;
}
