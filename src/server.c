/*
 * server runs the node: it turns messages of peers, changes of rules and the time into events, and
 * carries out the effects of each step. Work for peers waits for lulls between requests
 * (edge/process/pace.h). At the end it closes everything in an order that loses nothing.
 * server_start.c makes a server.
 */
#include "server_state.h"

#include <assert.h>
#include <inttypes.h>

enum {
    /* spends of clients cause at most one step in this time */
    PUSH_GAP_NS = 1000000,
    /* the time for the last messages to leave the process */
    LINGER_MS = 100,
};

/* ---- the node: events in, effects out ---- */

/* While a step is due the loop does not sleep, so that server_on_polled runs the step. */
static void set_due(struct server *server, bool due)
{
    server->step_due = due;
    if (due)
        (void)uv_idle_start(&server->awake, server_on_awake);
    else
        (void)uv_idle_stop(&server->awake);
}

/*
 * Sets the timer for the next step. If the node asked for another step at once, the step is due as
 * soon as clients leave time for it. A pause that is owed to clients comes before that.
 */
static void set_timer(struct server *server, uint64_t at_ns)
{
    bool again = at_ns <= server->last_step_ns && !server->resting;
    at_ns = server->resting ? pace_next_ns(&server->pace) : at_ns;
    set_due(server, again);
    if (again || at_ns == UINT64_MAX)
        (void)uv_timer_stop(&server->wake);
    else if (at_ns != server->wake_ns || !uv_is_active((uv_handle_t *)&server->wake))
        (void)uv_timer_start(&server->wake, server_on_wake, clock_timeout_ms(&server->worker.loop, at_ns), 0);
    server->wake_ns = at_ns;
}

void server_tell(struct server *server, const struct notice *notice)
{
    switch (notice->level) {
    case NOTICE_INFO:
        log_write(&server->log, LOG_LEVEL_INFO, "%s", notice->text);
        break;
    case NOTICE_WARNING:
        log_write(&server->log, LOG_LEVEL_WARNING, "%s", notice->text);
        break;
    }
}

static void carry_out(struct server *server, const struct effect *effect)
{
    struct bytes bytes = effect_bytes(&server->effects, effect);
    switch (effect->kind) {
    case EFFECT_PUBLISH:
        transport_publish(server->transport, bytes);
        break;
    case EFFECT_REQUEST:
        transport_request(server->transport, effect->name, effect->address, bytes);
        break;
    case EFFECT_REPLY:
        transport_reply(server->transport, bytes);
        break;
    case EFFECT_CONNECT:
        if (!transport_connect(server->transport, effect->name, effect->address))
            log_write(&server->log, LOG_LEVEL_WARNING, "cannot listen to the peer at '%s'", effect->address);
        else
            log_write(&server->log, LOG_LEVEL_DEBUG, "listening to the peer at %s from now on", effect->address);
        break;
    case EFFECT_DISCONNECT:
        log_write(&server->log, LOG_LEVEL_DEBUG, "no longer listening to the peer at %s", effect->address);
        transport_disconnect(server->transport, effect->name, effect->address);
        break;
    }
}

static void rest(struct server *server, bool rests)
{
    if (server->transport && rests != server->resting)
        transport_hold(server->transport, rests);
    server->resting = rests;
}

/*
 * Notes that work took the time from `from_ns` until now. No pause follows if no client has asked
 * since the last step.
 */
static void rest_after(struct server *server, uint64_t from_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    bool asked_first = worker_was_asked(&server->worker),
         asked = worker_threads_was_asked(&server->worker_threads) || asked_first;
    pace_worked(&server->pace, from_ns, now_ns);
    rest(server, asked && pace_next_ns(&server->pace) > now_ns && !server->leaving);
}

/*
 * Whoever connects to a socket of the service manager while this daemon joins waits, as clients do while none runs: it
 * would refuse all requests. But not for long: somebody may want to ask why it does not join.
 */
static void accept_handed(struct server *server, uint64_t now_ns)
{
    struct node_status status;
    if (atomic_load_explicit(&server->accepts_handed, memory_order_relaxed))
        return;
    node_status(server->node, &status);
    if (!status.decides && now_ns < server->accepts_handed_ns)
        return;
    atomic_store_explicit(&server->accepts_handed, true, memory_order_relaxed);
    worker_threads_rouse(&server->worker_threads);
}

void server_step(struct server *server, struct event *event)
{
    if (server->ending)
        return;
    assert(!server->stepping);
    uint64_t from_ns = clock_monotonic_ns();
    server->stepping = true;
    worker_begin_alone(&server->worker);
    struct turn turn = worker_turn(&server->worker);
    event->now_ns = turn.now_ns;
    event->wall_ms = turn.wall_ns / MILLISECOND_NS;
    event->clock_ns = clock_raw_ns(); /* read anew: peers' clocks are compared with it */
    worker_threads_stepped(&server->worker_threads);
    node_step(server->node, event, &server->effects);
    clock_hold(node_held_ppm(server->node));
    persist_versions(&server->persist, &server->effects);
    worker_end_alone(&server->worker);
    for (size_t i = 0; i < server->effects.effect_count; i++)
        carry_out(server, &server->effects.effect[i]);
    for (size_t i = 0; i < server->effects.notice_count; i++)
        server_tell(server, &server->effects.notice[i]);
    server_watch_weights(server);
    server_watch_limits(server);
    server_watch_journal(server, event->now_ns);
    persist_counters(&server->persist, &server->effects, event->now_ns);
    server->last_step_ns = event->now_ns;
    server->next_wake_ns = server->effects.next_wake_ns;
    server->stepping = false;
    accept_handed(server, event->now_ns);
    rest_after(server, from_ns);
    if (server->leaving && server->effects.left)
        server_end(server);
    else
        set_timer(server, server->next_wake_ns);
}

static bool wants_step(const struct server *server)
{
    return node_wants_step(server->node) || worker_threads_wants_step(&server->worker_threads);
}

void server_on_wake(uv_timer_t *timer)
{
    struct server *server = timer->data;
    uint64_t now_ns = worker_turn(&server->worker).now_ns;
    rest(server, server->resting && now_ns < pace_next_ns(&server->pace));
    if (!server->resting && (now_ns >= server->next_wake_ns || wants_step(server)))
        set_due(server, true);
    else
        set_timer(server, server->next_wake_ns);
}

void server_on_awake(uv_idle_t *handle)
{
    (void)handle; /* the loop does not sleep while the handle runs; nothing else is to do */
}

/* ---- the store ---- */

/* Runs in the store's thread. */
void server_on_store_wake(void *context)
{
    struct server *server = context;
    (void)uv_async_send(&server->store_wakes);
}

void server_hear_store(struct server *server)
{
    struct notice notice;
    while (server->persist.store && store_notice(server->persist.store, &notice))
        server_tell(server, &notice);
}

void server_on_persist_step(void *context, struct event *event)
{
    server_step(context, event);
}

void server_on_store_wakes(uv_async_t *handle)
{
    struct server *server = handle->data;
    struct persist_stepper stepper = {server_on_persist_step, server, worker_turn(&server->worker).now_ns};
    server_hear_store(server);
    if (!server->node || server->ending)
        return;
    persist_all(&server->persist, server->node, &stepper);
    persist_weights_kept(&server->persist, &stepper);
}

/* ---- peers ---- */

void server_on_message(void *context, const char *from, struct bytes bytes)
{
    server_step(context, &(struct event){.kind = EVENT_MESSAGE, .from = from, .bytes = bytes});
}

void server_on_request(void *context, const char *from, struct bytes bytes)
{
    server_step(context, &(struct event){.kind = EVENT_REQUEST, .from = from, .bytes = bytes});
}

void server_on_response(void *context, const char *from, struct bytes bytes)
{
    server_step(context, &(struct event){.kind = EVENT_RESPONSE, .from = from, .bytes = bytes});
}

/*
 * Publishing counts as work for peers, like the step that made the message: the next pause covers
 * both.
 */
void server_on_published(void *context, uint64_t from_ns, uint64_t to_ns)
{
    struct server *server = context;
    pace_worked(&server->pace, from_ns, to_ns);
}

void server_on_stuck(void *context, uint64_t connections)
{
    struct server *server = context;
    log_write(&server->log, LOG_LEVEL_WARNING,
              "%" PRIu64
              " connections to peers have ended and keep their descriptors: restart this daemon before all "
              "are used up",
              connections);
}

void server_on_reopened(void *context)
{
    struct server *server = context;
    log_write(&server->log, LOG_LEVEL_WARNING,
              "a port for peers did not listen any more and was opened again; connections to it were made anew");
}

void server_on_warn(void *context, const char *sentence)
{
    struct server *server = context;
    log_write(&server->log, LOG_LEVEL_WARNING, "%s", sentence);
}

/* ---- clients ---- */

static void step_if_wanted(struct server *server, uint64_t now_ns)
{
    uint64_t due_ns = server->last_step_ns + PUSH_GAP_NS;
    if (server->resting || server->step_due || server->ending || !wants_step(server))
        return; /* the timer of the pause looks again */
    if (now_ns >= due_ns)
        set_due(server, true);
    else if (due_ns < server->next_wake_ns)
        set_timer(server, due_ns);
}

static bool work_waits(const struct server *server)
{
    return server->step_due || (server->transport && transport_waits(server->transport));
}

/* A message of a peer takes a step of its own, and that step does whatever else is due. */
static bool do_piece(struct server *server)
{
    bool worked = server->transport && transport_work(server->transport);
    if (worked || !server->step_due)
        return worked;
    server_step(server, &(struct event){.kind = EVENT_WAKE});
    return true;
}

/*
 * A step takes as long as some requests, and requests that came meanwhile must wait for it. So work
 * for peers waits for a lull, each piece for a lull of its own; without lulls the work gets its
 * part of the time. With several threads only the first worker's clients count.
 */
void server_on_polled(void *context, bool served)
{
    struct server *server = context;
    if (!work_waits(server)) {
        pace_has_none(&server->pace);
        return;
    }
    uint64_t until_ns = pace_begin(&server->pace, clock_monotonic_ns(), served);
    bool worked = until_ns > 0;
    while (worked)
        worked = do_piece(server) && work_waits(server) && clock_monotonic_ns() < until_ns;
}

void server_on_decided(void *context, uint64_t now_ns)
{
    step_if_wanted(context, now_ns);
}

/* The file comes first: nobody hears of a key that a crash could lose. */
static bool rotate_key(struct server *server, struct event *event)
{
    struct notice notice = {0};
    event->signing = &server->settings->node.signing;
    if (!server->ending && persist_rotate_key(&server->persist, server->settings, &notice))
        return true;
    if (notice.text[0])
        server_tell(server, &notice);
    return false;
}

void server_on_submit(void *context, const struct event *event, struct rules_result *result)
{
    struct server *server = context;
    struct event copy = *event;
    bool stepped = !server->ending;
    if (copy.kind == EVENT_ROTATE && !rotate_key(server, &copy))
        return;
    server_step(server, &copy);
    if (result && stepped)
        *result = server->effects.rules;
}

/* ---- other threads ---- */

void server_on_wanted(void *context)
{
    struct server *server = context;
    if (!server->ending)
        step_if_wanted(server, worker_turn(&server->worker).now_ns);
}

/* No worker spends after this call, so the step can tell peers of all spends. */
void server_on_ended(void *context)
{
    struct server *server = context;
    if (server->leaving)
        server_step(server, &(struct event){.kind = EVENT_STOP});
}

/* ---- the end ---- */

static void nothing(void *context)
{
    (void)context;
}

static void on_lingered(uv_timer_t *timer)
{
    struct server *server = timer->data;
    server_hear_store(server);
    server_keep_replays(server);
    server_keep_reservations(server);
    if (!persist_finish(&server->persist)) /* clients who change rules still wait for what becomes of it */
        log_write(&server->log, LOG_LEVEL_WARNING, "what waited to be written to %s is lost",
                  server->persist.directory);
    if (server->transport) /* after the store is written: the sockets may take a moment to close */
        transport_destroy(&server->transport, nothing, NULL);
    uv_close((uv_handle_t *)&server->store_wakes, NULL);
    worker_threads_leave(&server->worker_threads);
    uv_close((uv_handle_t *)&server->awake, NULL);
    uv_close((uv_handle_t *)&server->wake, NULL);
    supervisor_close(&server->supervisor);
    server_signals_close(server);
}

/*
 * The node says nothing after this call. Its last messages get a moment to leave; then the loop
 * ends, because it has nothing left to do.
 */
void server_end(struct server *server)
{
    server->ending = true;
    set_due(server, false);
    populate_stop(&server->populate);
    worker_close_listener(&server->worker);
    worker_threads_stop(&server->worker_threads);
    if (server->transport)
        transport_flush(server->transport);
    bool talks = server->transport && transport_stats(server->transport).published_messages > 0;
    (void)uv_timer_start(&server->wake, on_lingered, talks ? LINGER_MS : 0, 0);
}
