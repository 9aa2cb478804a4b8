/*
 * reply: parses the RESP2 replies of a server, for clients.
 *
 * The one idea: a reply stays where it was received; parsing lists its values, in the order in
 * which they were sent, as nodes that refer to their bytes. When more bytes have come, the parser
 * continues where it stopped, so that it reads every byte once, however the bytes are chunked.
 * Bounded in bytes, nodes and depth; pure. It does not read RESP3, which a server speaks only after
 * HELLO 3.
 */
#ifndef HEADGATE_WIRE_REPLY_H
#define HEADGATE_WIRE_REPLY_H

#include "base/bytes.h"

#include <stddef.h>
#include <stdint.h>

enum {
    REPLY_DEPTH_MAX = 8,         /* arrays in arrays */
    REPLY_HEADER_MAX_BYTES = 24, /* a line that holds a number, without its CR LF */
};

enum reply_kind { REPLY_STATUS, REPLY_ERROR, REPLY_INTEGER, REPLY_TEXT, REPLY_NIL, REPLY_ARRAY };

struct reply_node {
    enum reply_kind kind;
    uint32_t count;  /* elements of an array; the first element is the next node */
    uint32_t span;   /* nodes of this value, itself included: node + span is the next value */
    int64_t integer; /* of REPLY_INTEGER */
    size_t offset;   /* where the bytes of a status, an error or a text begin in the input; CR LF follow them */
    size_t size;
};

enum reply_progress {
    REPLY_COMPLETE,
    REPLY_INCOMPLETE, /* call again with more bytes */
    REPLY_INVALID,    /* the bytes are not RESP2: drop the connection */
    REPLY_TOO_LARGE,  /* more bytes, nodes or depth than allowed: drop the connection */
};

struct reply_parser {
    struct reply_node *node; /* owned by the caller */
    uint32_t node_room, node_count;
    size_t max_bytes;
    size_t position; /* bytes parsed; the size of the reply once it is complete */
    size_t scanned;  /* no line ends before this offset */
    uint32_t depth;
    bool in_text; /* the header of the last node, a text, was read; its bytes are still to come */
    struct {
        uint32_t node, left; /* elements that are still to come */
    } open[REPLY_DEPTH_MAX];
};

/* `nodes` must have room for node_room > 0 nodes and outlive the parser. A reply may have at most
 * max_bytes bytes. */
void reply_parser_init(struct reply_parser *parser, struct reply_node *nodes, uint32_t node_room, size_t max_bytes);

/* Prepares for the next reply. */
void reply_parser_reset(struct reply_parser *parser);

/*
 * `input` must begin with the reply's first byte and hold all bytes received since, including the
 * bytes of earlier calls; it may have moved. When the reply is complete, its values are node[0 ..
 * node_count), and its size is parser->position.
 */
enum reply_progress reply_parse(struct reply_parser *parser, struct bytes input);

#endif
