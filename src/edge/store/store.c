/*
 * The owner's side of the store: puts into the queue under the mutex, and reads what the thread
 * reports.
 */
#include "edge/store/store.h"

#include "edge/process/clock.h"
#include "edge/store/store_writer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <uv.h>

static void set_error(const struct store *store, enum store_file_status status, struct error *error)
{
    (void)
        error_set(error, EX_CANTCREAT, "state_dir: %s cannot be used (%s): expected %s", store->path,
                  store->file.failure,
                  status == STORE_FILE_REFUSED
                      ? "a directory of this daemon's own that it may write"
                      : "a disk that works and has room, as the daemon would begin without its rules and counters");
}

/* True: a file is there, and something is in it. */
static bool has_content(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_size > 0;
}

static bool make_queues(struct store *store)
{
    bool first = store_queue_init(&store->queue[0], store->options.counters_max, store->options.versions_max_bytes);
    bool second =
        store_queue_init(&store->queue[1], store->options.counters_max, store->options.versions_max_bytes);
    store->filling = &store->queue[0];
    store->writing = &store->queue[1];
    return first && second;
}

static void destroy(struct store **store)
{
    store_file_end(&(*store)->file);
    store_queue_close(&(*store)->queue[0]);
    store_queue_close(&(*store)->queue[1]);
    uv_mutex_destroy(&(*store)->mutex);
    uv_cond_destroy(&(*store)->work);
    free(*store);
    *store = NULL;
}

struct store *store_open(const struct store_options *options, struct error *error)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store) {
        (void)error_set(error, EX_OSERR, "out of memory for the store");
        return NULL;
    }
    store->options = *options;
    store->options.directory = NULL; /* the string belongs to the caller and is not needed again */
    int failure = uv_mutex_init(&store->mutex) | uv_cond_init(&store->work);
    assert(failure == 0);
    (void)snprintf(store->path, sizeof store->path, "%s/headgate.db", options->directory);
    if (!make_queues(store)) {
        (void)error_set(error, EX_OSERR, "out of memory for the store of %llu counters",
                        (unsigned long long)options->counters_max);
        destroy(&store);
        return NULL;
    }
    const bool has_state = has_content(store->path);
    enum store_file_status status = store_writer_open(store);
    if (status == STORE_FILE_GOOD && store->file.was_missing && options->is_expected)
        store_say(
            store, NOTICE_WARNING,
            "%.160s is missing, though a daemon has kept files beside it before: rules and counters begin anew, "
            "but for those that peers have",
            store->path);
    if (status == STORE_FILE_REFUSED || (status != STORE_FILE_GOOD && has_state)) {
        set_error(store, status, error);
        destroy(&store);
        return NULL;
    }
    if (status != STORE_FILE_GOOD)
        store_writer_failed(store, clock_monotonic_ns());
    store->wants_all = false; /* the owner has nothing to put again at the start */
    return store;
}

static bool start(struct store *store)
{
    if (!store->started)
        store->started = uv_thread_create(&store->thread, store_writer_run, store) == 0;
    return store->started;
}

bool store_read(struct store *store, const struct store_reader *reader, struct error *error)
{
    assert(!store->started);
    struct store_reader known = *reader;
    if (!store->file.settled)
        known.counters = NULL;
    if (store->file.db &&
        store_file_read(&store->file, &known, steady_wall_ns(&store->steady_wall)) != STORE_FILE_GOOD)
        store_say(store, NOTICE_WARNING, "%.100s cannot be read (%.60s)", store->path, store->file.failure);
    return start(store) || error_set(error, EX_OSERR, "cannot start a thread to write %.100s", store->path);
}

void store_put_versions(struct store *store, const struct rule_record *version, size_t count)
{
    const bool started = start(store);
    assert(started);
    uv_mutex_lock(&store->mutex);
    if (store->put == store->kept)
        store->unkept_since_ns = clock_monotonic_ns();
    store->put++;
    for (size_t i = 0; i < count; i++) {
        if (store_queue_add_version(store->filling, &version[i]))
            continue;
        store->stats.versions_dropped++;
        store->lost_versions = true;
    }
    uv_cond_signal(&store->work);
    uv_mutex_unlock(&store->mutex);
}

/* Versions that were dropped count as the next call: the owner will put everything again. */
uint64_t store_versions_put(struct store *store)
{
    uv_mutex_lock(&store->mutex);
    uint64_t number = store->put + (store->lost_versions ? 1 : 0);
    uv_mutex_unlock(&store->mutex);
    return number;
}

enum store_kept store_versions_kept(struct store *store, uint64_t number, char why[NODE_NOTICE_BYTES])
{
    enum store_kept kept = STORE_KEEPS;
    uv_mutex_lock(&store->mutex);
    bool late = clock_monotonic_ns() - store->unkept_since_ns >= STORE_KEEP_WAIT_NS;
    if (number <= store->kept) {
        kept = STORE_KEPT;
    } else if (store->stats.failing || store->lost_versions || late) {
        const char *reason = store->stats.failing   ? store->stats.failure
                             : store->lost_versions ? "too much waits to be written"
                                                    : "the disk takes too long";
        (void)snprintf(why, NODE_NOTICE_BYTES, "%s", reason);
        kept = STORE_FAILS;
    }
    uv_mutex_unlock(&store->mutex);
    return kept;
}

void store_put_counters(struct store *store, const struct store_counter *counter, size_t count)
{
    start(store);
    uv_mutex_lock(&store->mutex);
    for (size_t i = 0; i < count; i++)
        store->stats.counters_dropped += !store_queue_add_counter(store->filling, &counter[i]);
    uv_cond_signal(&store->work);
    uv_mutex_unlock(&store->mutex);
}

bool store_finish(struct store *store)
{
    if (store->started && !store->stopping) {
        uv_mutex_lock(&store->mutex);
        store->stopping = true;
        uv_cond_signal(&store->work);
        uv_mutex_unlock(&store->mutex);
        int failure = uv_thread_join(&store->thread);
        assert(failure == 0);
    }
    return !store->busy && store_queue_empty(store->filling);
}

bool store_close(struct store **store)
{
    if (!*store)
        return true;
    const bool written = store_finish(*store);
    destroy(store);
    return written;
}

/* ---- reports to the owner ---- */

bool store_notice(struct store *store, struct notice *notice)
{
    uv_mutex_lock(&store->mutex);
    bool any = store->notice_count > 0;
    if (any) {
        *notice = store->notices[store->notice_first];
        store->notice_first = (store->notice_first + 1) % STORE_NOTICES_MAX;
        store->notice_count--;
    }
    uv_mutex_unlock(&store->mutex);
    return any;
}

void store_stats(struct store *store, struct store_stats *stats)
{
    uv_mutex_lock(&store->mutex);
    *stats = store->stats;
    stats->versions_waiting = store->filling->version_count;
    stats->counters_waiting = store->filling->counter_count;
    if (store->busy) {
        stats->versions_waiting += store->writing->version_count;
        stats->counters_waiting += store->writing->counter_count;
    }
    uv_mutex_unlock(&store->mutex);
}

bool store_wants_all(struct store *store)
{
    uv_mutex_lock(&store->mutex);
    bool wants = store->wants_all;
    store->wants_all = false;
    uv_mutex_unlock(&store->mutex);
    return wants;
}

const char *store_path(const struct store *store)
{
    return store->path;
}
