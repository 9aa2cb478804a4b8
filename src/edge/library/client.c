/*
 * The connection of a client: addresses, bytes out and in, and replies as views into the input. All
 * functions return without waiting.
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

_Static_assert((int)HEADGATE_REPLY_STATUS == REPLY_STATUS && (int)HEADGATE_REPLY_ERROR == REPLY_ERROR &&
                   (int)HEADGATE_REPLY_INTEGER == REPLY_INTEGER && (int)HEADGATE_REPLY_TEXT == REPLY_TEXT &&
                   (int)HEADGATE_REPLY_NIL == REPLY_NIL && (int)HEADGATE_REPLY_ARRAY == REPLY_ARRAY,
               "kinds are converted by a cast");

enum headgate_client_status client_fail(struct headgate_client *client, enum headgate_client_status status,
                                        const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(client->message, sizeof client->message, format, arguments);
    va_end(arguments);
    return status;
}

/* Closes the connection; received bytes stay readable. */
static void hang_up(struct headgate_client *client)
{
    if (client->fd >= 0)
        (void)close(client->fd);
    client->fd = -1;
    client->connecting = false;
    client->output_start = client->output_end = 0;
    if (client->addresses)
        freeaddrinfo(client->addresses);
    client->addresses = client->next_address = NULL;
}

/* ---- creation and destruction ---- */

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
    if (host_size == 0 || host_size >= sizeof client->host || port[0] == '\0' ||
        strlen(port) >= sizeof client->port)
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
    if (!client->output || !client->input || !client->nodes || !client->replies) {
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

/* Tries the remaining addresses until one does not fail at once. */
static enum headgate_client_status try_addresses(struct headgate_client *client, int failed)
{
    while (client->next_address) {
        const struct addrinfo *address = client->next_address;
        client->next_address = address->ai_next;
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
    client->next_address = client->addresses;
    return try_addresses(client, EADDRNOTAVAIL);
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
        enum headgate_client_status status = try_addresses(client, failed);
        return status == HEADGATE_CLIENT_OK ? HEADGATE_CLIENT_AGAIN : status;
    }
    client->connecting = false;
    freeaddrinfo(client->addresses);
    client->addresses = client->next_address = NULL;
    return HEADGATE_CLIENT_OK;
}

/* ---- bytes ---- */

static enum headgate_client_status not_connected(struct headgate_client *client)
{
    if (!client->lost)
        return client_fail(client, HEADGATE_CLIENT_CLOSED, "not connected to %s", client->address);
    return client_fail(client, HEADGATE_CLIENT_CLOSED, "the daemon at %s closed the connection%s%s",
                       client->address, client->lost_error ? ": " : "",
                       client->lost_error ? strerror(client->lost_error) : "");
}

static enum headgate_client_status lost(struct headgate_client *client, int error)
{
    hang_up(client);
    client->lost = true;
    client->lost_error = error;
    return not_connected(client);
}

static enum headgate_client_status send_output(struct headgate_client *client)
{
    while (client->output_start < client->output_end) {
        ssize_t sent = send(client->fd, client->output + client->output_start,
                            client->output_end - client->output_start, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN ? HEADGATE_CLIENT_OK : lost(client, errno);
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

static enum headgate_client_status receive_input(struct headgate_client *client)
{
    while (make_input_room(client)) {
        ssize_t got =
            recv(client->fd, client->input + client->input_end, client->input_room - client->input_end, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == EAGAIN ? HEADGATE_CLIENT_OK : lost(client, errno);
        if (got == 0)
            return lost(client, 0);
        client->input_end += (size_t)got;
    }
    return HEADGATE_CLIENT_OK;
}

static void give_back_reply(struct headgate_client *client)
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
    bool room = client->input_end < client->input_room || client->input_start > 0;
    return (room ? HEADGATE_CLIENT_READ : 0) | (client->output_end > 0 ? HEADGATE_CLIENT_WRITE : 0);
}

enum headgate_client_status headgate_client_step(struct headgate_client *client, int events)
{
    give_back_reply(client);
    if (client->fd < 0)
        return not_connected(client);
    if (client->connecting) {
        enum headgate_client_status status = finish_connecting(client);
        if (status != HEADGATE_CLIENT_OK)
            return status;
    }
    enum headgate_client_status status = send_output(client);
    if (status == HEADGATE_CLIENT_OK && (events & HEADGATE_CLIENT_READ))
        status = receive_input(client);
    return status;
}

/* ---- requests and replies ---- */

enum headgate_client_status headgate_client_queue(struct headgate_client *client, size_t count,
                                                  const char *const *words, const size_t *sizes)
{
    enum { HEADER_BYTES = 24 }; /* a type, 20 digits, CR LF and the terminator */
    if (count == 0 || !words)
        return client_fail(client, HEADGATE_CLIENT_USAGE, "a command has at least one word");
    if (client->fd < 0)
        return not_connected(client);
    size_t needed = HEADER_BYTES;
    for (size_t i = 0; i < count; i++) {
        size_t size = sizes ? sizes[i] : strlen(words[i]);
        if (size > client->output_room)
            return client_fail(client, HEADGATE_CLIENT_FULL, "a word of %zu bytes: the limit is %zu for a request",
                               size, client->output_room);
        needed += size + HEADER_BYTES + 2;
        if (needed > client->output_room)
            return client_fail(client, HEADGATE_CLIENT_FULL, "the request is larger than the limit of %zu bytes",
                               client->output_room);
    }
    if (needed > client->output_room - client->output_end) {
        memmove(client->output, client->output + client->output_start, client->output_end - client->output_start);
        client->output_end -= client->output_start;
        client->output_start = 0;
    }
    if (needed > client->output_room - client->output_end)
        return client_fail(client, HEADGATE_CLIENT_FULL, "%zu bytes are waiting to be sent",
                           client->output_end - client->output_start);
    char *out = client->output + client->output_end;
    out += snprintf(out, HEADER_BYTES, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++) {
        size_t size = sizes ? sizes[i] : strlen(words[i]);
        out += snprintf(out, HEADER_BYTES, "$%zu\r\n", size);
        memcpy(out, words[i], size);
        memcpy(out + size, "\r\n", 2);
        out += size + 2;
    }
    client->output_end = (size_t)(out - client->output);
    client->pending++;
    return HEADGATE_CLIENT_OK;
}

/* Turns the parsed nodes into replies that point into the input; the CR behind each text becomes
 * its terminator. */
static void publish_reply(struct headgate_client *client, char *start)
{
    for (uint32_t i = 0; i < client->parser.node_count; i++) {
        const struct reply_node *node = &client->nodes[i];
        struct headgate_reply *reply = &client->replies[i];
        *reply = (struct headgate_reply){.kind = (enum headgate_reply_kind)node->kind,
                                         .count = node->count,
                                         .span = node->span,
                                         .integer = node->integer};
        if (node->kind == REPLY_STATUS || node->kind == REPLY_ERROR || node->kind == REPLY_TEXT) {
            start[node->offset + node->size] = '\0';
            reply->text = start + node->offset;
            reply->size = node->size;
        }
    }
}

enum headgate_client_status headgate_client_poll(struct headgate_client *client,
                                                 const struct headgate_reply **reply)
{
    *reply = NULL;
    give_back_reply(client);
    struct bytes input = {client->input + client->input_start, client->input_end - client->input_start};
    enum reply_progress progress = REPLY_INCOMPLETE;
    if (input.size > 0)
        progress = client->pending > 0 ? reply_parse(&client->parser, input) : REPLY_INVALID;
    if (progress == REPLY_INCOMPLETE)
        return client->fd >= 0 ? HEADGATE_CLIENT_AGAIN : not_connected(client);
    if (progress != REPLY_COMPLETE) {
        headgate_client_close(client);
        return client_fail(client, HEADGATE_CLIENT_PROTOCOL, "what %s answers is %s", client->address,
                           progress == REPLY_INVALID ? "not RESP2: is it a headgate daemon?"
                                                     : "over the client's limit");
    }
    publish_reply(client, client->input + client->input_start);
    client->taken = client->parser.position;
    client->pending--;
    reply_parser_reset(&client->parser);
    *reply = client->replies;
    if (client->replies[0].kind == HEADGATE_REPLY_ERROR)
        return client_fail(client, HEADGATE_CLIENT_REFUSED, "%s", client->replies[0].text);
    return HEADGATE_CLIENT_OK;
}

size_t headgate_client_pending(const struct headgate_client *client)
{
    return client->pending;
}
