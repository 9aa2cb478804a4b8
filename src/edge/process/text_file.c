#include "edge/process/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

static char *read_all(FILE *file, const char *name, size_t bytes_max, const char *expected, size_t *size,
                      struct error *error)
{
    struct stat status;
    char *text = NULL;
    if (fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode)) {
        (void)error_set(error, EX_NOINPUT, "%s is a directory: expected %s", name, expected);
        return NULL;
    }
    if (!(text = malloc(bytes_max + 1))) {
        (void)error_set(error, EX_OSERR, "out of memory while reading %s", name);
        return NULL;
    }
    *size = fread(text, 1, bytes_max + 1, file);
    if (ferror(file)) {
        (void)error_set(error, EX_NOINPUT, "%s cannot be read: %s", name, strerror(errno));
        free(text);
        return NULL;
    }
    return text;
}

char *text_file_read(const char *path, size_t bytes_max, const char *expected, size_t *size, struct error *error)
{
    if (!path)
        return read_all(stdin, "stdin", bytes_max, expected, size, error);
    FILE *file = fopen(path, "rb");
    if (!file) {
        (void)error_set(error, EX_NOINPUT, "%s cannot be read: %s", path, strerror(errno));
        return NULL;
    }
    char *text = read_all(file, path, bytes_max, expected, size, error);
    (void)fclose(file);
    return text;
}

bool text_file_is_pipe(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISFIFO(status.st_mode);
}
