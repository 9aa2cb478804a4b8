/*
 * The connection of a client: addresses, and bytes out and in. All functions return without waiting.
 */
#include "headgate/client.h"

#include "edge/library/client.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

enum headgate_client_status client_fail(struct headgate_client *client, enum headgate_client_status status,
                                        const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(client->message, sizeof client->message, format, arguments);
    va_end(arguments);
    return status;
}

/* Somebody waited for the connection's first bytes, in vain. */
static bool was_silent(const struct headgate_client *client)
{
    return client->fd >= 0 &&
           (client->connecting || (!client->heard && (client->greets || client->pending > 0)));
}

/* Closes the connection; received bytes stay readable. */
static void hang_up(struct headgate_client *client)
{
    client->silent += was_silent(client);
    if (client->fd >= 0)
        (void)close(client->fd);
    client->fd = -1;
    client->connecting = client->greets = client->heard = false;
    if (client->tls)
        client_tls_end(client->tls);
    client->output_start = client->output_end = 0;
    if (client->addresses)
        freeaddrinfo(client->addresses);
    client->addresses = NULL;
    client->next_address = NULL;
    client->addresses_left = 0;
}

/* ---- creation and destruction ---- */

/* A number that is a port, or the name of a service. getaddrinfo takes any number, and the port is its last 16 bits. */
static bool is_port(const char *port)
{
    char *end;
    const unsigned long number = strtoul(port, &end, 10);
    return port[0] != '\0' && (*end != '\0' || (number > 0 && number <= UINT16_MAX));
}

/* Splits "[host]:port", "host:port" or "host" into the client's copies. An IPv6 address without a
 * port needs no brackets. */
static bool split_address(struct headgate_client *client, const char *address)
{
    const char *host = address, *end = strrchr(address, ':');
    const char *port = end ? end + 1 : "7070";
    if (!end)
        end = address + strlen(address);
    if (address[0] == '[') {
        host = address + 1;
        end = strchr(host, ']');
        if (!end || (end[1] != ':' && end[1] != '\0'))
            return false;
        port = end[1] == ':' ? end + 2 : "7070";
    } else if (end != strchr(address, ':') && *end == ':') {
        end = address + strlen(address);
        port = "7070";
    }
    size_t host_size = (size_t)(end - host);
    if (host_size == 0 || host_size >= sizeof client->host || !is_port(port) || strlen(port) >= sizeof client->port)
        return false;
    memcpy(client->host, host, host_size);
    client->host[host_size] = '\0';
    memcpy(client->port, port, strlen(port) + 1);
    return true;
}

struct headgate_client *headgate_client_create(const struct headgate_client_options *options)
{
    static const struct headgate_client_options defaults;
    if (!options)
        options = &defaults;
    struct headgate_client *client = calloc(1, sizeof *client);
    if (!client)
        return NULL;
    client->fd = -1;
    client->timeout_ms = options->timeout_ms ? options->timeout_ms : 1000;
    client->output_room = options->request_bytes_max ? options->request_bytes_max : 64 << 10;
    client->input_room = options->reply_bytes_max ? options->reply_bytes_max : 256 << 10;
    uint32_t elements = options->reply_elements_max ? options->reply_elements_max : 1024;
    client->output = malloc(client->output_room);
    client->input = malloc(client->input_room);
    client->nodes = calloc(elements, sizeof *client->nodes);
    client->replies = calloc(elements, sizeof *client->replies);
    client->tls = options->tls ? client_tls_create(options) : NULL;
    if (!client->output || !client->input || !client->nodes || !client->replies || (options->tls && !client->tls)) {
        headgate_client_destroy(&client);
        return NULL;
    }
    reply_parser_init(&client->parser, client->nodes, elements, client->input_room);
    const char *address = options->address ? options->address : "127.0.0.1:7070";
    (void)snprintf(client->address, sizeof client->address, "%s", address);
    client->address_valid = strlen(address) < sizeof client->address && split_address(client, address);
    return client;
}

void headgate_client_destroy(struct headgate_client **client)
{
    if (!*client)
        return;
    hang_up(*client);
    free((*client)->output);
    free((*client)->input);
    free((*client)->nodes);
    free((*client)->replies);
    client_tls_destroy(&(*client)->tls);
    free(*client);
    *client = NULL;
}

const char *headgate_client_message(const struct headgate_client *client)
{
    return client->message;
}

void headgate_client_close(struct headgate_client *client)
{
    hang_up(client);
    client->input_start = client->input_end = client->taken = 0;
    client->pending = 0;
    client->lost = false;
    reply_parser_reset(&client->parser);
}

/* ---- connecting ---- */

/* The first address is the one behind those that were silent before. The last one is followed by the first. */
static void begin_addresses(struct headgate_client *client)
{
    const struct addrinfo *first = client->addresses;
    assert(first != NULL); /* a name without addresses is unknown */
    for (const struct addrinfo *at = first; at != NULL; at = at->ai_next)
        client->addresses_left++;
    for (uint32_t skip = client->silent % client->addresses_left; skip > 0 && first->ai_next != NULL; skip--)
        first = first->ai_next;
    client->next_address = first;
}

static const struct addrinfo *take_address(struct headgate_client *client)
{
    const struct addrinfo *address = client->next_address;
    client->next_address = address->ai_next != NULL ? address->ai_next : client->addresses;
    client->addresses_left--;
    return address;
}

/* Tries the remaining addresses until one does not fail at once. */
static enum headgate_client_status try_addresses(struct headgate_client *client, int failed)
{
    while (client->addresses_left > 0) {
        const struct addrinfo *address = take_address(client);
        int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, address->ai_protocol);
        if (fd < 0) {
            failed = errno;
            continue;
        }
        int on = 1; /* requests are small and sent whole; waiting to fill packets would only delay them */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (connect(fd, address->ai_addr, address->ai_addrlen) == 0 || errno == EINPROGRESS) {
            client->fd = fd;
            client->connecting = true;
            return HEADGATE_CLIENT_OK;
        }
        failed = errno;
        (void)close(fd);
    }
    hang_up(client);
    return client_fail(client, HEADGATE_CLIENT_UNREACHABLE, "no daemon answers at %s: %s", client->address,
                       strerror(failed));
}

enum headgate_client_status headgate_client_start(struct headgate_client *client)
{
    headgate_client_close(client);
    if (!client->address_valid)
        return client_fail(client, HEADGATE_CLIENT_USAGE, "\"%s\" is no address: expected host:port",
                           client->address);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    int failed = getaddrinfo(client->host, client->port, &hints, &client->addresses);
    if (failed) {
        client->addresses = NULL;
        return client_fail(client, HEADGATE_CLIENT_UNREACHABLE, "cannot find %s: %s", client->address,
                           gai_strerror(failed));
    }
    begin_addresses(client);
    return try_addresses(client, EADDRNOTAVAIL);
}

static enum headgate_client_status no_tls(struct headgate_client *client)
{
    hang_up(client);
    return client_fail(client, HEADGATE_CLIENT_UNREACHABLE, "no TLS with %s: %s", client->address,
                       client_tls_sentence(client->tls));
}

static enum headgate_client_status greet(struct headgate_client *client)
{
    switch (client_tls_greet(client->tls)) {
    case CLIENT_TLS_DONE:
        client->greets = false;
        return HEADGATE_CLIENT_OK;
    case CLIENT_TLS_AGAIN:
        return HEADGATE_CLIENT_AGAIN;
    case CLIENT_TLS_FAILED:
        break;
    }
    return no_tls(client);
}

static enum headgate_client_status finish_connecting(struct headgate_client *client)
{
    /* Asks the socket: a spurious event must not count as a connection. */
    struct pollfd ready = {.fd = client->fd, .events = POLLOUT};
    if (poll(&ready, 1, 0) <= 0)
        return HEADGATE_CLIENT_AGAIN;
    int failed = 0;
    socklen_t size = sizeof failed;
    if (getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &failed, &size) < 0)
        failed = errno;
    if (failed) {
        (void)close(client->fd);
        client->fd = -1;
        client->connecting = false;
        enum headgate_client_status status = try_addresses(client, failed);
        return status == HEADGATE_CLIENT_OK ? HEADGATE_CLIENT_AGAIN : status;
    }
    client->connecting = false;
    freeaddrinfo(client->addresses);
    client->addresses = NULL;
    client->next_address = NULL;
    client->addresses_left = 0;
    client->greets = client->tls != NULL;
    return !client->greets || client_tls_begin(client->tls, client->fd, client->host) ? HEADGATE_CLIENT_OK
                                                                                      : no_tls(client);
}

/* ---- bytes ---- */

enum headgate_client_status client_not_connected(struct headgate_client *client)
{
    if (!client->lost)
        return client_fail(client, HEADGATE_CLIENT_CLOSED, "not connected to %s", client->address);
    return client_fail(client, HEADGATE_CLIENT_CLOSED, "the daemon at %s closed the connection%s%s",
                       client->address, client->lost_error ? ": " : "",
                       client->tls && client->lost_error == EPROTO ? client_tls_sentence(client->tls)
                       : client->lost_error                        ? strerror(client->lost_error)
                                                                   : "");
}

static enum headgate_client_status lost(struct headgate_client *client, int error)
{
    hang_up(client);
    client->lost = true;
    client->lost_error = error;
    return client_not_connected(client);
}

static enum headgate_client_status send_output(struct headgate_client *client)
{
    while (client->output_start < client->output_end) {
        const char *data = client->output + client->output_start;
        const size_t size = client->output_end - client->output_start;
        ssize_t sent =
            client->tls ? client_tls_send(client->tls, data, size) : send(client->fd, data, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return sent < 0 && errno == EAGAIN ? HEADGATE_CLIENT_OK : lost(client, sent < 0 ? errno : 0);
        client->output_start += (size_t)sent;
    }
    client->output_start = client->output_end = 0;
    return HEADGATE_CLIENT_OK;
}

/* Moves pending bytes to the front if that makes room. While the caller holds a reply (`taken` >
 * 0), nothing may move. */
static bool make_input_room(struct headgate_client *client)
{
    if (client->input_end < client->input_room)
        return true;
    if (client->taken > 0 || client->input_start == 0)
        return false;
    memmove(client->input, client->input + client->input_start, client->input_end - client->input_start);
    client->input_end -= client->input_start;
    client->input_start = 0;
    return true;
}

enum headgate_client_status client_receive(struct headgate_client *client)
{
    while (make_input_room(client)) {
        char *data = client->input + client->input_end;
        const size_t room = client->input_room - client->input_end;
        ssize_t got = client->tls ? client_tls_receive(client->tls, data, room) : recv(client->fd, data, room, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == EAGAIN ? HEADGATE_CLIENT_OK : lost(client, errno);
        if (got == 0)
            return lost(client, 0);
        client->input_end += (size_t)got;
        client->heard = true;
    }
    return HEADGATE_CLIENT_OK;
}

void client_give_back_reply(struct headgate_client *client)
{
    client->input_start += client->taken;
    client->taken = 0;
    if (client->input_start == client->input_end)
        client->input_start = client->input_end = 0;
}

int headgate_client_fd(const struct headgate_client *client)
{
    return client->fd;
}

int headgate_client_wanted(const struct headgate_client *client)
{
    if (client->fd < 0)
        return 0;
    if (client->connecting)
        return HEADGATE_CLIENT_WRITE;
    const bool tls_writes = client->tls && client_tls_writes(client->tls);
    if (client->greets)
        return tls_writes ? HEADGATE_CLIENT_WRITE : HEADGATE_CLIENT_READ;
    bool room = client->input_end < client->input_room || client->input_start > 0;
    return (room ? HEADGATE_CLIENT_READ : 0) | (client->output_end > 0 || tls_writes ? HEADGATE_CLIENT_WRITE : 0);
}

enum headgate_client_status headgate_client_step(struct headgate_client *client, int events)
{
    client_give_back_reply(client);
    if (client->fd < 0)
        return client_not_connected(client);
    if (client->connecting) {
        enum headgate_client_status status = finish_connecting(client);
        if (status != HEADGATE_CLIENT_OK)
            return status;
    }
    enum headgate_client_status status = client->greets ? greet(client) : HEADGATE_CLIENT_OK;
    if (status == HEADGATE_CLIENT_OK)
        status = send_output(client);
    if (status == HEADGATE_CLIENT_OK && (events & HEADGATE_CLIENT_READ))
        status = client_receive(client);
    return status;
}
