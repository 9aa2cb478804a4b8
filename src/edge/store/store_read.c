/*
 * Reads rows in pages for a reader, from whole files and, as far as possible, from damaged ones.
 */
#include "edge/store/store_file.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_VERSIONS = 1024,
    PAGE_COUNTERS = 4096,
    PAGE_TEXT_BYTES = 4 << 20,
    SLICE_FILE_BYTES = 512, /* bytes of the file per slice of a rescue: eight slices to a page */
    SLICE_BITS_MIN = 12,    /* for a small file that was once large */
    SLICE_BITS_MAX = 24,
    COUNTER_COLUMNS = 10, /* those of parts come behind, if the statement has them */
};

/* The content of a page: versions with copies of their texts, or counters. */
struct page {
    struct rule_record *version;
    struct store_counter *counter;
    struct store_part (*part)[STORE_PARTS_MAX]; /* of each counter */
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

/* Adds a version to the page. False: it is larger than a page's room, so this program did not write
 * it. */
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

/* Reads all versions. STORE_FILE_DAMAGED: a row has a wrong seal, or reading stopped before the
 * end. */
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

/* Reads counters from the statement's position to its end. Returns the code with which the
 * statement ended. */
static int read_rows(struct sqlite3_stmt *row, struct page *page, const struct store_reader *reader,
                     uint64_t wall_ns, bool *damaged)
{
    int code;
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        struct store_counter *counter = &page->counter[page->count];
        bool whole = store_rows_take_counter(row, counter);
        if (whole && sqlite3_column_count(row) > COUNTER_COLUMNS)
            whole = store_parts_take(row, COUNTER_COLUMNS, counter, page->part[page->count]);
        *damaged = *damaged || !whole;
        if (whole && counter->until_wall_ns > wall_ns && ++page->count == PAGE_COUNTERS)
            tell_counters(page, reader);
    }
    return code;
}

static const char select_counters[] =
    "SELECT counter.*, " STORE_PARTS_COLUMNS " FROM counter " STORE_PARTS_JOIN " ORDER BY counter.id";

static enum store_file_status read_counters(struct store_file *file, struct page *page,
                                            const struct store_reader *reader, uint64_t wall_ns)
{
    struct sqlite3_stmt *row = NULL;
    bool damaged = false;
    int code = sqlite3_prepare_v2(file->db, select_counters, -1, &row, NULL);
    if (code == SQLITE_OK)
        code = read_rows(row, page, reader, wall_ns, &damaged);
    tell_counters(page, reader);
    (void)sqlite3_finalize(row);
    return code != SQLITE_DONE ? store_rows_failed(file, code)
           : damaged           ? store_rows_failed(file, SQLITE_CORRUPT)
                               : STORE_FILE_GOOD;
}

static bool page_init(struct page *page)
{
    *page = (struct page){.text_room = PAGE_TEXT_BYTES};
    page->version = calloc(PAGE_VERSIONS, sizeof *page->version);
    page->counter = calloc(PAGE_COUNTERS, sizeof *page->counter);
    page->part = calloc(PAGE_COUNTERS, sizeof *page->part);
    page->text = malloc(page->text_room);
    return page->version && page->counter && page->part && page->text;
}

static void page_close(struct page *page)
{
    free(page->version);
    free(page->counter);
    free(page->part);
    free(page->text);
}

enum store_file_status store_file_read(struct store_file *file, const struct store_reader *reader, uint64_t wall_ns)
{
    struct page page;
    enum store_file_status versions = STORE_FILE_FAILED, counters = STORE_FILE_FAILED;
    if (page_init(&page)) {
        versions = read_versions(file, &page, reader, false);
        counters = read_counters(file, &page, reader, wall_ns);
    } else {
        (void)snprintf(file->failure, sizeof file->failure, "out of memory");
    }
    page_close(&page);
    return versions != STORE_FILE_GOOD ? versions : counters;
}

/* ---- rescue from a damaged file ---- */

/*
 * The number of leading bits of counters' ids that make slices small beside a page. Ids are hashes,
 * so slices are even. A slice is read until a page is missing, so each missing page hides little
 * more than itself.
 */
static int slice_bits(const struct store_file *file)
{
    int bits = SLICE_BITS_MIN;
    while (bits < SLICE_BITS_MAX && store_file_bytes(file) >> bits > SLICE_FILE_BYTES)
        bits++;
    return bits;
}

static void rescue_counters(struct store_file *file, struct page *page, const struct store_reader *reader,
                            uint64_t wall_ns)
{
    struct sqlite3_stmt *row = NULL;
    bool damaged = false;
    const char *sql = "SELECT * FROM counter WHERE id BETWEEN ?1 AND ?2 ORDER BY id";
    int code = sqlite3_prepare_v2(file->db, sql, -1, &row, NULL), bits = slice_bits(file);
    for (uint64_t slice = 0; code == SQLITE_OK && slice >> bits == 0; slice++) {
        uint64_t from = slice << (64 - bits), to = from | UINT64_MAX >> bits;
        store_rows_bind_id(row, 1, (struct key_id){from, 0});
        store_rows_bind_id(row, 2, (struct key_id){to, UINT64_MAX});
        (void)read_rows(row, page, reader, wall_ns, &damaged);
        (void)sqlite3_reset(row);
    }
    tell_counters(page, reader);
    (void)sqlite3_finalize(row);
}

void store_file_rescue(struct store_file *file, const struct store_reader *reader, uint64_t wall_ns)
{
    struct page page;
    if (page_init(&page)) {
        if (read_versions(file, &page, reader, false) != STORE_FILE_GOOD)
            (void)read_versions(file, &page, reader, true);
        rescue_counters(file, &page, reader, wall_ns);
    }
    page_close(&page);
}
