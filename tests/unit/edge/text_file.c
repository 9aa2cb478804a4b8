/* Files that are read whole: at most one byte more than the caller can use, and one sentence for each mistake. */
#include "edge/process/text_file.h"
#include "tests/lib/tap.h"

#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

static size_t size_read(const char *path, size_t bytes_max)
{
    struct error error;
    size_t size = SIZE_MAX;
    char *text = text_file_read(path, bytes_max, "a text", &size, &error);
    OK(text && strncmp(text, "0123456789", size) == 0, "at most %zu bytes and one more of ten", bytes_max);
    free(text);
    return size;
}

static void refused(const char *path, const char *sentence)
{
    struct error error;
    size_t size;
    OK(!text_file_read(path, 10, "a text", &size, &error) && error.exit_status == EX_NOINPUT, "no input");
    OK_STRING(error.text, sentence, "the sentence");
}

int main(void)
{
    char path[] = "/tmp/text_file.XXXXXX";
    int fd = mkstemp(path);
    OK(fd >= 0 && write(fd, "0123456789", 10) == 10, "a file of ten bytes");
    OK_U64(size_read(path, 20), 10, "the whole file");
    OK_U64(size_read(path, 10), 10, "a file of the largest size");
    OK_U64(size_read(path, 9), 10, "a file that is too long shows that it is");
    OK_U64(size_read(path, 3), 4, "the rest of a long file is not read");
    OK(freopen(path, "rb", stdin) != NULL, "the same file as stdin");
    OK_U64(size_read(NULL, 20), 10, "stdin");
    (void)close(fd);
    (void)unlink(path);
    refused("/", "/ is a directory: expected a text");
    refused("/nonexistent/f", "/nonexistent/f cannot be read: No such file or directory");
    OK(freopen("/", "rb", stdin) != NULL, "a directory as stdin");
    refused(NULL, "stdin is a directory: expected a text");
    return tap_done();
}
