/*
 * The bytes of a connection of the load, in clear or over TLS.
 */
#include "edge/library/client_tls.h"
#include "operator/load.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>

bool load_stream_init(const struct load *load, struct load_connection *connection)
{
    const struct command_access *access = &load->options.access;
    const struct headgate_client_options options = {.tls = true,
                                                    .tls_ca = access->ca,
                                                    .tls_certificate = access->certificate,
                                                    .tls_key = access->key};
    const struct client_tls *first = load->connections[0].tls;
    if (!access->tls)
        return true;
    connection->tls = first != NULL ? client_tls_create_like(first) : client_tls_create(&options);
    return connection->tls != NULL;
}

void load_stream_close(struct load_connection *connection)
{
    client_tls_destroy(&connection->tls);
}

ssize_t load_stream_send(struct load_connection *connection, const char *data, size_t size)
{
    return connection->tls != NULL ? client_tls_send(connection->tls, data, size)
                                   : send(connection->fd, data, size, MSG_NOSIGNAL);
}

ssize_t load_stream_receive(struct load_connection *connection, char *data, size_t room)
{
    return connection->tls != NULL ? client_tls_receive(connection->tls, data, room)
                                   : recv(connection->fd, data, room, 0);
}

const char *load_stream_sentence(const struct load_connection *connection)
{
    return connection->tls != NULL && errno == EPROTO ? client_tls_sentence(connection->tls) : strerror(errno);
}

bool load_stream_holds(const struct load_connection *connection)
{
    return connection->tls != NULL && client_tls_holds(connection->tls);
}
