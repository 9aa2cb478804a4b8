/*
 * Writes answers at once, as far as the system takes them. The rest waits in a buffer, and its
 * connection is blocked.
 */
#include "edge/clients/connection_parts.h"

#include <assert.h>
#include <string.h>

bool connection_write_now(struct connection *connection, const struct output *output)
{
    struct listener *listener = connection->listener;
    struct bytes rest;
    if (!stream_write(&connection->stream, output->data, output->size, &rest))
        return false;
    metric_add(&listener->stats.total_writes, 1);
    metric_add(&listener->stats.total_net_output_bytes, output->size);
    if (rest.size == 0)
        return true;
    connection->output = pool_take(&listener->pool, rest.size);
    if (connection->output == NULL) {
        metric_add(&listener->stats.closed_no_buffer, 1);
        return false;
    }
    connection_count_buffers(listener);
    memcpy(connection->output->data, rest.data, rest.size);
    connection_set_state(connection, CONNECTION_BLOCKED);
    stream_unwatch(&connection->stream);
    list_remove(&connection->aside);
    if (!stream_write_rest(&connection->stream, connection->output->data, rest.size))
        return false;
    connection->rest_bytes = stream_rest_bytes(&connection->stream);
    listener_watch(listener, connection, listener->options.stall_timeout_ms);
    return true;
}

void connection_note_written(struct connection *connection, bool broken)
{
    list_remove(&connection->timed);
    pool_put(&connection->listener->pool, &connection->output);
    connection_count_buffers(connection->listener);
    if (broken)
        connection_close(connection);
    else if (connection->state == CONNECTION_LAST)
        connection_linger(connection);
    else
        connection_go_on(connection);
}

void connection_write_or_close(struct connection *connection, const struct output *output)
{
    if (!connection_write_now(connection, output))
        connection_close(connection);
}

/*
 * Writes when the loop has polled. Then a client is woken up once for the answers of all its connections. And the
 * kernel is entered many times in a row: the nearest caches do not hold its code and the table together.
 */
void connection_write_soon(struct connection *connection, const struct output *output)
{
    struct listener *listener = connection->listener;
    struct output *unwritten = &listener->unwritten_output;
    assert(list_empty(&connection->unwritten));
    if (!output_has_room(unwritten, output->size))
        listener_write(listener);
    if (!output_has_room(unwritten, output->size)) {
        connection_write_or_close(connection, output);
        return;
    }
    connection->unwritten_at = unwritten->size;
    connection->unwritten_bytes = output->size;
    output_append(unwritten, output->data, output->size);
    list_insert_before(&listener->unwritten, &connection->unwritten);
}

/* Writes the connection's answers that wait in the listener's output together with answers of others. */
static void write_one(struct connection *connection)
{
    struct output output = output_over(connection->listener->unwritten_output.data + connection->unwritten_at,
                                       connection->unwritten_bytes);
    output.size = output.room;
    list_remove(&connection->unwritten);
    connection_write_or_close(connection, &output);
}

void listener_write(struct listener *listener)
{
    while (!list_empty(&listener->unwritten))
        write_one(LIST_OWNER(listener->unwritten.next, struct connection, unwritten));
    listener->unwritten_output.size = 0;
}
