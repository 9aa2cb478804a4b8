/*
 * reply: what a server answers in RESP2, read by a client.
 *
 * The one idea: a reply stays where it was received; parsing lists its values, in the order in which they
 * were sent, as nodes that say where their bytes are. The parser goes on where it stopped when more bytes
 * have come, so that every byte is looked at once, in whatever pieces they arrive. Bounded in bytes, nodes
 * and depth; pure. It does not read RESP3, which a server speaks only after HELLO 3.
 */
#ifndef HEADGATE_WIRE_REPLY_H
#define HEADGATE_WIRE_REPLY_H

#include "base/bytes.h"

#include <stddef.h>
#include <stdint.h>

enum {
    REPLY_DEPTH_MAX = 8,         /* arrays in arrays */
    REPLY_HEADER_MAX_BYTES = 24, /* of a line that holds a number, without its CR and LF */
};

enum reply_kind { REPLY_STATUS, REPLY_ERROR, REPLY_INTEGER, REPLY_TEXT, REPLY_NIL, REPLY_ARRAY };

struct reply_node {
    enum reply_kind kind;
    uint32_t count;  /* of an array's elements; the first is the next node */
    uint32_t span;   /* nodes of this value, itself included: node + span is what follows it */
    int64_t integer; /* of REPLY_INTEGER */
    size_t offset;   /* of the bytes of a status, an error or a text in the input; CR and LF follow them */
    size_t size;
};

enum reply_progress {
    REPLY_COMPLETE,
    REPLY_INCOMPLETE, /* call again with more */
    REPLY_INVALID,    /* this is not RESP2: drop the connection */
    REPLY_TOO_LARGE,  /* more bytes, nodes or depth than allowed: drop the connection */
};

struct reply_parser {
    struct reply_node *node; /* the caller's */
    uint32_t node_room, node_count;
    size_t max_bytes;
    size_t position; /* bytes parsed; those of the whole reply when it is complete */
    size_t scanned;  /* no line ends before this */
    uint32_t depth;
    bool in_text; /* the header of the last node, a text, was read; its bytes are awaited */
    struct {
        uint32_t node, left; /* elements that are still to come */
    } open[REPLY_DEPTH_MAX];
};

/* `nodes` has room for node_room > 0 nodes and outlives the parser. A reply has at most max_bytes bytes. */
void reply_parser_init(struct reply_parser *parser, struct reply_node *nodes, uint32_t node_room, size_t max_bytes);

/* Makes ready for the next reply. */
void reply_parser_reset(struct reply_parser *parser);

/*
 * `input` begins with the reply's first byte and holds all that has come since, what was there at earlier calls
 * included (it may have moved). When complete: node[0 .. node_count), and parser->position bytes are the reply's.
 */
enum reply_progress reply_parse(struct reply_parser *parser, struct bytes input);

#endif
