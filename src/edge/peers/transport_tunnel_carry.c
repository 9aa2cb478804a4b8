/*
 * transport_tunnel_carry moves the bytes of one connection, as far as both sides take them: at most one
 * buffer in each direction waits. When one side ends, the other one gets the rest and then the end.
 */
#include "edge/peers/transport_tunnel_state.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Others want their turn as well. */
enum { ROUNDS_MAX = 16 };

static bool is_empty(const struct tunnel_pipe *pipe)
{
    return pipe->begin == pipe->end;
}

static bool would_block(void)
{
    return errno == EAGAIN || errno == EINTR;
}

/* What TLS could not do, and waits for. False: the connection has failed, or the other side has ended it. */
static bool wants(struct tunnel_connection *connection, int status)
{
    const int why = SSL_get_error(connection->ssl, status);
    if (why == SSL_ERROR_WANT_READ)
        connection->outer_wants |= POLLIN;
    if (why == SSL_ERROR_WANT_WRITE)
        connection->outer_wants |= POLLOUT;
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
}

/* ---- from nng ---- */

static bool read_inner(struct tunnel_connection *connection)
{
    struct tunnel_pipe *out = &connection->out;
    if (!is_empty(out) || out->ended)
        return false;
    const ssize_t size = recv(connection->inner, out->bytes, sizeof out->bytes, 0);
    if (size < 0 && would_block())
        return false;
    out->begin = 0;
    out->end = size > 0 ? (uint32_t)size : 0;
    out->ended = size <= 0;
    return true;
}

static bool write_outer(struct tunnel_connection *connection)
{
    struct tunnel_pipe *out = &connection->out;
    if (is_empty(out))
        return false;
    ERR_clear_error();
    const int size = SSL_write(connection->ssl, out->bytes + out->begin, (int)(out->end - out->begin));
    if (size > 0) {
        out->begin += (uint32_t)size;
        return true;
    }
    if (!wants(connection, size)) {
        out->begin = out->end; /* nobody is there to take it */
        out->ended = connection->in.ended = true;
    }
    return false;
}

/* ---- to nng ---- */

static bool read_outer(struct tunnel_connection *connection)
{
    struct tunnel_pipe *in = &connection->in;
    if (!is_empty(in) || in->ended)
        return false;
    ERR_clear_error();
    const int size = SSL_read(connection->ssl, in->bytes, sizeof in->bytes);
    if (size <= 0 && wants(connection, size))
        return false;
    in->begin = 0;
    in->end = size > 0 ? (uint32_t)size : 0;
    in->ended = size <= 0;
    return true;
}

static bool write_inner(struct tunnel_connection *connection)
{
    struct tunnel_pipe *in = &connection->in;
    if (is_empty(in))
        return false;
    const ssize_t size = send(connection->inner, in->bytes + in->begin, in->end - in->begin, MSG_NOSIGNAL);
    if (size > 0) {
        in->begin += (uint32_t)size;
        return true;
    }
    if (!would_block()) {
        in->begin = in->end;
        in->ended = connection->out.ended = true;
    }
    return false;
}

/* ---- both ---- */

bool tunnel_carry(struct tunnel_connection *connection)
{
    bool moved = true;
    connection->outer_wants = 0;
    for (int round = 0; moved && round < ROUNDS_MAX; round++) {
        moved = read_inner(connection);
        moved |= write_outer(connection);
        moved |= read_outer(connection);
        moved |= write_inner(connection);
    }
    connection->again = moved;
    const struct tunnel_pipe *out = &connection->out, *in = &connection->in;
    /* A peer that says no more is no peer; what it said last is handed over. */
    return !(out->ended && is_empty(out)) && !(in->ended && is_empty(in));
}

bool tunnel_shake(struct tunnel_connection *connection, bool *done)
{
    connection->outer_wants = 0;
    ERR_clear_error();
    const int status = SSL_do_handshake(connection->ssl);
    *done = status == 1;
    return *done || wants(connection, status);
}

short tunnel_inner_events(const struct tunnel_connection *connection)
{
    const short ends = connection->ending_ns == 0 ? POLLRDHUP : 0;
    if (connection->state != TUNNEL_CARRIES)
        return connection->state == TUNNEL_DIALS ? ends : 0;
    return (short)(ends | (is_empty(&connection->out) && !connection->out.ended ? POLLIN : 0) |
                   (is_empty(&connection->in) ? 0 : POLLOUT));
}

short tunnel_outer_events(const struct tunnel_connection *connection)
{
    return connection->state == TUNNEL_DIALS ? 0 : connection->outer_wants;
}

void tunnel_close(struct tunnel_connection *connection)
{
    if (connection->ssl != NULL) {
        ERR_clear_error();
        (void)SSL_shutdown(connection->ssl); /* says the end, if that needs no wait */
    }
    SSL_free(connection->ssl);
    connection->ssl = NULL;
    if (connection->inner >= 0)
        (void)close(connection->inner);
    if (connection->outer >= 0)
        (void)close(connection->outer);
    connection->inner = connection->outer = -1;
    contact_release(&connection->contact);
}
