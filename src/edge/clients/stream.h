/*
 * stream: a client's socket as the bytes that it carries.
 *
 * The one idea: every byte of a client comes through stream_read and leaves through stream_write or
 * stream_write_rest. The loop says only that there is something to read, and libuv reads nothing by
 * itself. A stream that encrypts differs in these three functions, and its owner does not notice.
 * It knows neither connections nor listeners.
 */
#ifndef HEADGATE_EDGE_CLIENTS_STREAM_H
#define HEADGATE_EDGE_CLIENTS_STREAM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <uv.h>

struct stream;

/* What a stream tells its owner. All calls come from the loop's thread. */
struct stream_events {
    void (*readable)(struct stream *stream);             /* there is something to read, or the stream is over */
    void (*written)(struct stream *stream, bool broken); /* the rest was taken, or will never be */
    void (*broken)(struct stream *stream);               /* its end could not be told */
    void (*closed)(struct stream *stream);               /* nothing of it is in use any more */
};

struct stream {
    const struct stream_events *events;
    int fd;
    uv_tcp_t tcp;
    uv_write_t write;
    uv_shutdown_t shutdown;
};

/* Makes it known to the loop: from here on it has to be closed. `events` outlives it. */
void stream_init(struct stream *stream, uv_loop_t *loop, const struct stream_events *events);
/* Takes over what `socket` has accepted. False: it was gone already, or there is no descriptor. */
bool stream_accept(struct stream *stream, uv_tcp_t *socket);
/* Writes the other side's address to `text`: "ip:port" or "[v6]:port". */
void stream_describe_peer(const struct stream *stream, char *text, size_t room);

/* Has `readable` called while there is something to read, until stream_unwatch. False: that cannot be. */
bool stream_watch(struct stream *stream);
void stream_unwatch(struct stream *stream);

/* Has `rest` written as the other side takes it, then calls `written`. Only one at a time. False: it is broken. */
bool stream_write_rest(struct stream *stream, char *rest, size_t size);
/* How much of the rest was not taken yet. */
size_t stream_rest_bytes(const struct stream *stream);
/* Says that nothing more comes. False: that cannot be said. */
bool stream_shut(struct stream *stream);
void stream_close(struct stream *stream);

/* What has come, `room` bytes at most: how much. 0: nothing is there now; less: the stream is over. */
static inline ssize_t stream_read(struct stream *stream, char *data, size_t room)
{
    ssize_t size;
    do
        size = recv(stream->fd, data, room, MSG_DONTWAIT);
    while (size < 0 && errno == EINTR);
    if (size > 0)
        return size;
    return size < 0 && errno == EAGAIN ? 0 : -1;
}

/* How much the system takes at once, never while there is a rest; less than 0: the stream is broken. */
static inline ssize_t stream_write(struct stream *stream, const char *data, size_t size)
{
    ssize_t sent;
    do
        sent = send(stream->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 && (errno == EAGAIN || errno == ENOBUFS) ? 0 : sent;
}

#endif
