/*
 * call: what a path is given to answer one request. Internal to src/http.
 *
 * The one idea: a path is a row of the table in routes.c and a function that fills a call: its status, its type, fields
 * of the head, and a body. The bytes of the head, HEAD, keep-alive and passwords are not its business. To add a page
 * that is a text: one row, and one function that puts bytes into call->body and sets call->type.
 */
#ifndef HEADGATE_HTTP_CALL_H
#define HEADGATE_HTTP_CALL_H

#include "commands/ask.h"
#include "http/http.h"
#include "http/json_arena.h"
#include "http/message.h"
#include "http/options.h"
#include "http/put.h"
#include "http/shapes.h"

enum {
    HTTP_FIELDS_BYTES = 1024,        /* of the head of an answer, beyond the usual ones */
    HTTP_HEAD_BYTES = 2048,          /* of an answer, at most */
    HTTP_ANSWER_BYTES = 60 << 10,    /* the longest body of an answer, */
    HTTP_LONG_BYTES = 120 << 10,     /* and of a path with HTTP_ROUTE_LONG */
    HTTP_DECODED_BYTES = 24 << 10,   /* what of a request had to be decoded */
    HTTP_JSON_BYTES = 1 << 20,       /* the tree of a JSON body */
    HTTP_BATCH_MAX = 100,            /* requests in one body */
    HTTP_FIELD_NAME_BYTES = 64,      /* how much of a field's name an error shows */
    HTTP_CREDENTIALS_MAX_BYTES = 600 /* of Authorization */
};

/* What one thread serves HTTP with. */
struct http {
    struct commands *commands;
    struct http_options options;
    bool leaves;      /* see http_leave */
    uint32_t worked;  /* in the last call of http_serve */
    uint64_t usual_s; /* since 1970: of `usual` */
    size_t usual_bytes;
    char usual[80]; /* lines of the head that all answers of a second have */
    struct http_message message;
    struct http_shapes shapes;
    struct json_arena arena;
    char arena_room[HTTP_JSON_BYTES];
    char decoded[HTTP_DECODED_BYTES];
    char body[HTTP_LONG_BYTES];
    struct output event; /* over `body`, see http_make_event */
};

struct http_call {
    struct http *http;
    const struct http_settings *settings; /* that the request began with */
    struct http_session *session;
    const struct http_message *message;
    struct turn turn;
    struct http_known *known; /* the shape of the request, which was not parsed; NULL: it was */
    struct bytes frame;       /* the bytes of the request */
    struct bytes path, query; /* of the target; the query without its '?' */
    unsigned status;          /* 200 at first */
    const char *type;         /* "application/json" at first */
    struct output decoded;    /* over http->decoded */
    struct output fields;     /* lines for the head, each with its CR LF */
    struct output body;
    bool last;     /* no other request of the connection has come */
    bool closes;   /* the connection, after the answer */
    bool feeds;    /* the body goes on until the connection ends: see live.h */
    bool endless;  /* of HEAD: the answer to GET feeds, so that there is no length to tell */
    bool delays;   /* the answer waits for session_delay_ms: a wrong password */
    bool holds;    /* the request waits for its share, and is served again: see patient.h */
    uint32_t work; /* that the answer cost, see commands.h */
    char fields_room[HTTP_FIELDS_BYTES];
};

/* ---- response.c ---- */

/* The answer is a problem (RFC 9457); `field`: the one that is wrong, or NULL. What was in the body before is gone. */
void http_problem(struct http_call *call, unsigned status, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for a sentence of the commands, "ERR ..." and the like. */
void http_refuse(struct http_call *call, unsigned status, const char *field, const char *error);
/* The same, with the status that the sentence's first word stands for; 503 says when to come again. */
void http_refuse_by_word(struct http_call *call, const char *field, const char *error);
/* The same for an operator's mistake, with the parts that its sentence has. */
void http_problem_of(struct http_call *call, unsigned status, const struct error *error);
/* Writes what the call was answered with. */
void http_write(struct http_call *call, struct output *output);

/* From true to false no other thread decides: see `alone` of the commands.
 * What was found of the node before is void. */
static inline void http_alone(struct commands *commands, bool alone)
{
    if (commands->alone != NULL)
        commands->alone(commands->context, alone);
}

/* ---- routes.c ---- */

enum {
    HTTP_ROUTE_OPEN = 1 << 0, /* needs no password */
    HTTP_ROUTE_LONG = 1 << 1, /* may have an answer of HTTP_LONG_BYTES */
    HTTP_ROUTE_BELOW = 1 << 2 /* concerns all paths that begin so */
};

struct http_route {
    const char *path;
    unsigned methods; /* enum http_method */
    unsigned flags;
    unsigned reads, changes; /* roles of which a client needs one, by its method; 0: none */
    void (*answer)(struct http_call *call);
};

/* NULL: there is no such path. */
const struct http_route *http_route(struct bytes path);

/* ---- guard.c ---- */

/* Whether the client may ask for the route's path; otherwise the call is answered. */
bool http_admit(struct http_call *call, const struct http_route *route);

/* ---- what paths do ---- */

/* gateway.c */
void http_gateway(struct http_call *call);
/* What the request says, as words.h does. */
bool http_gateway_read(struct http_call *call, struct http_words *words);
/* check.c */
void http_check(struct http_call *call);
void http_peek(struct http_call *call);
/* tokens.c */
void http_refund(struct http_call *call);
void http_reset(struct http_call *call);
void http_reserve(struct http_call *call);
void http_commit(struct http_call *call);
void http_cancel(struct http_call *call);
void http_renew(struct http_call *call);
/* explain.c */
void http_explain(struct http_call *call);
/* nodes.c */
void http_nodes(struct http_call *call);
/* rules.c */
void http_rules(struct http_call *call);
void http_rules_below(struct http_call *call);
/* rule_change.c: fills the call once it is known what became of session->change, and forgets that; false: it is not. */
bool http_change_is_over(struct http_call *call);
void http_change_forget(struct http_change **change);
/* health.c */
void http_alive(struct http_call *call);
void http_ready(struct http_call *call);
/* dashboard.c */
void http_dashboard(struct http_call *call);
void http_dashboard_css(struct http_call *call);
void http_dashboard_js(struct http_call *call);
/* live.c */
void http_live(struct http_call *call);
/* metrics.c */
void http_metrics(struct http_call *call);
/* hot.c */
void http_hot(struct http_call *call);
/* weights.c */
void http_weights(struct http_call *call);
/* reload.c */
void http_reload(struct http_call *call);

#endif
