#include "edge/process/memory_limit.h"

#include "base/number.h"
#include "edge/process/text_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUPS_MAX_BYTES = 16 << 10, LIMIT_MAX_BYTES = 64, PATH_BYTES = 4096 };

/* A file of the system as a string; NULL: it cannot be read. */
static char *read_text(const char *path, size_t bytes_max)
{
    struct error error;
    size_t size;
    char *text = text_file_read(path, bytes_max, "a text", &size, &error);
    if (text)
        text[size < bytes_max ? size : bytes_max] = '\0';
    return text;
}

/* "max" of version 2 is no number; version 1 says a number near 2^63. */
static uint64_t read_limit(const char *path)
{
    char *text = read_text(path, LIMIT_MAX_BYTES);
    uint64_t limit = UINT64_MAX;
    if (text && text[0] >= '0' && text[0] <= '9')
        limit = strtoull(text, NULL, 10);
    free(text);
    return limit;
}

/*
 * The least limit of the group and of those above it. In a container the path may be that of the machine, and the files
 * of the group are at the top: what is not there limits nothing.
 */
static uint64_t limit_up_from(const char *root, const char *tree, const char *group, const char *file)
{
    char path[PATH_BYTES];
    uint64_t least = UINT64_MAX;
    size_t size = strlen(group);
    for (bool more = true; more;) {
        while (size > 0 && group[size - 1] == '/')
            size--;
        const int written = snprintf(path, sizeof path, "%s%s%.*s/%s", root, tree, (int)size, group, file);
        if (written > 0 && (size_t)written < sizeof path)
            least = number_least(least, read_limit(path));
        more = size > 0;
        while (size > 0 && group[size - 1] != '/')
            size--;
    }
    return least;
}

/* True if the list "cpu,memory" has memory. */
static bool has_memory(const char *list, size_t size)
{
    static const char word[] = "memory";
    const size_t word_size = sizeof word - 1;
    for (size_t at = 0; at + word_size <= size; at++)
        if (strncmp(list + at, word, word_size) == 0 && (at == 0 || list[at - 1] == ',') &&
            (at + word_size == size || list[at + word_size] == ','))
            return true;
    return false;
}

uint64_t memory_limit_of_groups(const char *root)
{
    char path[PATH_BYTES], *rest = NULL;
    uint64_t least = UINT64_MAX;
    (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    char *text = read_text(path, GROUPS_MAX_BYTES);
    /* each line is "number:controllers:/group", that of version 2 "0::/group" */
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest)) {
        const char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;
        if (!group)
            continue;
        const size_t size = (size_t)(group - list - 1);
        if (size == 0)
            least = number_least(least, limit_up_from(root, "/sys/fs/cgroup", group + 1, "memory.max"));
        else if (has_memory(list + 1, size))
            least = number_least(least,
                                 limit_up_from(root, "/sys/fs/cgroup/memory", group + 1, "memory.limit_in_bytes"));
    }
    free(text);
    return least;
}

uint64_t memory_limit_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const uint64_t machine = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    return number_least(machine, memory_limit_of_groups(""));
}
