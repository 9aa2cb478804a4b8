/*
 * stream: a client's socket as the bytes that it carries.
 *
 * The one idea: every byte of a client comes through stream_read and leaves through stream_write or
 * stream_write_rest. The loop only says that there is something to read, and libuv reads nothing by
 * itself. A stream that encrypts differs in these three functions, and its owner does not notice. A
 * stream knows neither connections nor listeners.
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

/* The functions that tell the owner of a stream what happened. All calls come from the thread of the loop. */
struct stream_events {
    void (*readable)(struct stream *stream);             /* there is something to read, or the stream has ended */
    void (*written)(struct stream *stream, bool broken); /* the rest was taken, or never will be (`broken`) */
    void (*broken)(struct stream *stream);               /* the other side could not be told that the stream ends */
    void (*closed)(struct stream *stream);               /* nothing of the stream is in use any more */
};

struct stream {
    const struct stream_events *events;
    int fd;
    uv_tcp_t tcp;
    uv_write_t write;
    uv_shutdown_t shutdown;
};

/* Adds the stream to the loop: from then on the stream must be closed. `events` must outlive the stream. */
void stream_init(struct stream *stream, uv_loop_t *loop, const struct stream_events *events);
/*
 * Takes over the connection that `socket` has accepted. False: the client has gone already, or no
 * descriptor is free.
 */
bool stream_accept(struct stream *stream, uv_tcp_t *socket);
/* Writes the other side's address to `text`: "ip:port" or "[v6]:port". */
void stream_describe_peer(const struct stream *stream, char *text, size_t room);

/*
 * Has `readable` called while there is something to read, until stream_unwatch. False: the loop
 * cannot watch the stream.
 */
bool stream_watch(struct stream *stream);
void stream_unwatch(struct stream *stream);

/*
 * Has `rest` written as the other side takes it, then calls `written`. Only one rest at a time.
 * False: the stream is broken.
 */
bool stream_write_rest(struct stream *stream, char *rest, size_t size);
/* The bytes of the rest that the other side has not taken yet. */
size_t stream_rest_bytes(const struct stream *stream);
/* Tells the other side that no more output comes. False: it cannot be told. */
bool stream_shut(struct stream *stream);
void stream_close(struct stream *stream);

/* Reads at most `room` bytes. Returns their number; 0: nothing is there now; less than 0: the stream has ended. */
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

/*
 * Returns how many bytes the system takes at once. Must not be called while there is a rest. Less
 * than 0: the stream is broken.
 */
static inline ssize_t stream_write(struct stream *stream, const char *data, size_t size)
{
    ssize_t sent;
    do
        sent = send(stream->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 && (errno == EAGAIN || errno == ENOBUFS) ? 0 : sent;
}

#endif
