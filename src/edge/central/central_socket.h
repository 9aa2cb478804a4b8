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

/* Until hiredis frees the connection, and the loop has let go of the socket. False without memory. */
bool central_socket_watch(uv_loop_t *loop, redisAsyncContext *redis);

#endif
