#include "edge/store_mark.h"

#include "base/hash.h"
#include "edge/state_dir.h"

#include <fcntl.h>
#include <unistd.h>

#define MAGIC 0x4847415400000001u /* "HGAT", and the version of the layout */

struct mark {
    uint64_t magic, transactions, rules, seal;
};

static uint64_t seal_of(const struct mark *mark)
{
    static const struct hash_key key = {{2}};
    return hash_64(&key, mark, offsetof(struct mark, seal));
}

struct store_count store_mark_read(const char *path)
{
    struct mark mark = {0};
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    bool whole = file >= 0 && pread(file, &mark, sizeof mark, 0) == (ssize_t)sizeof mark && mark.magic == MAGIC &&
                 mark.seal == seal_of(&mark);
    if (file >= 0)
        (void)close(file);
    return whole ? (struct store_count){mark.transactions, mark.rules} : (struct store_count){0, 0};
}

int store_mark_open(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, STATE_FILE_MODE);
}

/* Writes the mark in one call, within a page. A failure, for instance on a full disk, leaves the
 * old mark. */
void store_mark_write(int file, const struct store_count *count)
{
    struct mark mark = {.magic = MAGIC, .transactions = count->transactions, .rules = count->rules};
    mark.seal = seal_of(&mark);
    ssize_t written = file > 0 ? pwrite(file, &mark, sizeof mark, 0) : 0;
    (void)written;
}
