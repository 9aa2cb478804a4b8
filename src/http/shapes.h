/*
 * shapes: requests of gateways that are known by how they are written, and the charges that they come to under the
 * rules in force.
 *
 * The one idea: a request of /check that was answered may become a shape (shape.h). A request of a known shape is
 * neither parsed nor matched, only hashed; it is decided and answered as every other is. No shape is known where
 * clients must say who they are. The shapes of a thread serve all of its connections. Internal to src/http.
 */
#ifndef HEADGATE_HTTP_SHAPES_H
#define HEADGATE_HTTP_SHAPES_H

#include "commands/learning.h"
#include "http/message.h"
#include "http/shape.h"
#include "rules/match_shape.h"

struct http;
struct http_call;
struct http_session;
struct http_words;

enum { HTTP_SHAPES_MAX = 4 };

struct http_known {
    struct http_shape shape;
    struct command_query query; /* of the shape's text, with the values of the last request that was recognised */
    struct shape_match match;   /* with the ids of its charges */
    enum http_method method;
    bool keep_alive, is_1_0;
    unsigned denied_status; /* see words.h */
};

struct http_shapes {
    uint64_t edition;          /* of the rules; 0: no shape is known */
    uint32_t settings_edition; /* of the settings */
    struct learning learning;
    struct http_known known[HTTP_SHAPES_MAX];
};

/*
 * Recognises the request at the front of `input`, of which nothing was parsed yet: `message` becomes what parsing would
 * make of it, but for the target and the fields. *size: its bytes. NULL: it has no known shape.
 */
struct http_known *http_shapes_find(struct http *http, const struct http_session *session, struct bytes input,
                                    size_t *size);
/*
 * Gives the chance to learn the shape of a request of /check that was parsed, matched as `match` says, and decided.
 * Afterwards the views of the call are void.
 */
void http_shapes_learn(struct http_call *call, const struct match *match);

#endif
