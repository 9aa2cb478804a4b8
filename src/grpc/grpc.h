/*
 * grpc: serves gRPC clients over HTTP/2: bytes in, decisions of the commands, bytes out. docs/envoy.md says what.
 *
 * The one idea: gRPC is a service of the listener beside RESP and HTTP (struct service). nghttp2 knows frames, streams
 * and windows and does no I/O; methods.c knows which function answers which path; commands/ask.h decides. A request is
 * decided in the turn in which its last byte comes, or waits for its share (commands/patient.h) while others go on. All
 * memory comes from a heap of fixed size (heap.h). No I/O.
 */
#ifndef HEADGATE_GRPC_GRPC_H
#define HEADGATE_GRPC_GRPC_H

#include "base/list.h"
#include "commands/commands.h"
#include "edge/clients/listener.h"
#include "edge/settings/http_settings.h"
#include "grpc/heap.h"

enum { GRPC_WATCH_MS = 250 }; /* how often it is looked at what answers that go on have to say */

struct grpc;
struct nghttp2_session;

/* What one connection remembers. Lives in the listener's memory, zeroed before grpc_open. */
struct grpc_session {
    struct grpc *grpc;
    struct nghttp2_session *http2; /* NULL: nothing was heard yet */
    struct grpc_account account;
    struct list calls;    /* the open streams */
    size_t message_bytes; /* of all requests that are not whole yet */
    uint32_t unfinished;  /* streams that are open, */
    uint32_t waiting;     /* of these, whose requests wait for their share: see patient.h, */
    uint32_t watching;    /* and whose answers go on */
    uint64_t watched_ns;  /* when it was last looked at what these have to say */
    bool ahead;           /* nghttp2 has had the first byte of the input: see grpc_serve */
    bool greeted;         /* the client's preface was whole */
    bool known;           /* it has asked something, with the password if there is one */
    bool warned;          /* it has heard that others should follow elsewhere: see grpc_go_away */
    bool unspoken;        /* grpc_rouse had more to say than there was room for */
    bool broken;          /* nothing more can be said to the client */
    bool ends;            /* it is closed once all is said */
    char address[LISTENER_ADDRESS_BYTES];
};

struct grpc_options {
    enum http_limit_fields limit_fields; /* of response_headers_to_add */
    enum path_spelling endpoint_spelling;
    size_t memory_bytes;         /* of all connections of the thread */
    uint64_t request_timeout_ns; /* in which a request that has begun must be whole */
};

/* `commands` outlives it, and is used from the first request on. NULL without memory. */
struct grpc *grpc_create(struct commands *commands, const struct grpc_options *options);
void grpc_destroy(struct grpc **grpc);
/*
 * Other options, for requests that begin from now on; the bound on memory counts at once. No more memory than at the
 * creation.
 */
void grpc_take_options(struct grpc *grpc, const struct grpc_options *options);

void grpc_open(struct grpc *grpc, struct grpc_session *session, const char *address);
void grpc_close(struct grpc_session *session);
/* As struct service asks of `serve`, with the time of this turn. */
enum serve_status grpc_serve(struct grpc *grpc, struct grpc_session *session, struct bytes input,
                             struct output *output, struct turn turn, size_t *consumed);
/* True: some request of the session waits for its share, or its answer goes on: grpc_rouse must be called. */
bool grpc_waits(const struct grpc_session *session);
/* True: grpc_rouse must be called each millisecond for some session of the thread; otherwise GRPC_WATCH_MS will do. */
bool grpc_waits_soon(const struct grpc *grpc);
/* As struct service asks of `rouse`. */
bool grpc_rouse(struct grpc *grpc, struct grpc_session *session, struct output *output, struct turn turn);
/* From now on each client that asks something hears, before its answer, that it should ask elsewhere. */
void grpc_go_away(struct grpc *grpc);
/* As struct service asks of `leave`: GOAWAY. */
void grpc_leave(struct grpc_session *session, struct output *output);
/* The work of the last grpc_serve, see struct serve_budget. */
uint32_t grpc_worked(const struct grpc *grpc);

#endif
