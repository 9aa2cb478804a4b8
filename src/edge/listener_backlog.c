/*
 * Connections that ask for more than a turn of the loop has room for. Others are served as soon as they are heard;
 * these share the work of one connection in each turn, and the loop polls in between.
 */
#include "base/tally.h"
#include "edge/connection.h"

static void on_busy(uv_idle_t *handle)
{
    (void)handle; /* while it runs the loop does not sleep */
}

void listener_backlog_init(struct listener *listener)
{
    list_init(&listener->backlog);
    listener->turn = 1;
    (void)uv_idle_init(listener->loop, &listener->busy);
    listener->busy.data = listener;
}

void listener_put_aside(struct listener *listener, struct connection *connection)
{
    (void)uv_read_stop((uv_stream_t *)&connection->tcp);
    list_remove(&connection->timed); /* it is not the client that others wait for now */
    list_remove(&connection->backlog);
    list_insert_before(&listener->backlog, &connection->backlog);
    (void)uv_idle_start(&listener->busy, on_busy);
}

void listener_serve_backlog(struct listener *listener)
{
    uint32_t work = listener->options.turn_work;
    while (work > 0 && !list_empty(&listener->backlog)) {
        struct connection *connection = LIST_OWNER(listener->backlog.next, struct connection, backlog);
        if (connection->turn == listener->turn) /* so were those behind it, or they come next */
            break;
        list_remove(&connection->backlog);
        connection_take_turn(connection, &work);
    }
    if (list_empty(&listener->backlog))
        (void)uv_idle_stop(&listener->busy);
}
