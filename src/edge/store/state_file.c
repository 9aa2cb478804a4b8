#include "edge/store/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static bool read_all(int file, char *bytes, size_t room, size_t *size)
{
    ssize_t got = 1;
    for (*size = 0; *size < room && got > 0; *size += got > 0 ? (size_t)got : 0)
        got = pread(file, bytes + *size, room - *size, (off_t)*size);
    return got >= 0;
}

static bool write_all(int file, struct bytes bytes)
{
    ssize_t put = 1;
    for (size_t done = 0; done < bytes.size && put > 0; done += put > 0 ? (size_t)put : 0)
        put = write(file, bytes.data + done, bytes.size - done);
    return put > 0;
}

/* STATE_FILE_READ: it is open, and the caller must close it. */
static enum state_file open_to_read(const char *directory, const char *name, int *file, char flaw[STATE_FLAW_BYTES])
{
    char path[PATH_BYTES];
    bool closed;
    if (!state_dir_guard_file(path_of(directory, name, "", path), flaw, &closed))
        return STATE_FILE_WRONG;
    *file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (*file >= 0)
        return STATE_FILE_READ;
    if (errno == ENOENT)
        return STATE_FILE_NONE;
    fail(flaw, "it cannot be read");
    return STATE_FILE_WRONG;
}

enum state_file state_file_read(const char *directory, const char *name, char *bytes, size_t room, size_t *size,
                                char flaw[STATE_FLAW_BYTES])
{
    int file;
    const enum state_file opened = open_to_read(directory, name, &file, flaw);
    if (opened != STATE_FILE_READ)
        return opened;
    const bool good = read_all(file, bytes, room, size);
    if (!good)
        fail(flaw, "it cannot be read");
    (void)close(file);
    return good ? STATE_FILE_READ : STATE_FILE_WRONG;
}

enum state_file state_file_load(const char *directory, const char *name, char **bytes, size_t *size,
                                char flaw[STATE_FLAW_BYTES])
{
    int file;
    struct stat status;
    *bytes = NULL;
    const enum state_file opened = open_to_read(directory, name, &file, flaw);
    if (opened != STATE_FILE_READ)
        return opened;
    bool good = fstat(file, &status) == 0;
    const size_t room = good ? (size_t)status.st_size : 0;
    *bytes = good ? malloc(room + 1) : NULL;
    good = *bytes != NULL && read_all(file, *bytes, room, size);
    if (!good) {
        fail(flaw, "it cannot be read");
        free(*bytes);
        *bytes = NULL;
    }
    (void)close(file);
    return good ? STATE_FILE_READ : STATE_FILE_WRONG;
}

/* The names of the directory stay what they are now. */
static bool sync_directory(const char *directory)
{
    int place = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place < 0)
        return false;
    const bool good = fsync(place) == 0;
    (void)close(place);
    return good;
}

bool state_file_write(const char *directory, const char *name, struct bytes bytes, char flaw[STATE_FLAW_BYTES])
{
    char fresh[PATH_BYTES], path[PATH_BYTES];
    (void)unlink(path_of(directory, name, ".new", fresh));
    int file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    const bool good = file >= 0 && write_all(file, bytes) && fsync(file) == 0 &&
                      rename(fresh, path_of(directory, name, "", path)) == 0;
    if (!good)
        fail(flaw, "it cannot be written");
    if (file >= 0)
        (void)close(file);
    if (good)
        (void)sync_directory(directory);
    else
        (void)unlink(fresh);
    return good;
}

bool state_file_remove(const char *directory, const char *name, char flaw[STATE_FLAW_BYTES])
{
    char path[PATH_BYTES];
    const bool removed = unlink(path_of(directory, name, "", path)) == 0;
    if (!removed && errno == ENOENT)
        return true;
    const bool good = removed && sync_directory(directory);
    if (!good)
        fail(flaw, "it cannot be removed");
    return good;
}
