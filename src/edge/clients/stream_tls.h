/*
 * stream_tls: the TLS of one stream. stream.h calls these functions for a stream that has `tls`.
 *
 * The one idea: OpenSSL reads from the socket, at most a record ahead, and writes into a piece of memory that all
 * streams of a thread share. What one call has written leaves by one send. The system takes less only from a slow
 * reader; the owner then keeps the rest, as it keeps the rest of a plain stream. So a connection holds no output of
 * its own, and OpenSSL frees its buffers while a connection is idle.
 */
#ifndef HEADGATE_EDGE_CLIENTS_STREAM_TLS_H
#define HEADGATE_EDGE_CLIENTS_STREAM_TLS_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct bio_method_st;
struct stream;
struct tls;

/* What TLS adds to the longest output of a service, at most: see STREAM_TLS_PLAIN_MAX_BYTES. */
enum { STREAM_TLS_ADDED_BYTES = 2048, STREAM_TLS_PLAIN_MAX_BYTES = 128 << 10 };

/* The functions by which OpenSSL reads and writes. NULL: no memory. The caller must BIO_meth_free it. */
struct bio_method_st *stream_tls_transport(void);

/* Begins TLS on a stream whose socket is there. False: no memory. */
bool stream_tls_begin(struct stream *stream, struct tls *tls, const char *alpn);
/* As stream_read. Takes the handshake as far as it goes. */
ssize_t stream_tls_read(struct stream *stream, char *data, size_t room);
/* As stream_write. */
bool stream_tls_write(struct stream *stream, const char *data, size_t size, struct bytes *rest);
/* Tells the other side that no more output comes, if it can be told at once. */
void stream_tls_shut(struct stream *stream);
void stream_tls_end(struct stream *stream);

#endif
