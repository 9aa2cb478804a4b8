#include "edge/store.h"

#include "edge/clock.h"
#include "edge/store_file.h"
#include "edge/store_queue.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <uv.h>

#define SECOND_NS ((uint64_t)1000000000)

enum {
    NOTICES_MAX = 16,
    TEND_COUNTERS = 4096, /* looked at in a second */
};

struct store {
    struct store_options options;
    char path[STORE_PATH_BYTES];
    bool started; /* the thread runs */
    uv_thread_t thread;

    uv_mutex_t mutex; /* all down to the next empty line */
    uv_cond_t work, idle;
    struct store_queue *filling, *writing; /* they change places; what `writing` points at is the thread's */
    bool busy;                             /* `writing` is not done */
    bool stopping, wants_all, lost_versions;
    struct store_stats stats;
    struct notice notices[NOTICES_MAX];
    size_t notice_first, notice_count;

    /* The thread's, once it runs. */
    struct store_queue queue[2];
    struct store_file file;
    uint64_t next_try_ns, next_tend_ns, failing_since_ns;
};

/* ---- what the owner is told ---- */

__attribute__((format(printf, 3, 4))) static void say(struct store *store, enum notice_level level,
                                                      const char *format, ...)
{
    struct notice notice = {.level = level};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(notice.text, sizeof notice.text, format, arguments);
    va_end(arguments);
    uv_mutex_lock(&store->mutex);
    if (store->notice_count < NOTICES_MAX)
        store->notices[(store->notice_first + store->notice_count++) % NOTICES_MAX] = notice;
    uv_mutex_unlock(&store->mutex);
    if (store->options.wake)
        store->options.wake(store->options.context);
}

bool store_notice(struct store *store, struct notice *notice)
{
    uv_mutex_lock(&store->mutex);
    bool any = store->notice_count > 0;
    if (any) {
        *notice = store->notices[store->notice_first];
        store->notice_first = (store->notice_first + 1) % NOTICES_MAX;
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

/* ---- the file, and what befalls it ---- */

/* What was damaged is set aside; a fresh file takes over what can be read of it. */
static enum store_file_status replace_file(struct store *store)
{
    char aside[STORE_PATH_BYTES], why[NODE_NOTICE_BYTES];
    uint64_t versions = 0, counters = 0, wall_ns = clock_wall_ns();
    memcpy(why, store->file.failure, sizeof why);
    store_file_close(&store->file);
    if (!store_file_set_aside(store->path, wall_ns, aside)) {
        (void)snprintf(store->file.failure, sizeof store->file.failure, "damaged, and it cannot be renamed");
        return STORE_FILE_FAILED;
    }
    enum store_file_status status = store_file_open(&store->file, store->path);
    if (status == STORE_FILE_GOOD)
        status = store_file_salvage(&store->file, aside, wall_ns, &versions, &counters);
    uv_mutex_lock(&store->mutex);
    store->stats.files_set_aside++;
    store->wants_all = true;
    uv_mutex_unlock(&store->mutex);
    say(store, NOTICE_WARNING,
        "%.100s was damaged (%.60s): set aside as *%s; read of it: versions %llu, counters %llu", store->path, why,
        strstr(aside, ".corrupt"), (unsigned long long)versions, (unsigned long long)counters);
    return status == STORE_FILE_DAMAGED ? STORE_FILE_FAILED : status;
}

/* Leaves a whole file open, or none. */
static enum store_file_status open_file(struct store *store)
{
    enum store_file_status status = store_file_open(&store->file, store->path);
    if (status == STORE_FILE_GOOD)
        status = store_file_check(&store->file);
    if (status == STORE_FILE_GOOD && store->file.was_empty)
        say(store, NOTICE_WARNING, "%.160s was empty: it begins anew", store->path);
    if (status == STORE_FILE_DAMAGED)
        status = replace_file(store);
    if (status != STORE_FILE_GOOD)
        store_file_close(&store->file);
    return status;
}

/* Somebody removed or replaced the file: what is written to it now would be lost. */
static enum store_file_status reopen_file(struct store *store)
{
    store_file_close(&store->file);
    enum store_file_status status = open_file(store);
    if (status != STORE_FILE_GOOD)
        return status;
    uv_mutex_lock(&store->mutex);
    store->wants_all = true;
    uv_mutex_unlock(&store->mutex);
    say(store, NOTICE_WARNING, "%.160s was gone: it is made anew", store->path);
    return status;
}

/* ---- writing ---- */

static enum store_file_status write_versions(struct store *store, const struct store_queue *queue)
{
    enum store_file_status status = store_file_begin(&store->file, true);
    for (const struct waiting_version *at = queue->first; at && status == STORE_FILE_GOOD; at = at->next)
        status = store_file_put_version(&store->file, &at->version);
    return status == STORE_FILE_GOOD ? store_file_commit(&store->file) : status;
}

static enum store_file_status write_counters(struct store *store, const struct store_queue *queue)
{
    uint64_t wall_ns = clock_wall_ns();
    enum store_file_status status = store_file_begin(&store->file, store->options.sync == STORE_SYNC_FULL);
    for (uint32_t i = 0; i < queue->counter_count && status == STORE_FILE_GOOD; i++)
        status = store_file_put_counter(&store->file, &queue->counter[i], wall_ns);
    return status == STORE_FILE_GOOD ? store_file_commit(&store->file) : status;
}

/* Rules first, and durable by themselves; written twice, when only the counters failed, they are the same. */
static enum store_file_status write_queue(struct store *store)
{
    struct store_queue *queue = store->writing;
    enum store_file_status status = store->file.db ? STORE_FILE_GOOD : open_file(store);
    if (status == STORE_FILE_GOOD && store_file_is_gone(&store->file))
        status = reopen_file(store);
    if (status != STORE_FILE_GOOD)
        return status;
    store_queue_sort(queue);
    if (queue->version_count > 0)
        status = write_versions(store, queue);
    if (status == STORE_FILE_GOOD && queue->counter_count > 0)
        status = write_counters(store, queue);
    if (status != STORE_FILE_GOOD)
        store_file_cancel(&store->file);
    return status;
}

static void failed(struct store *store, uint64_t now_ns)
{
    uv_mutex_lock(&store->mutex);
    bool first = !store->stats.failing;
    store->stats.failing = true;
    store->stats.write_failures++;
    memcpy(store->stats.failure, store->file.failure, sizeof store->stats.failure);
    uv_mutex_unlock(&store->mutex);
    store->next_try_ns = now_ns + SECOND_NS;
    if (!first)
        return;
    store->failing_since_ns = now_ns;
    say(store, NOTICE_WARNING,
        "%.100s cannot be written (%.60s): rules and counters wait in memory, it is tried again each second",
        store->path, store->file.failure);
}

/* It can be written again, or still. */
static void recovered(struct store *store, uint64_t now_ns)
{
    uint64_t bytes = store_file_bytes(&store->file);
    uv_mutex_lock(&store->mutex);
    bool was_failing = store->stats.failing;
    store->stats.failing = false;
    store->stats.failure[0] = '\0';
    store->stats.file_bytes = bytes;
    store->wants_all = store->wants_all || store->lost_versions;
    store->lost_versions = false;
    uv_mutex_unlock(&store->mutex);
    if (was_failing)
        say(store, NOTICE_INFO, "%.160s is written again, after %llu ms", store->path,
            (unsigned long long)((now_ns - store->failing_since_ns) / 1000000));
}

static void count_written(struct store *store, uint64_t took_ns)
{
    struct store_queue *queue = store->writing;
    uv_mutex_lock(&store->mutex);
    store->stats.versions_written += queue->version_count;
    store->stats.counters_written += queue->counter_count;
    store->stats.transactions += queue->version_count > 0 && queue->counter_count > 0 ? 2 : 1;
    store->stats.commit_ns = took_ns;
    uv_mutex_unlock(&store->mutex);
}

/* Writes what is in hand; false: it has to wait. */
static bool write_in_hand(struct store *store)
{
    uint64_t begun_ns = clock_monotonic_ns();
    enum store_file_status status = write_queue(store);
    if (status == STORE_FILE_DAMAGED) {
        status = replace_file(store);
        if (status == STORE_FILE_GOOD)
            status = write_queue(store);
        else
            store_file_close(&store->file);
    }
    uint64_t now_ns = clock_monotonic_ns();
    if (status != STORE_FILE_GOOD) {
        failed(store, now_ns);
        return false;
    }
    count_written(store, now_ns - begun_ns);
    recovered(store, now_ns);
    return true;
}

/* Once a second: is the file still there, and which counters are over? */
static void tend(struct store *store)
{
    uint64_t deleted = 0;
    enum store_file_status status = STORE_FILE_GOOD;
    if (!store->file.db) {
        if (store->busy)
            return; /* the next try opens it */
        status = open_file(store);
        if (status == STORE_FILE_GOOD)
            recovered(store, clock_monotonic_ns());
    } else if (store_file_is_gone(&store->file)) {
        status = reopen_file(store);
    }
    if (status == STORE_FILE_GOOD)
        status = store_file_prune(&store->file, TEND_COUNTERS, clock_wall_ns(), &deleted);
    if (status == STORE_FILE_DAMAGED && replace_file(store) != STORE_FILE_GOOD)
        store_file_close(&store->file);
    uint64_t bytes = store_file_bytes(&store->file);
    uv_mutex_lock(&store->mutex);
    store->stats.counters_expired += deleted;
    store->stats.file_bytes = bytes;
    uv_mutex_unlock(&store->mutex);
}

/* ---- the thread ---- */

enum task { TASK_WRITE, TASK_TEND, TASK_END };

/* With the mutex: waits until there is something to do, and takes it in hand. */
static enum task next_task(struct store *store)
{
    while (true) {
        uint64_t now_ns = clock_monotonic_ns();
        if (!store->busy && !store_queue_empty(store->filling)) {
            struct store_queue *full = store->filling;
            store->filling = store->writing;
            store->writing = full;
            store->busy = true;
            store->next_try_ns = store->stats.failing ? store->next_try_ns : now_ns;
        }
        if (store->busy && (now_ns >= store->next_try_ns || store->stopping))
            return TASK_WRITE;
        if (store->stopping)
            return TASK_END;
        if (now_ns >= store->next_tend_ns) {
            store->next_tend_ns = now_ns + SECOND_NS;
            return TASK_TEND;
        }
        uint64_t until_ns = store->next_tend_ns;
        if (store->busy && store->next_try_ns < until_ns)
            until_ns = store->next_try_ns;
        (void)uv_cond_timedwait(&store->work, &store->mutex, until_ns - now_ns);
    }
}

static void run(void *argument)
{
    struct store *store = argument;
    uv_mutex_lock(&store->mutex);
    for (enum task task; (task = next_task(store)) != TASK_END;) {
        uv_mutex_unlock(&store->mutex);
        bool done = false;
        if (task == TASK_TEND)
            tend(store);
        else
            done = write_in_hand(store);
        bool tried = task == TASK_WRITE && !done;
        uv_mutex_lock(&store->mutex);
        if (done) {
            store_queue_clear(store->writing);
            store->busy = false;
            if (store_queue_empty(store->filling))
                uv_cond_broadcast(&store->idle);
        }
        if (store->stopping && tried)
            break; /* no second try at the end */
    }
    uv_mutex_unlock(&store->mutex);
}

/* ---- the owner's calls ---- */

static void set_error(const struct store *store, struct error *error)
{
    (void)
        error_set(error, EX_CANTCREAT,
                  "state_dir: %s cannot be used (%s): expected a directory of this daemon's own that it may write",
                  store->path, store->file.failure);
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
    store_file_close(&(*store)->file);
    store_queue_close(&(*store)->queue[0]);
    store_queue_close(&(*store)->queue[1]);
    uv_mutex_destroy(&(*store)->mutex);
    uv_cond_destroy(&(*store)->work);
    uv_cond_destroy(&(*store)->idle);
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
    store->options.directory = NULL; /* the caller's, and not needed again */
    int failure = uv_mutex_init(&store->mutex) | uv_cond_init(&store->work) | uv_cond_init(&store->idle);
    assert(failure == 0);
    (void)snprintf(store->path, sizeof store->path, "%s/headgate.db", options->directory);
    if (!make_queues(store)) {
        (void)error_set(error, EX_OSERR, "out of memory for the store of %llu counters",
                        (unsigned long long)options->counters_max);
        destroy(&store);
        return NULL;
    }
    enum store_file_status status = open_file(store);
    if (status == STORE_FILE_REFUSED) {
        set_error(store, error);
        destroy(&store);
        return NULL;
    }
    if (status != STORE_FILE_GOOD)
        failed(store, clock_monotonic_ns());
    store->wants_all = false; /* the owner knows nothing yet */
    return store;
}

static void start(struct store *store)
{
    int failure = store->started ? 0 : uv_thread_create(&store->thread, run, store);
    assert(failure == 0);
    store->started = true;
}

void store_read(struct store *store, const struct store_reader *reader)
{
    assert(!store->started);
    if (store->file.db && store_file_read(&store->file, reader, clock_wall_ns()) != STORE_FILE_GOOD)
        say(store, NOTICE_WARNING, "%.100s cannot be read (%.60s)", store->path, store->file.failure);
    start(store);
}

void store_put_versions(struct store *store, const struct rule_record *version, size_t count)
{
    start(store);
    uv_mutex_lock(&store->mutex);
    for (size_t i = 0; i < count; i++) {
        if (store_queue_add_version(store->filling, &version[i]))
            continue;
        store->stats.versions_dropped++;
        store->lost_versions = true;
    }
    uv_cond_signal(&store->work);
    uv_mutex_unlock(&store->mutex);
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

bool store_flush(struct store *store, uint64_t timeout_ns)
{
    uint64_t end_ns = clock_monotonic_ns() + timeout_ns;
    uv_mutex_lock(&store->mutex);
    while (store->busy || !store_queue_empty(store->filling)) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= end_ns || uv_cond_timedwait(&store->idle, &store->mutex, end_ns - now_ns) != 0)
            break;
    }
    bool empty = !store->busy && store_queue_empty(store->filling);
    uv_mutex_unlock(&store->mutex);
    return empty;
}

bool store_close(struct store **store)
{
    if (!*store)
        return true;
    if ((*store)->started) {
        uv_mutex_lock(&(*store)->mutex);
        (*store)->stopping = true;
        uv_cond_signal(&(*store)->work);
        uv_mutex_unlock(&(*store)->mutex);
        int failure = uv_thread_join(&(*store)->thread);
        assert(failure == 0);
    }
    bool written = !(*store)->busy && store_queue_empty((*store)->filling);
    destroy(store);
    return written;
}
