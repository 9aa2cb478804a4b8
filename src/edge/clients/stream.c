#include "edge/clients/stream.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KEEPALIVE_S = 60 };

static uv_stream_t *uv_stream_of(struct stream *stream)
{
    return (uv_stream_t *)&stream->tcp;
}

void stream_init(struct stream *stream, uv_loop_t *loop, const struct stream_events *events)
{
    stream->events = events;
    stream->fd = -1;
    stream->greeting = STREAM_READY;
    stream->heard = stream->resumed = stream->is_over = stream->is_broken = stream->holds = false;
    stream->handshakes = stream->plain_bytes = 0;
    stream->tls = NULL;
    stream->sealed = NULL;
    (void)uv_tcp_init(loop, &stream->tcp);
    stream->tcp.data = stream;
}

bool stream_accept(struct stream *stream, int fd, const struct stream_port *port)
{
    if (uv_tcp_open(&stream->tcp, fd) != 0) {
        (void)close(fd);
        return false;
    }
    stream->fd = fd;
    (void)uv_tcp_nodelay(&stream->tcp, 1);
    (void)uv_tcp_keepalive(&stream->tcp, 1, KEEPALIVE_S);
    if (port->tls == NULL)
        return true;
    stream->sealed = port->sealed;
    return stream_tls_begin(stream, port->tls, port->alpn);
}

void stream_describe_peer(const struct stream *stream, char *text, size_t room)
{
    struct sockaddr_storage address;
    int size = sizeof address;
    char host[INET6_ADDRSTRLEN] = "?";
    unsigned port = 0;
    if (uv_tcp_getpeername(&stream->tcp, (struct sockaddr *)&address, &size) == 0) {
        if (address.ss_family == AF_INET) {
            const struct sockaddr_in *v4 = (const void *)&address;
            (void)uv_ip4_name(v4, host, sizeof host);
            port = ntohs(v4->sin_port);
        } else if (address.ss_family == AF_INET6) {
            const struct sockaddr_in6 *v6 = (const void *)&address;
            (void)uv_ip6_name(v6, host, sizeof host);
            port = ntohs(v6->sin6_port);
        }
    }
    bool is_v6 = strchr(host, ':') != NULL;
    (void)snprintf(text, room, is_v6 ? "[%s]:%u" : "%s:%u", host, port);
}

void stream_place(const struct stream *stream, uint8_t place[STREAM_PLACE_BYTES])
{
    struct sockaddr_storage address;
    int size = sizeof address;
    memset(place, 0, STREAM_PLACE_BYTES);
    if (uv_tcp_getpeername(&stream->tcp, (struct sockaddr *)&address, &size) != 0)
        return;
    if (address.ss_family == AF_INET) {
        memcpy(place + 4, &((const struct sockaddr_in *)(const void *)&address)->sin_addr, 4);
    } else if (address.ss_family == AF_INET6) {
        const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)&address)->sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(v6))
            memcpy(place + 4, v6->s6_addr + 12, 4);
        else
            memcpy(place, v6->s6_addr, STREAM_PLACE_BYTES);
    }
}

/* ---- reading ---- */

/*
 * Gives libuv no room: libuv then reads nothing, and calls on_readable again as long as there is
 * something to read.
 */
static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)handle, (void)suggested;
    *buffer = uv_buf_init(NULL, 0);
}

static void on_readable(uv_stream_t *handle, ssize_t size, const uv_buf_t *buffer)
{
    struct stream *stream = handle->data;
    (void)size, (void)buffer;
    stream->events->readable(stream);
}

bool stream_watch(struct stream *stream)
{
    int failed = uv_read_start(uv_stream_of(stream), on_alloc, on_readable);
    return failed == 0 || failed == UV_EALREADY;
}

void stream_unwatch(struct stream *stream)
{
    (void)uv_read_stop(uv_stream_of(stream));
}

bool stream_is_left(const struct stream *stream)
{
    struct pollfd polled = {.fd = stream->fd, .events = POLLRDHUP};
    return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* ---- writing ---- */

static void on_written(uv_write_t *request, int status)
{
    struct stream *stream = request->handle->data;
    if (!uv_is_closing((const uv_handle_t *)&stream->tcp))
        stream->events->written(stream, status < 0);
}

bool stream_write_rest(struct stream *stream, char *rest, size_t size)
{
    uv_buf_t piece = uv_buf_init(rest, (unsigned)size);
    assert(stream_rest_bytes(stream) == 0);
    return uv_write(&stream->write, uv_stream_of(stream), &piece, 1, on_written) == 0;
}

size_t stream_rest_bytes(const struct stream *stream)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&stream->tcp);
}

static void on_shut(uv_shutdown_t *request, int status)
{
    struct stream *stream = request->handle->data;
    if (status < 0 && !uv_is_closing((const uv_handle_t *)&stream->tcp))
        stream->events->broken(stream);
}

bool stream_shut(struct stream *stream)
{
    if (stream->tls != NULL)
        stream_tls_shut(stream);
    return uv_shutdown(&stream->shutdown, uv_stream_of(stream), on_shut) == 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct stream *stream = handle->data;
    stream->events->closed(stream);
}

void stream_close(struct stream *stream)
{
    if (stream->tls != NULL)
        stream_tls_end(stream);
    uv_close((uv_handle_t *)&stream->tcp, on_closed);
}
