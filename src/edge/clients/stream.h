/*
 * stream: a client's socket as the bytes that it carries.
 *
 * The one idea: every byte of a client comes through stream_read and leaves through stream_write or
 * stream_write_rest. The loop only says that there is something to read, and libuv reads nothing by
 * itself. A stream that speaks TLS (stream_tls.h) differs in these functions, and in that it greets first. A
 * stream knows neither connections nor listeners.
 */
#ifndef HEADGATE_EDGE_CLIENTS_STREAM_H
#define HEADGATE_EDGE_CLIENTS_STREAM_H

#include "base/bytes.h"
#include "edge/clients/stream_tls.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <uv.h>

struct output;
struct ssl_st;
struct stream;
struct tls;

/* The functions that tell the owner of a stream what happened. All calls come from the thread of the loop. */
struct stream_events {
    void (*readable)(struct stream *stream);             /* there is something to read, or the stream has ended */
    void (*written)(struct stream *stream, bool broken); /* the rest was taken, or never will be (`broken`) */
    void (*broken)(struct stream *stream);               /* the other side could not be told that the stream ends */
    void (*closed)(struct stream *stream);               /* nothing of the stream is in use any more */
};

/* What has become of the handshake. A plain stream has none and is ready. */
enum stream_greeting {
    STREAM_READY,
    STREAM_GREETS,  /* the handshake goes on: there is nothing to read, and nothing may be written */
    STREAM_NOT_TLS, /* the stream has ended: the first byte was of no TLS */
    STREAM_REFUSED, /* the stream has ended: the handshake has failed */
};

/* What the streams of one port share. */
struct stream_port {
    struct tls *tls;       /* NULL: the streams are plain, and the rest is not used */
    const char *alpn;      /* see struct service */
    struct output *sealed; /* memory for what is to be sent, of all streams of a thread */
};

struct stream {
    const struct stream_events *events;
    int fd;
    enum stream_greeting greeting;
    bool heard, resumed;     /* some byte has come; the client brought a ticket of an earlier connection */
    bool is_over, is_broken; /* with TLS: nothing more is read; nothing more is written */
    bool holds;              /* there is more to read than the loop knows of */
    uint64_t handshakes,
        plain_bytes;       /* with TLS: records of handshakes after the first one; bytes that were read */
    struct ssl_st *tls;    /* NULL: the stream is plain, or TLS has ended */
    struct output *sealed; /* see struct stream_port; NULL: the stream is plain */
    uv_tcp_t tcp;
    uv_write_t write;
    uv_shutdown_t shutdown;
};

/* Adds the stream to the loop: from then on the stream must be closed. `events` must outlive the stream. */
void stream_init(struct stream *stream, uv_loop_t *loop, const struct stream_events *events);
/*
 * Takes over `fd`, a connection that was accepted. False: libuv or TLS has no memory for it; `fd` is closed then, or
 * when the stream is.
 */
bool stream_accept(struct stream *stream, int fd, const struct stream_port *port);
enum { STREAM_PLACE_BYTES = 8 };
/* Writes where the other side is: its address of IPv4, or the /64 of its address of IPv6. Zero: it is not known. */
void stream_place(const struct stream *stream, uint8_t place[STREAM_PLACE_BYTES]);
/* Writes the other side's address to `text`: "ip:port" or "[v6]:port". */
void stream_describe_peer(const struct stream *stream, char *text, size_t room);

/*
 * Has `readable` called while there is something to read, until stream_unwatch. False: the loop
 * cannot watch the stream.
 */
bool stream_watch(struct stream *stream);
void stream_unwatch(struct stream *stream);

/* True: the other side has closed the stream, or says nothing more, whatever is still to be read. */
bool stream_is_left(const struct stream *stream);

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

/*
 * Reads at most `room` bytes. Returns their number; 0: nothing is there now; less than 0: the stream has ended. While
 * `holds` is true, there is more to read, even if the loop says nothing.
 */
static inline ssize_t stream_read(struct stream *stream, char *data, size_t room)
{
    ssize_t size;
    if (stream->sealed != NULL)
        return stream_tls_read(stream, data, room);
    do
        size = recv(stream->fd, data, room, MSG_DONTWAIT);
    while (size < 0 && errno == EINTR);
    if (size > 0)
        return size;
    return size < 0 && errno == EAGAIN ? 0 : -1;
}

/* Returns how many bytes the system takes at once. Less than 0: the stream is broken. */
static inline ssize_t stream_send(struct stream *stream, const char *data, size_t size)
{
    ssize_t sent;
    do
        sent = send(stream->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 && (errno == EAGAIN || errno == ENOBUFS) ? 0 : sent;
}

/*
 * Writes what the system takes at once. *rest: what the owner must keep and hand to stream_write_rest; valid until
 * the next call for any stream of the thread. Must not be called while there is a rest. False: the stream is broken,
 * or still greets.
 */
static inline bool stream_write(struct stream *stream, const char *data, size_t size, struct bytes *rest)
{
    if (stream->sealed != NULL)
        return stream_tls_write(stream, data, size, rest);
    const ssize_t sent = stream_send(stream, data, size);
    if (sent < 0)
        return false;
    *rest = (struct bytes){data + sent, size - (size_t)sent};
    return true;
}

#endif
