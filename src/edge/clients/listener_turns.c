/*
 * The order in which connections are served. A light connection asked for little when it was served last;
 * it is served as soon as it is heard. New and heavy connections wait aside. They are served between two
 * polls of the loop, for turn_work in all. So a light connection waits for one such share at most, however
 * many heavy connections there are and whatever they send.
 *
 * A light connection may turn out to be heavy. Once that has happened in a turn, the connections that are
 * heard later wait for the next turn, in order.
 */
#include "base/metric.h"
#include "edge/clients/connection.h"

static void on_busy(uv_idle_t *handle);

void listener_turns_init(struct listener *listener)
{
    for (unsigned weight = 0; weight < LISTENER_WEIGHTS; weight++)
        list_init(&listener->aside[weight]);
    listener->turn = 1;
    (void)uv_idle_init(listener->loop, &listener->busy);
    listener->busy.data = listener;
}

bool listener_serves_now(const struct listener *listener, const struct connection *connection)
{
    return connection->weight == LISTENER_LIGHT && !listener->is_over && connection->turn != listener->turn;
}

void listener_put_aside(struct listener *listener, struct connection *connection)
{
    stream_unwatch(&connection->stream);
    if (!connection->greets)
        list_remove(&connection->timed); /* from now on the client waits for the daemon */
    list_remove(&connection->aside);
    list_insert_before(&listener->aside[connection->weight], &connection->aside);
    (void)uv_idle_start(&listener->busy, on_busy); /* keeps the loop from sleeping */
}

void listener_weigh(struct listener *listener, struct connection *connection, uint32_t work, bool left)
{
    const bool light = work < listener->options.light_work && !left;
    if (left)
        metric_add(&listener->stats.turns_put_off, 1);
    if (!light && connection->weight == LISTENER_LIGHT)
        listener->is_over = true;
    connection->weight = light ? LISTENER_LIGHT : LISTENER_HEAVY;
}

/* The first connection of weight `weight` that has not had its turn yet. NULL: there is none. */
static struct connection *first_of(const struct listener *listener, enum listener_weight weight)
{
    const struct list *list = &listener->aside[weight];
    if (list_empty(list))
        return NULL;
    struct connection *connection = LIST_OWNER(list->next, struct connection, aside);
    /* otherwise the connections behind this one have had theirs as well */
    return connection->turn == listener->turn ? NULL : connection;
}

static void serve_light(struct listener *listener)
{
    struct connection *connection;
    while (!listener->is_over && (connection = first_of(listener, LISTENER_LIGHT)) != NULL) {
        uint32_t work = listener->options.light_work;
        list_remove(&connection->aside);
        connection_take_turn(connection, &work);
    }
}

/*
 * Serves connections of weight `weight` one after the other, as far as `work` goes. A visit by
 * itself costs visit_work. No visit begins with less than half of a turn's work: a pipeline that is
 * served in two pieces costs two visits. Returns the work that is left.
 */
static uint32_t serve_some(struct listener *listener, enum listener_weight weight, uint32_t work)
{
    struct connection *connection;
    while (work >= listener->options.turn_work / 2 && (connection = first_of(listener, weight)) != NULL) {
        work -= listener->options.visit_work;
        list_remove(&connection->aside);
        connection_take_turn(connection, &work);
    }
    return work;
}

/* Runs between two polls, after all light connections that were heard have their answers. */
static void on_busy(uv_idle_t *handle)
{
    struct listener *listener = handle->data;
    const uint32_t half = listener->options.turn_work / 2;
    serve_light(listener);
    uint32_t left = serve_some(listener, LISTENER_NEW, listener->is_over ? half : listener->options.turn_work);
    (void)serve_some(listener, LISTENER_HEAVY, left > half ? left : half);
    listener_write(listener);
    for (unsigned weight = 0; weight < LISTENER_WEIGHTS; weight++)
        if (!list_empty(&listener->aside[weight]))
            return;
    (void)uv_idle_stop(&listener->busy);
    /* Nobody waits. So a light connection that was served just now is served again as soon as the poll hears it. */
    listener->turn++;
}

void listener_end_turn(struct listener *listener)
{
    listener->turn++;
    listener->is_over = false;
    listener->crowded = listener->heard_count >= listener->options.crowd_count;
    listener->heard_count = 0;
    listener->accepted_count = 0;
}
