#include "crew.h"

#include <assert.h>
#include <stdlib.h>
#include <sysexits.h>

/* An event that a worker waits for; on its stack. */
struct errand {
    struct list link;
    const struct event *event;
    struct rules_result *result;
    bool carried_out;
};

/* ---- in the workers' threads ---- */

static void on_submit(void *context, const struct event *event, struct rules_result *result)
{
    struct mate *mate = context;
    struct crew *crew = mate->crew;
    struct errand errand = {.event = event, .result = result};
    worker_pause_alone(&mate->worker);
    uv_mutex_lock(&crew->mutex);
    if (!crew->refuses) {
        list_insert_before(&crew->errands, &errand.link);
        (void)uv_async_send(&crew->called);
        while (!errand.carried_out)
            uv_cond_wait(&crew->carried_out, &crew->mutex);
    }
    uv_mutex_unlock(&crew->mutex);
    worker_resume_alone(&mate->worker);
}

/* Inside the gate, so that the step which forgets that it was wanted comes after what it is wanted for. */
static void on_decided(void *context, uint64_t now_ns)
{
    const struct mate *mate = context;
    struct crew *crew = mate->crew;
    (void)now_ns;
    if (node_wants_step(mate->worker.commands.node) && !crew_wants_step(crew) &&
        !atomic_exchange(&crew->wants_step, true))
        (void)uv_async_send(&crew->called);
}

static void on_told_to_stop(uv_async_t *handle)
{
    struct mate *mate = handle->data;
    worker_close_listener(&mate->worker);
    uv_close((uv_handle_t *)handle, NULL);
    /* The last that it does with the crew. */
    uv_mutex_lock(&mate->crew->mutex);
    (void)atomic_fetch_add(&mate->crew->stopped_count, 1);
    if (!mate->crew->refuses)
        (void)uv_async_send(&mate->crew->called);
    uv_mutex_unlock(&mate->crew->mutex);
}

static void work(void *context)
{
    struct mate *mate = context;
    node_use_lane(mate->worker.lane);
    worker_run(&mate->worker);
}

/* ---- in the first loop's thread ---- */

static struct errand *next_errand(struct crew *crew)
{
    struct errand *errand = NULL;
    uv_mutex_lock(&crew->mutex);
    if (!list_empty(&crew->errands)) {
        errand = LIST_OWNER(crew->errands.next, struct errand, link);
        list_remove(&errand->link);
    }
    uv_mutex_unlock(&crew->mutex);
    return errand;
}

static void carry_out(struct crew *crew)
{
    for (struct errand *errand; (errand = next_errand(crew)) != NULL;) {
        crew->owner.submit(crew->owner.context, errand->event, errand->result);
        uv_mutex_lock(&crew->mutex);
        errand->carried_out = true;
        uv_cond_broadcast(&crew->carried_out);
        uv_mutex_unlock(&crew->mutex);
    }
}

static void on_called(uv_async_t *handle)
{
    struct crew *crew = handle->data;
    carry_out(crew);
    if (crew_wants_step(crew))
        crew->owner.wanted(crew->owner.context);
    if (crew->stops && !crew->has_ended && atomic_load(&crew->stopped_count) == crew->count) {
        crew->has_ended = true;
        crew->owner.ended(crew->owner.context);
    }
}

bool crew_init(struct crew *crew, uint32_t count, uv_loop_t *loop, struct gate *gate,
               const struct crew_owner *owner, struct error *error)
{
    *crew = (struct crew){.owner = *owner};
    list_init(&crew->errands);
    if (uv_mutex_init(&crew->mutex) != 0 || uv_cond_init(&crew->carried_out) != 0)
        abort(); /* only without memory for what takes none */
    (void)uv_async_init(loop, &crew->called, on_called);
    crew->called.data = crew;
    crew->mate = calloc(count, sizeof *crew->mate);
    for (uint32_t i = 0; crew->mate && i < count; i++) {
        struct mate *mate = &crew->mate[i];
        struct worker_owner worker_owner = {mate, on_decided, NULL, on_submit};
        mate->crew = crew;
        if (!worker_init(&mate->worker, &worker_owner, gate, i + 1))
            break;
        (void)uv_async_init(&mate->worker.loop, &mate->told_to_stop, on_told_to_stop);
        mate->told_to_stop.data = mate;
        crew->count++;
    }
    return crew->count == count ||
           error_set(error, EX_OSERR, "cannot make %u event loops: out of memory or file descriptors", count + 1);
}

bool crew_listen(struct crew *crew, const struct listener_options *options, const struct worker *first,
                 struct error *error)
{
    struct listener_options own = *options;
    for (uint32_t i = 0; i < crew->count; i++) {
        own.id_first = options->id_first + crew->mate[i].worker.lane;
        if (!worker_listen(&crew->mate[i].worker, &own, NULL, first, error))
            return false;
    }
    return true;
}

bool crew_start(struct crew *crew, struct error *error)
{
    for (uint32_t i = 0; i < crew->count; i++) {
        struct mate *mate = &crew->mate[i];
        mate->has_thread = uv_thread_create(&mate->thread, work, mate) == 0;
        if (!mate->has_thread)
            return error_set(error, EX_OSERR, "cannot start %u threads: the system has not enough of something",
                             crew->count + 1);
    }
    return true;
}

bool crew_was_asked(struct crew *crew)
{
    bool asked = false;
    for (uint32_t i = 0; i < crew->count; i++)
        asked |= worker_was_asked(&crew->mate[i].worker);
    return asked;
}

bool crew_wants_step(const struct crew *crew)
{
    return atomic_load_explicit(&crew->wants_step, memory_order_relaxed);
}

void crew_stepped(struct crew *crew)
{
    if (crew->count > 0)
        atomic_store_explicit(&crew->wants_step, false, memory_order_relaxed);
}

void crew_stop(struct crew *crew)
{
    if (crew->stops)
        return;
    crew->stops = true;
    for (uint32_t i = 0; i < crew->count; i++)
        (void)uv_async_send(&crew->mate[i].told_to_stop);
    (void)uv_async_send(&crew->called); /* there may be no mates */
}

void crew_leave(struct crew *crew)
{
    uv_mutex_lock(&crew->mutex);
    crew->refuses = true;
    while (!list_empty(&crew->errands)) {
        struct errand *errand = LIST_OWNER(crew->errands.next, struct errand, link);
        list_remove(&errand->link);
        errand->carried_out = true;
    }
    uv_cond_broadcast(&crew->carried_out);
    uv_mutex_unlock(&crew->mutex);
    uv_close((uv_handle_t *)&crew->called, NULL);
}

void crew_close(struct crew *crew)
{
    assert(crew->stops && crew->refuses);
    for (uint32_t i = 0; i < crew->count; i++) {
        struct mate *mate = &crew->mate[i];
        if (mate->has_thread)
            (void)uv_thread_join(&mate->thread);
        else
            (void)uv_run(&mate->worker.loop, UV_RUN_DEFAULT);
        worker_close(&mate->worker);
    }
    free(crew->mate);
    uv_cond_destroy(&crew->carried_out);
    uv_mutex_destroy(&crew->mutex);
}
