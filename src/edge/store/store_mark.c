#include "edge/store/store_mark.h"

#include "base/hash.h"
#include "edge/store/state_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    return open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, STATE_DIR_FILE_MODE);
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

/* ---- names ---- */

enum { NOTE_NAME_BYTES = 128, NOTES_OFFSET = 4096 };

struct note {
    uint64_t transaction;
    char name[NOTE_NAME_BYTES]; /* "service/id" */
    uint64_t seal;
};

static uint64_t seal_of_note(const struct note *note)
{
    static const struct hash_key key = {{3}};
    return hash_64(&key, note, offsetof(struct note, seal));
}

void store_mark_note(int file, uint64_t index, uint64_t transaction, struct bytes service, struct bytes id)
{
    struct note note = {.transaction = transaction};
    off_t at = NOTES_OFFSET + (off_t)(index % STORE_MARK_NAMES * sizeof note);
    if (file <= 0)
        return;
    (void)snprintf(note.name, sizeof note.name, "%.*s/%.*s", (int)service.size, service.data, (int)id.size,
                   id.data);
    note.seal = seal_of_note(&note);
    ssize_t written = pwrite(file, &note, sizeof note, at);
    (void)written;
}

static int by_transaction(const void *left, const void *right)
{
    const struct note *a = left, *b = right;
    return (a->transaction > b->transaction) - (a->transaction < b->transaction);
}

/* The notes of these transactions, in their order; says how many. */
static size_t read_notes(const char *path, uint64_t from, uint64_t to, struct note notes[STORE_MARK_NAMES])
{
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    size_t count = 0;
    for (size_t i = 0; file >= 0 && i < STORE_MARK_NAMES; i++) {
        struct note *note = &notes[count];
        off_t at = NOTES_OFFSET + (off_t)(i * sizeof *note);
        if (pread(file, note, sizeof *note, at) == (ssize_t)sizeof *note && note->seal == seal_of_note(note) &&
            note->transaction > from && note->transaction <= to)
            count++;
    }
    if (file >= 0)
        (void)close(file);
    qsort(notes, count, sizeof *notes, by_transaction);
    return count;
}

size_t store_mark_names(const char *path, uint64_t from, uint64_t to, char *out, size_t room)
{
    static const size_t more_bytes = sizeof " and 256 more";
    struct note notes[STORE_MARK_NAMES];
    size_t count = read_notes(path, from, to, notes), size = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        size_t needed = strnlen(notes[i].name, NOTE_NAME_BYTES - 1) + 2;
        if (size + needed + more_bytes > room) {
            (void)snprintf(out + size, room - size, " and %zu more", count - i);
            break;
        }
        size += (size_t)snprintf(out + size, room - size, "%s%.*s", i > 0 ? ", " : "", NOTE_NAME_BYTES - 1,
                                 notes[i].name);
    }
    return count;
}
