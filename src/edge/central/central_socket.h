/*
 * central_socket: the socket of an asynchronous connection of hiredis in a loop of libuv.
 *
 * The adapter that comes with hiredis never hears of an error of its socket, such as a refused connection, and would
 * wait for ever. This one has the socket read then, where hiredis finds the error.
 */
#ifndef HEADGATE_EDGE_CENTRAL_CENTRAL_SOCKET_H
#define HEADGATE_EDGE_CENTRAL_CENTRAL_SOCKET_H

#include <hiredis/async.h>
#include <stdbool.h>
#include <uv.h>

struct client_tls;

/* TLS on the socket, under what hiredis reads and writes; all zero: the socket speaks in clear. */
struct central_socket_tls {
    struct client_tls *tls;
    const char *host; /* whose certificate is expected; read when the connection is made */
    /* It speaks TLS now, and commands may be given. */
    void (*greeted)(redisAsyncContext *redis);
    /* It cannot go on, and the callee must free the connection. */
    void (*broken)(redisAsyncContext *redis, const char *why);
};

/*
 * Until hiredis frees the connection, and the loop has let go of the socket. False without memory. With TLS no command
 * may be given before `greeted`.
 */
bool central_socket_watch(uv_loop_t *loop, redisAsyncContext *redis, const struct central_socket_tls *tls);

#endif
