/*
 * message: an HTTP/1 request as it comes, found in the bytes of a connection and read.
 *
 * The one idea: the bytes of a request are held in one piece until it is whole, so a message consists of views of
 * them. A framer remembers how far they were parsed: bytes that come one by one are parsed once, and once more when
 * the request is whole. llhttp parses, and refuses lengths that contradict each other; what it lets pass and proxies
 * may read otherwise (a lone CR or LF, folded lines, a missing Host, chunks in HTTP/1.0) is refused here. Bounded, no
 * allocation, knows no path and no answer.
 */
#ifndef HEADGATE_HTTP_MESSAGE_H
#define HEADGATE_HTTP_MESSAGE_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_HEAD_MAX_BYTES = 16 << 10,    /* the request line and the fields */
    HTTP_TARGET_MAX_BYTES = 8 << 10,   /* the path with its query */
    HTTP_HEADERS_MAX = 64,             /* fields */
    HTTP_BODY_MAX_BYTES = 64 << 10,    /* without the framing of chunks, */
    HTTP_REQUEST_MAX_BYTES = 96 << 10, /* and all of a request as it comes */
    HTTP_PARSER_BYTES = 128,           /* of llhttp's state */
};

enum http_method {
    HTTP_METHOD_GET = 1,
    HTTP_METHOD_HEAD = 2,
    HTTP_METHOD_POST = 4,
    HTTP_METHOD_PUT = 8,
    HTTP_METHOD_DELETE = 16,
    HTTP_METHOD_OTHER = 32,
};

struct http_header {
    struct bytes name, value;
};

/* Views are valid while the bytes of the request stay, and while no other request is read into this message. */
struct http_message {
    enum http_method method;
    struct bytes target; /* as it came, but without a scheme and a host */
    bool keep_alive, is_1_0;
    bool expects_continue; /* the client waits for 100 (Continue) before it sends the body */
    uint32_t header_count;
    struct http_header header[HTTP_HEADERS_MAX];
    struct bytes body;
    char unchunked[HTTP_BODY_MAX_BYTES]; /* a body that came in pieces */
};

/* How far a connection's request was parsed. All zero: nothing of it has come. */
struct http_framer {
    _Alignas(16) char parser[HTTP_PARSER_BYTES]; /* an llhttp_t */
    uint32_t parsed_bytes;
    uint32_t body_bytes; /* of them, without the framing of chunks */
    bool has_head;
    bool continued; /* 100 (Continue) was sent */
};

/* Why a request cannot be understood; the connection ends with it. */
struct http_fault {
    unsigned status;
    const char *text;
};

enum http_framing {
    HTTP_MORE,     /* it is not whole */
    HTTP_CONTINUE, /* nor is this one, and the client waits for 100 (Continue) */
    HTTP_WHOLE,    /* `message` has it, in `size` bytes; the framer is as new */
    HTTP_FAULT,
};

/*
 * Reads the request at the front of `input`, which has all bytes of it since the framer was new. A request that is not
 * whole has at most HTTP_REQUEST_MAX_BYTES.
 */
enum http_framing http_frame(struct http_framer *framer, struct bytes input, struct http_message *message,
                             size_t *size, struct http_fault *fault);

bool http_name_is(struct bytes name, const char *small);
/* The field of that name (small letters); .data is NULL: there is none. Of several, the first. */
struct bytes http_header(const struct http_message *message, const char *name);

#endif
