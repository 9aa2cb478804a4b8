/*
 * The store's thread: takes the queue in hand, writes it, tends the file once a second, and retries
 * after failures. A transaction of rules comes before one of counters and is always synced.
 */
#include "edge/store/store_writer.h"

#include "edge/process/clock.h"
#include "edge/store/state_dir.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SECOND_NS ((uint64_t)1000000000)

enum { TEND_COUNTERS = 4096 }; /* counters to look at each second */

void store_say(struct store *store, enum notice_level level, const char *format, ...)
{
    struct notice notice = {.level = level};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(notice.text, sizeof notice.text, format, arguments);
    va_end(arguments);
    uv_mutex_lock(&store->mutex);
    if (store->notice_count < STORE_NOTICES_MAX)
        store->notices[(store->notice_first + store->notice_count++) % STORE_NOTICES_MAX] = notice;
    uv_mutex_unlock(&store->mutex);
    if (store->options.wake)
        store->options.wake(store->options.context);
}

/* ---- the file and its mishaps ---- */

/* Reports counters whose ids were made with another secret. */
static void tell_aside(struct store *store, const struct store_aside *aside)
{
    uv_mutex_lock(&store->mutex);
    store->stats.counters_aside = aside->kept;
    store->stats.counters_aside_dropped += aside->dropped;
    uv_mutex_unlock(&store->mutex);
    if (aside->returned > 0)
        store_say(store, NOTICE_INFO, "%.120s: %llu counters are under this secret again, and used", store->path,
                  (unsigned long long)aside->returned);
    if (aside->kept > 0)
        store_say(store, NOTICE_WARNING,
                  "%.90s: %llu counters are under another secret: they are kept until their time is over, and not "
                  "used, since no key has the hash that it had",
                  store->path, (unsigned long long)aside->kept);
    if (aside->dropped > 0)
        store_say(store, NOTICE_WARNING, "%.100s: more than %d counters are under other secrets: %llu are dropped",
                  store->path, STORE_ASIDE_MAX, (unsigned long long)aside->dropped);
}

/* Tells the file which secret is in use. If the file cannot be written, the next write tries again. */
static enum store_file_status settle_secret(struct store *store)
{
    struct store_aside aside;
    enum store_file_status status =
        store_file_use_secret(&store->file, store->options.secret, clock_wall_ns(), &aside);
    if (status == STORE_FILE_GOOD)
        tell_aside(store, &aside);
    else if (status != STORE_FILE_DAMAGED && !store->file.settled)
        store_say(store, NOTICE_WARNING,
                  "%.100s: its counters are under another secret, which cannot be written down (%.60s)",
                  store->path, store->file.failure);
    return status;
}

/* Makes a file with everything that can be read of the damaged one, beside it. */
static bool make_fresh(struct store *store, const char *fresh, uint64_t *versions, uint64_t *counters)
{
    store_file_remove(fresh); /* somebody made a part of it, and ended */
    enum store_file_status status = store_file_open(&store->file, fresh);
    if (status == STORE_FILE_GOOD)
        status = store_file_salvage(&store->file, store->path, clock_wall_ns(), versions, counters);
    const bool whole = store_file_end(&store->file);
    return status == STORE_FILE_GOOD && whole;
}

/*
 * Makes a new file of the damaged one, sets that one aside, and puts the new one in its place. Where there is no room
 * for a new file the damaged one stays: nobody would look at a file that lies aside.
 */
static enum store_file_status replace_file(struct store *store)
{
    char aside[STORE_PATH_BYTES], fresh[STORE_PATH_BYTES], why[NODE_NOTICE_BYTES];
    char rules[sizeof store->file.lost_rules];
    uint64_t versions = 0, counters = 0, lost = store->file.lost.transactions;
    memcpy(why, store->file.failure, sizeof why);
    memcpy(rules, store->file.lost_rules, sizeof rules);
    store_file_close(&store->file);
    const int size = snprintf(fresh, sizeof fresh, "%s" STORE_FRESH, store->path);
    if (size >= STORE_PATH_BYTES || !make_fresh(store, fresh, &versions, &counters)) {
        store_file_remove(fresh);
        return STORE_FILE_FAILED;
    }
    if (!store_file_set_aside(store->path, clock_wall_ns(), aside)) {
        store_file_remove(fresh);
        (void)snprintf(store->file.failure, sizeof store->file.failure, "damaged, and it cannot be renamed");
        return STORE_FILE_FAILED;
    }
    enum store_file_status status = store_file_open(&store->file, store->path); /* which is the fresh one */
    uv_mutex_lock(&store->mutex);
    store->stats.files_set_aside++;
    store->stats.transactions_lost += lost;
    store->wants_all = true;
    uv_mutex_unlock(&store->mutex);
    store_say(store, NOTICE_WARNING,
              "%.100s was damaged (%.60s): set aside as *%s; read of it: versions %llu, counters %llu", store->path,
              why, strstr(aside, ".corrupt"), (unsigned long long)versions, (unsigned long long)counters);
    if (rules[0])
        store_say(store, NOTICE_WARNING,
                  "the last versions of these rules are among what is lost: %s; apply them again, "
                  "unless a peer has them",
                  rules);
    if (status == STORE_FILE_GOOD)
        (void)settle_secret(store);
    return status == STORE_FILE_DAMAGED ? STORE_FILE_FAILED : status;
}

enum store_file_status store_writer_open(struct store *store)
{
    enum store_file_status status = store_file_open(&store->file, store->path);
    if (status == STORE_FILE_GOOD)
        status = store_file_check(&store->file);
    if (status == STORE_FILE_GOOD && store->file.was_open)
        store_say(store, NOTICE_WARNING, "%.120s could be read or written by others: its mode is %04o or less now",
                  store->path, (unsigned)STATE_DIR_FILE_MODE);
    if (status == STORE_FILE_GOOD && store->file.was_empty)
        store_say(store, NOTICE_WARNING, "%.160s was empty: it begins anew", store->path);
    if (status == STORE_FILE_GOOD && settle_secret(store) == STORE_FILE_DAMAGED)
        status = STORE_FILE_DAMAGED;
    if (status == STORE_FILE_DAMAGED)
        status = replace_file(store);
    if (status != STORE_FILE_GOOD)
        store_file_close(&store->file);
    return status;
}

/*
 * Makes a new file: the open one was removed or replaced, and writes to it would be lost. Where that fails, a later try
 * opens a file that has nothing of what the removed one had, so the owner is asked for everything in any case.
 */
static enum store_file_status reopen_file(struct store *store)
{
    store_file_close(&store->file);
    store_file_forget_mark(store->path); /* the mark belongs to the removed file */
    uv_mutex_lock(&store->mutex);
    store->wants_all = true;
    uv_mutex_unlock(&store->mutex);
    enum store_file_status status = store_writer_open(store);
    if (status == STORE_FILE_GOOD)
        store_say(store, NOTICE_WARNING, "%.160s was gone: it is made anew", store->path);
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

/* Notes that all versions put before the queue was taken in hand are on disk, and wakes the owner if some are new. */
static void note_kept(struct store *store)
{
    uv_mutex_lock(&store->mutex);
    const bool some = store->kept < store->taken;
    store->kept = store->taken;
    store->unkept_since_ns = clock_monotonic_ns();
    uv_mutex_unlock(&store->mutex);
    if (some && store->options.wake)
        store->options.wake(store->options.context);
}

static enum store_file_status write_counters(struct store *store, const struct store_queue *queue)
{
    uint64_t wall_ns = steady_wall_ns(&store->steady_wall);
    enum store_file_status status = store_file_begin(&store->file, store->options.sync == STORE_SYNC_FULL);
    for (uint32_t i = 0; i < queue->counter_count && status == STORE_FILE_GOOD; i++)
        status = store_file_put_counter(&store->file, &queue->counter[i], wall_ns);
    return status == STORE_FILE_GOOD ? store_file_commit(&store->file) : status;
}

/* Writes rules first, in a transaction of their own. If only the counters fail, the rules are
 * written again, which changes nothing. */
static enum store_file_status write_queue(struct store *store)
{
    struct store_queue *queue = store->writing;
    enum store_file_status status = store->file.db ? STORE_FILE_GOOD : store_writer_open(store);
    if (status == STORE_FILE_GOOD && store_file_is_gone(&store->file))
        status = reopen_file(store);
    if (status == STORE_FILE_GOOD && !store->file.settled)
        status = settle_secret(store);
    if (status != STORE_FILE_GOOD)
        return status;
    store_queue_sort(queue);
    if (queue->version_count > 0)
        status = write_versions(store, queue);
    if (status == STORE_FILE_GOOD)
        note_kept(store);
    if (status == STORE_FILE_GOOD && queue->counter_count > 0)
        status = write_counters(store, queue);
    if (status != STORE_FILE_GOOD)
        store_file_cancel(&store->file);
    return status;
}

void store_writer_failed(struct store *store, uint64_t now_ns)
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
    store_say(store, NOTICE_WARNING,
              "%.100s cannot be written (%.60s): rules and counters wait in memory, it is tried again each second",
              store->path, store->file.failure);
}

/* Notes that the file can be written, and says so after a failure. */
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
        store_say(store, NOTICE_INFO, "%.160s is written again, after %llu ms", store->path,
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

/* Writes the queue in hand. False: the queue must wait. */
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
        store_writer_failed(store, now_ns);
        return false;
    }
    count_written(store, now_ns - begun_ns);
    recovered(store, now_ns);
    return true;
}

/* Says what came of tending: where nothing waits, no write says it. */
static void note_tended(struct store *store, enum store_file_status status)
{
    const bool failed = status == STORE_FILE_FAILED || status == STORE_FILE_REFUSED;
    if (failed)
        store_writer_failed(store, clock_monotonic_ns());
    else if (store->stats.failing && !store->busy)
        recovered(store, clock_monotonic_ns());
}

/* Once a second: checks that the file still exists, and deletes counters that have ended. */
static void tend(struct store *store)
{
    uint64_t deleted = 0, aside_deleted = 0, wall_ns = steady_wall_ns(&store->steady_wall);
    enum store_file_status status = STORE_FILE_GOOD;
    if (!store->file.db) {
        if (store->busy)
            return; /* the next try opens the file */
        status = store_writer_open(store);
    } else if (store_file_is_gone(&store->file)) {
        status = reopen_file(store);
    }
    if (status == STORE_FILE_GOOD)
        status = store_file_prune(&store->file, TEND_COUNTERS, wall_ns, &deleted);
    if (status == STORE_FILE_GOOD && store->stats.counters_aside > 0)
        status = store_file_prune_aside(&store->file, TEND_COUNTERS, wall_ns, &aside_deleted);
    if (status == STORE_FILE_DAMAGED) {
        status = replace_file(store);
        if (status != STORE_FILE_GOOD)
            store_file_close(&store->file);
    }
    note_tended(store, status);
    uint64_t bytes = store_file_bytes(&store->file);
    uv_mutex_lock(&store->mutex);
    store->stats.counters_expired += deleted + aside_deleted;
    store->stats.counters_aside -= aside_deleted;
    store->stats.file_bytes = bytes;
    uv_mutex_unlock(&store->mutex);
}

/* ---- the thread ---- */

enum task { TASK_WRITE, TASK_TEND, TASK_END };

/* Waits until there is a task, and takes the queue in hand. The caller must hold the mutex. */
static enum task next_task(struct store *store)
{
    while (true) {
        uint64_t now_ns = clock_monotonic_ns();
        if (!store->busy && !store_queue_empty(store->filling)) {
            struct store_queue *full = store->filling;
            store->filling = store->writing;
            store->writing = full;
            store->taken = store->put;
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

void store_writer_run(void *argument)
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
        }
        if (store->stopping && tried)
            break; /* at the end the store tries once only */
    }
    uv_mutex_unlock(&store->mutex);
}
