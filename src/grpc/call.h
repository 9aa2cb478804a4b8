/*
 * call: one request of gRPC, from the head of its stream to the answer. Internal to src/grpc.
 *
 * The one idea: a method is a row of the table in methods.c and a function that is given a whole message and answers
 * once: by grpc_answer_room, which gives room for the message of the answer, or by grpc_refuse; or it takes a ticket
 * (patient.h), answers nothing, and is called again when that is due. A method whose answer goes on begins it with
 * grpc_stream_begin, and has a second function, which is called now and then and may say one more message. Streams,
 * heads, windows and passwords are not its business.
 */
#ifndef HEADGATE_GRPC_CALL_H
#define HEADGATE_GRPC_CALL_H

#include "commands/ask.h"
#include "grpc/arena.h"
#include "grpc/grpc.h"

#include <nghttp2/nghttp2.h>

enum {
    GRPC_STREAMS_MAX = 100,            /* of one connection, at a time */
    GRPC_CONNECTION_BYTES = 512 << 10, /* of the heap, for one connection, */
    GRPC_MESSAGES_BYTES = 128 << 10,   /* and of these for requests that are not whole yet */
    GRPC_MESSAGE_MAX_BYTES = 16 << 10, /* of one request that is read, */
    GRPC_SMALL_BYTES = 1 << 10,        /* of one that is read whatever else is not whole, */
    GRPC_UNREAD_MAX_BYTES = 4 << 20,   /* and of one that is heard to its end, and not read */
    GRPC_HEAD_MAX_BYTES = 8 << 10,     /* of one head, as HTTP/2 counts it */
    GRPC_ARENA_BYTES = 512 << 10,      /* in which one request is read and answered */
    GRPC_PREFIX_BYTES = 5,             /* before each message: whether it is compressed, and its size */
    GRPC_SENTENCE_BYTES = 512,
    GRPC_TRACE_BYTES = 55
};

/* As gRPC numbers them. */
enum grpc_status {
    GRPC_OK = 0,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_PERMISSION_DENIED = 7,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
    GRPC_UNAUTHENTICATED = 16,
};

/* What one thread serves gRPC with. */
struct grpc {
    struct commands *commands;
    struct grpc_options options;
    struct turn turn;
    bool goes_away;   /* see grpc_go_away */
    uint32_t worked;  /* in the last call of grpc_serve */
    uint32_t waiting; /* requests of all connections that wait for their share, and sessions with more to say */
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    struct grpc_heap heap;
    struct grpc_arena arena;
    char *heap_room;
    _Alignas(max_align_t) char arena_room[GRPC_ARENA_BYTES];
};

struct grpc_call;

struct grpc_method {
    const char *path; /* "/package.Service/Method" */
    bool open;        /* needs no password */
    unsigned roles;   /* of which a client needs one; 0: none */
    void (*answer)(struct grpc_call *call);
    void (*answer_unread)(struct grpc_call *call); /* a message for which there was no room; NULL: an error */
    /* Of an answer that goes on, about each GRPC_WATCH_MS, while no message waits to be sent; otherwise NULL. */
    void (*go_on)(struct grpc_call *call);
};

enum grpc_admission {
    GRPC_NO_PASSWORD, /* none was said */
    GRPC_ADMITTED,
    GRPC_PASSWORD_WAITS, /* it is being compared */
    GRPC_WRONG_PASSWORD,
    GRPC_BARRED, /* no password of its address is looked at now */
};

struct grpc_call {
    struct list link; /* of session->calls */
    struct grpc_session *session;
    int32_t stream;
    const struct grpc_method *method; /* NULL: the path names none */
    uint64_t begun_ns, due_ns;        /* when its head came; when it must be whole, or its answer taken */
    enum http_limit_fields limit_fields;
    uint64_t timeout_ns;   /* UINT64_MAX: none was said */
    uint32_t head_bytes;   /* as HTTP/2 counts them */
    bool is_post, is_grpc; /* what the head says */
    bool timeout_is_wrong, is_encoded;
    bool ended;              /* the client has said all */
    bool answered;           /* further input of the stream is of no interest */
    bool goes_on;            /* more messages may follow those that were said */
    uint8_t told;            /* for the method: what was said last */
    uint32_t ticket;         /* of a request that waits for its share; 0: it does not. See patient.h */
    uint8_t admission;       /* enum grpc_admission */
    const struct user *user; /* who asks, once admitted with a password */
    uint32_t user_edition;   /* the user's at that time: another one now, and the user is gone */
    uint8_t trace_bytes;
    char trace[GRPC_TRACE_BYTES]; /* traceparent */
    uint8_t prefix_bytes;         /* how many were read */
    unsigned char prefix[GRPC_PREFIX_BYTES];
    uint32_t message_size, message_bytes; /* that it should have, and that are there */
    char *message;                        /* NULL while there is nothing of it, and where it is not read */
    bool is_unread;                       /* there was no room: its bytes are passed over */
    uint32_t answer_room;                 /* of an answer that goes on: bytes of the longest message, with prefix */
    uint32_t answer_size, answer_at;      /* with its prefix; how much of it was sent */
    char *answer;
};

/* ---- answer.c: each call is answered once ---- */

/* Room for the answer's message, of `size` bytes, which the caller fills before it returns. NULL: it was refused. */
char *grpc_answer_room(struct grpc_call *call, size_t size);
/*
 * The answer is messages of `size` bytes at most, until the client has had enough. False: it was refused. The method
 * says the first message at once, by grpc_stream_room.
 */
bool grpc_stream_begin(struct grpc_call *call, size_t size);
/* Room for the next message, of `size` bytes, which the caller fills before it returns. None may wait to be sent. */
char *grpc_stream_room(struct grpc_call *call, size_t size);
/* The answer is a status with a sentence. */
void grpc_refuse(struct grpc_call *call, enum grpc_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for what is no gRPC, in the words of HTTP. */
void grpc_refuse_http(struct grpc_call *call, const char *status);

/* ---- methods.c ---- */

/* NULL: there is no such path. */
const struct grpc_method *grpc_method(struct bytes path);

/* ---- guard.c ---- */

/* Compares the password in `authorization`, once for each call. */
void grpc_hear_password(struct grpc_call *call, struct bytes authorization);
/* Whether the client may ask; otherwise the call is answered. */
bool grpc_admit(struct grpc_call *call);

/* ---- head.c ---- */

/* A field of a head is counted, and read if it `is_read` and the head is not too long: those of trailers are not. */
void grpc_hear_field(struct grpc_call *call, struct bytes name, struct bytes value, bool is_read);
/* True: the head says all that a call needs; otherwise the call is answered. */
bool grpc_check_head(struct grpc_call *call);

/* ---- http2.c: what nghttp2 tells ---- */

/* False without memory. */
bool grpc_http2_prepare(struct grpc *grpc);
/* False: the heap has no room for another connection. */
bool grpc_http2_open(struct grpc_session *session);
/* Gives up requests that are not whole in time, and answers that are not taken. True: others are not whole yet. */
bool grpc_http2_expire(struct grpc_session *session);
/* Drops the tickets of all requests. */
void grpc_http2_leave(struct grpc_session *session);
/* Asks the methods whose answers go on for what they have to say by now. */
void grpc_http2_go_on(struct grpc_session *session);
/* Says which request was the last, and resets those that have no answer: they took nothing. */
void grpc_http2_go_away(struct grpc_session *session);
/* GOAWAY that leaves room for streams that are on their way. */
void grpc_http2_warn(struct grpc_session *session);
/* Has requests that wait decided again, those that are due. */
void grpc_http2_retry(struct grpc_session *session);

/* ---- what methods do ---- */

/* rate_limit.c */
void grpc_should_rate_limit(struct grpc_call *call);
void grpc_limit_unread(struct grpc_call *call);
/* health.c */
void grpc_health_check(struct grpc_call *call);
void grpc_health_watch(struct grpc_call *call);
void grpc_health_go_on(struct grpc_call *call);

#endif
