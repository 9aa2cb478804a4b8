/*
 * A connection's turn: reads the connection and has the service serve the input, as far as the
 * turn's work allows. The listener says which connection has a turn, and when (listener_turns.c).
 */
#include "edge/clients/connection_parts.h"

#include <assert.h>

/* ---- serving ---- */

/*
 * Called when every complete command at the front was served. A part of a command may be left, and
 * must be complete before its deadline.
 */
static void note_served(struct connection *connection, size_t consumed, size_t left)
{
    struct listener *listener = connection->listener;
    if (connection->stranger && consumed > 0)
        listener_ask_known(listener, connection);
    if (left == 0 && list_empty(&connection->timed))
        return; /* nearly always */
    if (left == 0)
        list_remove(&connection->timed);
    else if (consumed > 0 || list_empty(&connection->timed))
        listener_note_begun(listener, connection);
}

/* The answer goes on until the connection ends. Nothing more is read: whatever the client still sends is ignored. */
static void begin_feeding(struct connection *connection)
{
    struct listener *listener = connection->listener;
    if (connection->stranger)
        listener_ask_known(listener, connection);
    (void)connection_hold(connection, NULL, 0);
    connection->fed = true;
    list_insert_before(&listener->fed, &connection->waiting);
}

/* Lets the connection wait as `status` says, or ends it. `left` is the input that was not served. */
static void leave(struct connection *connection, enum serve_status status, uint32_t delay_ms, struct bytes left)
{
    struct listener *listener = connection->listener;
    const bool blocked = connection->state == CONNECTION_BLOCKED;
    stream_unwatch(&connection->stream);
    if (status == SERVE_CLOSE) {
        metric_add(&listener->stats.closed_by_error, 1);
        if (blocked)
            connection_set_state(connection, CONNECTION_LAST);
        else
            connection_linger(connection);
        return;
    }
    if (!blocked)
        list_remove(&connection->timed);
    if (status == SERVE_FEED) {
        begin_feeding(connection);
        return;
    }
    connection->input_whole = left.size > 0;
    if (!connection_hold(connection, left.data, left.size)) {
        connection_close_for_want_of_room(connection);
        return;
    }
    connection->retries = status == SERVE_WAIT;
    if (status == SERVE_WAIT)
        list_insert_before(&listener->waiters, &connection->waiting);
    else if (status == SERVE_DELAY)
        listener_delay(listener, connection, delay_ms);
    else if (!blocked)
        listener_put_aside(listener, connection);
}

/* The service took all `size` bytes and answers them when the listener asks, or at once. */
static void put_off(struct connection *connection, size_t size)
{
    struct listener *listener = connection->listener;
    assert(connection->state == CONNECTION_OPEN);
    list_insert_before(&listener->late, &connection->late);
    note_served(connection, size, 0);
    (void)connection_hold(connection, NULL, 0);
    if (++listener->late_count == LISTENER_LATE_MAX || !listener->crowded)
        listener_answer(listener);
}

/* Every whole request was served: the rest waits for more input, the answers wait for those of other connections. */
static void finish(struct connection *connection, size_t consumed, struct bytes left, const struct output *output)
{
    assert(left.size < POOL_LARGE_BYTES); /* otherwise there would be no room to read more */
    note_served(connection, consumed, left.size);
    if (!connection_hold(connection, left.data, left.size))
        connection_close_for_want_of_room(connection);
    else if (output->size > 0)
        connection_write_soon(connection, output);
}

/*
 * Has `input` served (the shared one, or the held one) as far as `*work` allows. *work becomes the
 * work that is left. Afterwards the connection is open, blocked, aside, or about to close.
 */
static void serve(struct connection *connection, struct bytes input, uint32_t *work)
{
    struct listener *listener = connection->listener;
    const struct service *service = connection->service;
    struct serve_budget budget = {.work = *work};
    struct bytes left = input;
    enum serve_status status;
    struct output output;
    connection->input_whole = false;
    do {
        output = output_over(listener->output, LISTENER_OUTPUT_BYTES);
        size_t consumed = 0;
        status = service->serve(service->context, connection->session, left, &output, &budget, &consumed);
        assert(consumed <= left.size && !output.overflowed);
        assert(status != SERVE_AGAIN || output.size > 0);
        left = (struct bytes){left.data + consumed, left.size - consumed};
        if (status != SERVE_MORE && output.size > 0 && !connection_write_now(connection, &output)) {
            connection_close(connection);
            return;
        }
    } while (status == SERVE_AGAIN && connection->state == CONNECTION_OPEN);
    listener_weigh(listener, connection, *work - budget.work, budget.work == 0 || status == SERVE_ENOUGH);
    *work = budget.work;
    if (budget.rouses && list_empty(&connection->roused))
        list_insert_before(&listener->roused, &connection->roused);
    const size_t consumed = input.size - left.size;
    if (status == SERVE_LATER)
        put_off(connection, consumed);
    else if (status != SERVE_MORE || connection->state == CONNECTION_BLOCKED)
        leave(connection, status, budget.delay_ms, left);
    else
        finish(connection, consumed, left, &output);
}

/* ---- turns ---- */

/*
 * Writes all answers before anything is read, because reading may find the end of the stream.
 * False: the connection is not open any more.
 */
static bool settle(struct connection *connection)
{
    if (!list_empty(&connection->unwritten))
        listener_write(connection->listener);
    if (!list_empty(&connection->late)) /* a connection has answers put off only once */
        listener_answer(connection->listener);
    return connection->state == CONNECTION_OPEN;
}

static void take_turn(struct connection *connection, uint32_t *work)
{
    struct bytes input;
    connection->turn = connection->listener->turn;
    const bool greets = connection->greets;
    if (connection->input_whole)
        serve(connection, (struct bytes){connection->input->data + connection->input_at, connection->input_size},
              work);
    else if (settle(connection) && connection_read(connection, &input))
        serve(connection, input, work);
    if (greets) /* a step of a handshake takes as long as all other work of a turn */
        *work = 0;
}

void connection_hear(struct connection *connection)
{
    struct listener *listener = connection->listener;
    uint32_t work = listener->options.light_work;
    if (connection->state == CONNECTION_LINGERING)
        connection_discard(connection);
    if (connection->state != CONNECTION_OPEN)
        return;
    if (!listener_serves_now(listener, connection)) {
        listener_put_aside(listener, connection);
        return;
    }
    take_turn(connection, &work);
    if (connection->stream.holds && connection->state == CONNECTION_OPEN && list_empty(&connection->waiting) &&
        list_empty(&connection->aside))
        listener_put_aside(listener, connection);
}

void connection_take_turn(struct connection *connection, uint32_t *work)
{
    struct listener *listener = connection->listener;
    assert(connection->state == CONNECTION_OPEN && list_empty(&connection->waiting));
    connection->input_more = false;
    take_turn(connection, work);
    if (!list_empty(&listener->late)) /* the loop may be about to wait */
        listener_answer(listener);
    if (connection->state != CONNECTION_OPEN || !list_empty(&connection->waiting) ||
        !list_empty(&connection->aside))
        return;
    if (connection->input_more || connection->stream.holds)
        listener_put_aside(listener, connection);
    else
        connection_listen(connection);
}

void connection_go_on(struct connection *connection)
{
    assert(connection->state == CONNECTION_BLOCKED || connection->state == CONNECTION_OPEN);
    connection_set_state(connection, CONNECTION_OPEN);
    if (!list_empty(&connection->waiting))
        return;
    if (connection->input_whole || connection->stream.holds)
        listener_put_aside(connection->listener, connection);
    else
        connection_listen(connection);
}

/* ---- answers that come later ---- */

/* Asks the service for the answers that the service put off, and writes the answers. */
static void answer_one(struct connection *connection)
{
    char answers[LISTENER_LATE_BYTES]; /* the shared output may be in use */
    struct output output = output_over(answers, sizeof answers);
    list_remove(&connection->late);
    connection->service->answer(connection->service->context, connection->session, &output);
    assert(!output.overflowed);
    if (connection->state == CONNECTION_OPEN)
        connection_write_or_close(connection, &output);
}

/* Serves the input that was left, unless the client has gone. */
static void serve_left(struct connection *connection)
{
    uint32_t work = connection->listener->options.light_work;
    if (stream_is_left(&connection->stream))
        connection_close(connection);
    else
        connection_take_turn(connection, &work);
}

/* The answer that was just given is the last one of the connection. */
static bool is_last(struct connection *connection)
{
    const struct service *service = connection->service;
    return connection->listener->closing ||
           (service->ends != NULL && service->ends(service->context, connection->session));
}

/* The answer waits while the reader has not taken earlier answers. */
void connection_resume(struct connection *connection)
{
    struct listener *listener = connection->listener;
    struct output output = output_over(listener->output, LISTENER_OUTPUT_BYTES);
    if (connection->state != CONNECTION_OPEN ||
        !connection->service->resume(connection->service->context, connection->session, &output))
        return;
    assert(!output.overflowed);
    list_remove(&connection->waiting);
    if (output.size == 0 && connection->retries)
        serve_left(connection);
    else if (output.size > 0 && !connection_write_now(connection, &output))
        connection_close(connection);
    else if (is_last(connection) && connection->state == CONNECTION_BLOCKED)
        connection_finish(connection);
    else if (is_last(connection))
        connection_linger(connection);
    else if (connection->state == CONNECTION_OPEN)
        connection_go_on(connection);
}

/* Asks the service what it can say to requests that wait, unless the reader has not taken what was said before. */
static void rouse_one(struct connection *connection)
{
    struct listener *listener = connection->listener;
    if (!list_empty(&connection->unwritten))
        listener_write(listener);
    if (connection->state != CONNECTION_OPEN)
        return;
    struct output output = output_over(listener->output, LISTENER_OUTPUT_BYTES);
    if (!connection->service->rouse(connection->service->context, connection->session, &output))
        list_remove(&connection->roused);
    assert(!output.overflowed);
    if (output.size > 0)
        connection_write_or_close(connection, &output);
}

/* Asks the service for the next piece of the answer that goes on, unless the reader has not taken the one before. */
static void feed_one(struct connection *connection)
{
    struct output output = output_over(connection->listener->output, LISTENER_OUTPUT_BYTES);
    if (connection->state != CONNECTION_OPEN)
        return;
    if (!connection->service->feed(connection->service->context, connection->session, &output)) {
        connection_close(connection);
        return;
    }
    assert(output.size > 0 && !output.overflowed);
    connection_write_or_close(connection, &output);
}

/* ---- all connections of the listener that wait ---- */

void listener_answer(struct listener *listener)
{
    listener_write(listener);
    while (!list_empty(&listener->late))
        answer_one(LIST_OWNER(listener->late.next, struct connection, late));
    listener->late_count = 0;
}

void listener_resume(struct listener *listener)
{
    struct list *end = listener->waiters.previous, *link = listener->waiters.next;
    /* a connection that waits again stands behind `end` */
    for (bool last = link == &listener->waiters; !last;) {
        struct connection *connection = LIST_OWNER(link, struct connection, waiting);
        last = link == end;
        link = link->next;
        connection_resume(connection);
    }
    listener_write(listener); /* the loop may be about to wait */
}

void listener_rouse(struct listener *listener)
{
    struct list *next;
    for (struct list *link = listener->roused.next; link != &listener->roused; link = next) {
        next = link->next;
        rouse_one(LIST_OWNER(link, struct connection, roused));
    }
}

void listener_feed(struct listener *listener)
{
    struct list *next;
    for (struct list *link = listener->fed.next; link != &listener->fed; link = next) {
        next = link->next; /* this connection may close, no other */
        feed_one(LIST_OWNER(link, struct connection, waiting));
    }
}
