/*
 * grpc_client: a real client of HTTP/2 in memory, against src/grpc and a node that is alone.
 *
 * The one idea: nghttp2 speaks on both sides, so that the test says only what is asked and reads what came; the bytes
 * between the two go in pieces of any size, through an output of any room, as the listener would carry them.
 */
#ifndef HEADGATE_TESTS_LIB_GRPC_CLIENT_H
#define HEADGATE_TESTS_LIB_GRPC_CLIENT_H

#include "grpc/grpc.h"

#include <nghttp2/nghttp2.h>

enum { GRPC_CLIENT_STREAMS = 4096, GRPC_CLIENT_BYTES = 1 << 20 };

#define GRPC_RATE_LIMIT "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"

/* What came of one stream. */
struct grpc_heard {
    char http[4];        /* :status */
    int status;          /* grpc-status; -1: none came */
    char sentence[512];  /* grpc-message, as it is */
    char *message;       /* with its prefix */
    size_t message_size; /* of both */
    bool closed;
    uint32_t error; /* of RST_STREAM */
};

struct grpc_client {
    struct grpc *grpc;
    struct grpc_session session;
    nghttp2_session *http2;
    char pending[GRPC_CLIENT_BYTES]; /* said and not consumed */
    size_t pending_size;
    size_t piece;   /* bytes that the listener reads at once; 0: all */
    size_t room;    /* of its output */
    uint32_t work;  /* of one turn; 0: no bound */
    bool went_away; /* GOAWAY came */
    int32_t last_stream;
    enum serve_status status; /* of the last serve */
    uint32_t rounds;          /* calls of serve */
    struct grpc_heard heard[GRPC_CLIENT_STREAMS];
};
extern struct grpc_client client;

/* A daemon of that memory, and a client that is connected to it; `window`: of each of its streams, at first. */
void grpc_client_begin(size_t memory_bytes, uint32_t window);
/* The same in a world that has begun. */
void grpc_client_begin_in(size_t memory_bytes, uint32_t window);
void grpc_client_end(void);
/* Another connection to the same daemon; the first one must be closed. */
void grpc_client_connect(uint32_t window);
void grpc_client_close(void);

/* Begins a request, and returns its stream. `authorization` and `timeout` may be NULL; `ends`: the message is all. */
int32_t grpc_client_ask(const char *path, struct bytes message, const char *authorization, const char *timeout,
                        bool ends);
/* A head of any fields, "name", "value", ..., NULL. */
int32_t grpc_client_head(const char *const *fields, bool ends);
/* Says more of a stream that did not end. */
void grpc_client_say(int32_t stream, struct bytes data, bool ends);
/* Carries bytes both ways until neither side has any. */
void grpc_client_run(void);
/* The same while time passes: the server is asked each millisecond what it has to say to requests that wait. */
void grpc_client_wait_ms(uint32_t ms);
/* Bytes as they are, to the server. */
void grpc_client_send(struct bytes bytes);
const struct grpc_heard *grpc_client_heard(int32_t stream);

#endif
