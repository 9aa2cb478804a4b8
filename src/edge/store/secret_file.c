#include "edge/store/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = STATE_DIR_BYTES + 40, FILE_MODE = 0600 };

static const char *path_of(const char *directory, const char *name, const char *suffix, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/%s%s", directory, name, suffix);
    return path;
}

static void fail(char flaw[STATE_FLAW_BYTES], const char *what)
{
    (void)snprintf(flaw, STATE_FLAW_BYTES, "%s: %s", what, strerror(errno));
}

enum secret_file secret_file_read(const char *directory, const char *name, char text[SECRET_FILE_BYTES],
                                  char flaw[STATE_FLAW_BYTES])
{
    char path[PATH_BYTES];
    bool closed;
    memset(text, 0, SECRET_FILE_BYTES);
    if (!state_file_prepare(path_of(directory, name, "", path), flaw, &closed))
        return SECRET_FILE_WRONG;
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && errno == ENOENT)
        return SECRET_FILE_NONE;
    const ssize_t size = file >= 0 ? pread(file, text, SECRET_FILE_BYTES - 1, 0) : -1;
    if (size < 0)
        fail(flaw, "it cannot be read");
    if (file >= 0)
        (void)close(file);
    if (size < 0)
        return SECRET_FILE_WRONG;
    return strlen(text) == (size_t)size ? SECRET_FILE_READ : secret_file_refuse(text, flaw);
}

enum secret_file secret_file_refuse(char text[SECRET_FILE_BYTES], char flaw[STATE_FLAW_BYTES])
{
    sodium_memzero(text, SECRET_FILE_BYTES);
    (void)snprintf(flaw, STATE_FLAW_BYTES, "it is not as headgated wrote it");
    return SECRET_FILE_WRONG;
}

static void sync_directory(const char *directory)
{
    int place = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place < 0)
        return;
    (void)fsync(place); /* the name */
    (void)close(place);
}

bool secret_file_write(const char *directory, const char *name, char text[SECRET_FILE_BYTES],
                       char flaw[STATE_FLAW_BYTES])
{
    char fresh[PATH_BYTES], path[PATH_BYTES];
    const size_t size = strlen(text);
    (void)unlink(path_of(directory, name, ".new", fresh));
    int file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    const bool good = file >= 0 && write(file, text, size) == (ssize_t)size && fsync(file) == 0 &&
                      rename(fresh, path_of(directory, name, "", path)) == 0;
    if (!good)
        fail(flaw, "it cannot be written");
    if (file >= 0)
        (void)close(file);
    sodium_memzero(text, SECRET_FILE_BYTES);
    if (good)
        sync_directory(directory);
    return good;
}
