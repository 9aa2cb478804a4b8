/*
 * client_tls: the TLS of a client's connection.
 *
 * The one idea: OpenSSL reads and writes the client's own socket, without waiting and without signals. So the client
 * goes on as without TLS: it steps when the descriptor is ready, and is told what to watch for.
 */
#ifndef HEADGATE_EDGE_LIBRARY_CLIENT_TLS_H
#define HEADGATE_EDGE_LIBRARY_CLIENT_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct headgate_client_options;
struct client_tls;

enum { CLIENT_TLS_SENTENCE_BYTES = 200 };

enum client_tls_status { CLIENT_TLS_DONE, CLIENT_TLS_AGAIN, CLIENT_TLS_FAILED };

/* Reads the files that the options name; the first mistake is kept for client_tls_begin. NULL: memory is short. */
struct client_tls *client_tls_create(const struct headgate_client_options *options);
/* The same for another connection, with the files that `first` has read. `first` may go before it. */
struct client_tls *client_tls_create_like(const struct client_tls *first);
void client_tls_destroy(struct client_tls **tls);

/* Begins on a connected socket with the daemon `host`. False: a file was wrong, or memory is short, as it says. */
bool client_tls_begin(struct client_tls *tls, int fd, const char *host);
/* Takes the handshake as far as it goes. */
enum client_tls_status client_tls_greet(struct client_tls *tls);
/* Forgets the connection; the caller closes the socket. */
void client_tls_end(struct client_tls *tls);

/* As send(2) and recv(2): -1 with errno, EAGAIN if nothing can be done now; EPROTO: the sentence says what is wrong. */
ssize_t client_tls_send(struct client_tls *tls, const char *data, size_t size);
ssize_t client_tls_receive(struct client_tls *tls, char *data, size_t room);

/* True: bytes of the daemon have arrived already that no event of the descriptor will tell of. */
bool client_tls_holds(const struct client_tls *tls);
/* True: the handshake, or else the last call, waits until the socket can be written. */
bool client_tls_writes(const struct client_tls *tls);
/* Why the last call has failed, as the end of a sentence. */
const char *client_tls_sentence(const struct client_tls *tls);

#endif
