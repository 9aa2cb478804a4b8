/*
 * Deadlines of connections without a timer for each: lists are looked at ten times a second. Three
 * lists are in the order of their deadlines, so that only their fronts are looked at: requests that
 * are not complete, strangers, and known connections. The short lists of connections that write or
 * close, and of those with SERVE_DELAY, are looked at whole.
 */
#include "base/metric.h"
#include "edge/clients/connection.h"

enum {
    DEADLINE_STEP_MS = 100,
    /* connections that are looked at to find one that may be closed in favour of a newcomer */
    LOOKED_AT_MAX = 16,
    SPARE_PART = 8, /* of all buffers: those that a turn of the loop may need */
};

static void on_timer(uv_timer_t *timer);

static void run_timer(struct listener *listener)
{
    if (!uv_is_active((uv_handle_t *)&listener->timer))
        (void)uv_timer_start(&listener->timer, on_timer, DEADLINE_STEP_MS, DEADLINE_STEP_MS);
}

static bool waits_for_some(const struct listener *listener)
{
    const struct listener_options *options = &listener->options;
    return !list_empty(&listener->timed) || !list_empty(&listener->begun) || !list_empty(&listener->delayed) ||
           (!list_empty(&listener->strangers) &&
            (options->stranger_timeout_ms > 0 || options->idle_timeout_ms > 0)) ||
           (!list_empty(&listener->known) && options->idle_timeout_ms > 0);
}

/* ---- who was heard, and when ---- */

static void queue_by_silence(struct listener *listener, struct connection *connection)
{
    list_remove(&connection->heard);
    list_insert_before(connection->stranger ? &listener->strangers : &listener->known, &connection->heard);
    connection->heard_ms = uv_now(listener->loop);
}

void listener_meet(struct listener *listener, struct connection *connection)
{
    connection->stranger = true;
    listener_enter_place(listener, connection);
    queue_by_silence(listener, connection);
    if (waits_for_some(listener))
        run_timer(listener);
}

void listener_ask_known(struct listener *listener, struct connection *connection)
{
    const struct service *service = connection->service;
    if (service->knows != NULL && !service->knows(service->context, connection->session))
        return;
    connection->stranger = false;
    listener_leave_place(connection);
    queue_by_silence(listener, connection);
}

/* Input of a stranger does not extend its time. */
void listener_note_heard(struct listener *listener, struct connection *connection)
{
    if (!connection->stranger)
        queue_by_silence(listener, connection);
}

static struct connection *first_heard(const struct list *list)
{
    return list_empty(list) ? NULL : LIST_OWNER(list->next, struct connection, heard);
}

static bool is_silent(const struct listener *listener, const struct connection *connection, uint64_t silent_ms)
{
    return connection != NULL && uv_now(listener->loop) - connection->heard_ms >= silent_ms;
}

/*
 * The first connection of `list` that was silent for `silent_ms` and may be closed. A known
 * connection may be waiting for the daemon, not the daemon for it: such a connection is moved
 * behind all others.
 */
static struct connection *find_silent(struct listener *listener, const struct list *list, uint64_t silent_ms)
{
    for (uint32_t i = 0; i < LOOKED_AT_MAX; i++) {
        struct connection *connection = first_heard(list);
        if (!is_silent(listener, connection, silent_ms))
            return NULL;
        if (connection->stranger ? list_empty(&connection->unwritten) : connection_is_quiet(connection))
            return connection;
        queue_by_silence(listener, connection);
    }
    return NULL;
}

bool listener_make_room(struct listener *listener)
{
    struct connection *silent = listener_find_crowd(listener);
    if (silent != NULL)
        metric_add(&listener->stats.closed_crowds, 1);
    else
        silent = find_silent(listener, &listener->strangers, listener->options.newcomer_ms);
    if (silent == NULL)
        silent = find_silent(listener, &listener->known, listener->options.quiet_ms);
    if (silent == NULL)
        return false;
    connection_turn_out(silent, &listener->stats.closed_for_room, NULL);
    return true;
}

/* ---- buffers ---- */

/* Those of whoever has not taken his answers, or else has not said all of a large request, for longest. */
static void take_buffers_from(struct listener *listener, const struct list *list, size_t *taken, size_t most)
{
    struct list *link = list->next;
    while (*taken > most && link != list) {
        struct connection *connection = LIST_OWNER(link, struct connection, timed);
        const bool has_large = connection->input != NULL && connection->input->room == POOL_LARGE_BYTES;
        link = link->next;
        if (connection->output == NULL && !has_large)
            continue;
        *taken -= (connection->output != NULL ? connection->output->room : 0) + (has_large ? POOL_LARGE_BYTES : 0);
        connection_turn_out(connection, &listener->stats.closed_no_buffer, NULL);
    }
}

void listener_spare_buffers(struct listener *listener)
{
    const size_t most = listener->pool.bytes_max / SPARE_PART * (SPARE_PART - 1);
    size_t taken = listener->pool.taken_bytes; /* buffers come back when the loop has closed their connections */
    if (taken <= most)
        return;
    take_buffers_from(listener, &listener->timed, &taken, most);
    take_buffers_from(listener, &listener->begun, &taken, most);
}

/* ---- deadlines ---- */

void listener_change(struct listener *listener, const struct listener_limits *limits)
{
    struct listener_options *options = &listener->options;
    options->connections_max = limits->connections_max;
    options->request_timeout_ms = limits->request_timeout_ms;
    options->stranger_timeout_ms = limits->stranger_timeout_ms;
    options->idle_timeout_ms = limits->idle_timeout_ms;
    if (waits_for_some(listener))
        run_timer(listener);
}

void listener_watch(struct listener *listener, struct connection *connection, uint64_t timeout_ms)
{
    list_remove(&connection->timed);
    list_insert_before(&listener->timed, &connection->timed);
    connection->deadline_ms = uv_now(listener->loop) + timeout_ms;
    run_timer(listener);
}

void listener_note_begun(struct listener *listener, struct connection *connection)
{
    list_remove(&connection->timed);
    list_insert_before(&listener->begun, &connection->timed);
    connection->deadline_ms = uv_now(listener->loop) + listener->options.request_timeout_ms;
    run_timer(listener);
}

void listener_delay(struct listener *listener, struct connection *connection, uint32_t delay_ms)
{
    list_insert_before(&listener->delayed, &connection->waiting);
    connection->resume_ms = uv_now(listener->loop) + delay_ms;
    run_timer(listener);
}

/*
 * Expiring a connection never touches another connection. At most it moves the connection to the
 * end of the list.
 */
static void expire_timed(struct listener *listener, uint64_t now_ms)
{
    struct list *end = listener->timed.previous, *link = listener->timed.next;
    for (bool last = link == &listener->timed; !last;) {
        struct connection *connection = LIST_OWNER(link, struct connection, timed);
        last = link == end;
        link = link->next;
        if (connection->deadline_ms <= now_ms)
            connection_expire(connection);
    }
}

static void expire_delayed(struct listener *listener, uint64_t now_ms)
{
    struct list *end = listener->delayed.previous, *link = listener->delayed.next;
    for (bool last = link == &listener->delayed; !last;) {
        struct connection *connection = LIST_OWNER(link, struct connection, waiting);
        last = link == end;
        link = link->next;
        if (connection->resume_ms <= now_ms)
            connection_resume(connection);
    }
}

static void expire_silent(struct listener *listener, uint64_t now_ms)
{
    const struct listener_options *options = &listener->options;
    struct connection *connection;
    while (!list_empty(&listener->begun)) {
        connection = LIST_OWNER(listener->begun.next, struct connection, timed);
        if (connection->deadline_ms > now_ms)
            break;
        connection_turn_out(connection, &listener->stats.closed_unfinished, connection->service->unfinished);
    }
    while (options->stranger_timeout_ms > 0 &&
           is_silent(listener, connection = first_heard(&listener->strangers), options->stranger_timeout_ms))
        connection_turn_out(connection, &listener->stats.closed_strangers, connection->service->no_password);
    const uint64_t silent_ms = options->idle_timeout_ms + LISTENER_HEARD_STEP_MS;
    while (options->idle_timeout_ms > 0 &&
           ((connection = find_silent(listener, &listener->strangers, silent_ms)) != NULL ||
            (connection = find_silent(listener, &listener->known, silent_ms)) != NULL))
        connection_turn_out(connection, &listener->stats.closed_idle, NULL);
}

static void on_timer(uv_timer_t *timer)
{
    struct listener *listener = timer->data;
    const uint64_t now_ms = uv_now(listener->loop);
    expire_timed(listener, now_ms);
    expire_delayed(listener, now_ms);
    expire_silent(listener, now_ms);
    if (!waits_for_some(listener))
        (void)uv_timer_stop(timer);
}

void listener_deadlines_init(struct listener *listener)
{
    list_init(&listener->timed);
    list_init(&listener->begun);
    list_init(&listener->strangers);
    list_init(&listener->known);
    list_init(&listener->delayed);
    listener_places_init(listener);
    (void)uv_timer_init(listener->loop, &listener->timer);
    listener->timer.data = listener;
}
