#include "edge/store_file.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_VERSIONS = 1024,
    PAGE_COUNTERS = 4096,
    PAGE_TEXT_BYTES = 4 << 20,
};

/* What a page holds: versions with their texts copied, or counters. */
struct page {
    struct rule_record *version;
    struct store_counter *counter;
    size_t count, text_size, text_room;
    char *text;
};

static size_t texts_size(const struct rule_record *version)
{
    return version->service.size + version->id.size + version->author.size + version->note.size +
           version->text.size;
}

static void copy_text(struct page *page, struct bytes *text)
{
    if (text->size > 0)
        memcpy(page->text + page->text_size, text->data, text->size);
    text->data = page->text + page->text_size;
    page->text_size += text->size;
}

static void tell_versions(struct page *page, const struct store_reader *reader)
{
    if (page->count > 0 && reader->versions)
        reader->versions(reader->context, page->version, page->count);
    page->count = page->text_size = 0;
}

/* A version larger than a page's room cannot be ours: what is put is smaller. */
static bool add_version(struct page *page, const struct rule_record *version, const struct store_reader *reader)
{
    if (texts_size(version) > page->text_room)
        return false;
    if (page->count == PAGE_VERSIONS || texts_size(version) > page->text_room - page->text_size)
        tell_versions(page, reader);
    struct rule_record *copy = &page->version[page->count++];
    *copy = *version;
    copy_text(page, &copy->service);
    copy_text(page, &copy->id);
    copy_text(page, &copy->author);
    copy_text(page, &copy->note);
    copy_text(page, &copy->text);
    return true;
}

static void tell_counters(struct page *page, const struct store_reader *reader)
{
    if (page->count > 0 && reader->counters)
        reader->counters(reader->context, page->counter, page->count);
    page->count = 0;
}

/* STORE_FILE_DAMAGED when a row is not as it was written, or it could not be read to the end. */
static enum store_file_status read_versions(struct store_file *file, struct page *page,
                                            const struct store_reader *reader, bool backwards)
{
    struct sqlite3_stmt *row = NULL;
    bool damaged = false;
    const char *sql = backwards ? "SELECT * FROM version ORDER BY service DESC, id DESC, stamp DESC"
                                : "SELECT * FROM version ORDER BY service, id, stamp";
    int code = sqlite3_prepare_v2(file->db, sql, -1, &row, NULL);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        struct rule_record version;
        code = sqlite3_step(row);
        if (code == SQLITE_ROW)
            damaged = !(store_rows_take_version(row, &version) && add_version(page, &version, reader)) || damaged;
    }
    tell_versions(page, reader);
    (void)sqlite3_finalize(row);
    return code != SQLITE_DONE ? store_rows_failed(file, code)
           : damaged           ? store_rows_failed(file, SQLITE_CORRUPT)
                               : STORE_FILE_GOOD;
}

static enum store_file_status read_counters(struct store_file *file, struct page *page,
                                            const struct store_reader *reader, uint64_t wall_ns, bool backwards)
{
    struct sqlite3_stmt *row = NULL;
    bool damaged = false;
    const char *sql = backwards ? "SELECT * FROM counter ORDER BY id DESC" : "SELECT * FROM counter ORDER BY id";
    int code = sqlite3_prepare_v2(file->db, sql, -1, &row, NULL);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        struct store_counter *counter = &page->counter[page->count];
        code = sqlite3_step(row);
        if (code != SQLITE_ROW)
            break;
        bool whole = store_rows_take_counter(row, counter);
        damaged = damaged || !whole;
        if (whole && counter->until_wall_ns > wall_ns && ++page->count == PAGE_COUNTERS)
            tell_counters(page, reader);
    }
    tell_counters(page, reader);
    (void)sqlite3_finalize(row);
    return code != SQLITE_DONE ? store_rows_failed(file, code)
           : damaged           ? store_rows_failed(file, SQLITE_CORRUPT)
                               : STORE_FILE_GOOD;
}

enum store_file_status store_file_read(struct store_file *file, const struct store_reader *reader, uint64_t wall_ns,
                                       bool backwards)
{
    struct page page = {.text_room = PAGE_TEXT_BYTES};
    page.version = calloc(PAGE_VERSIONS, sizeof *page.version);
    page.counter = calloc(PAGE_COUNTERS, sizeof *page.counter);
    page.text = malloc(page.text_room);
    enum store_file_status versions = STORE_FILE_FAILED, counters = STORE_FILE_FAILED;
    if (page.version && page.counter && page.text) {
        versions = read_versions(file, &page, reader, backwards);
        counters = read_counters(file, &page, reader, wall_ns, backwards);
    } else {
        (void)snprintf(file->failure, sizeof file->failure, "out of memory");
    }
    free(page.version);
    free(page.counter);
    free(page.text);
    return versions != STORE_FILE_GOOD ? versions : counters;
}
