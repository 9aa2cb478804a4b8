/*
 * client: the state that client.c (connection and bytes), client_replies.c, client_calls.c and client_reserve.c
 * (blocking calls) share.
 *
 * The one idea: input and output are flat buffers whose pending bytes are [start, end); they move
 * to the front only when the end has no room left. include/headgate/client.h describes the calls.
 */
#ifndef HEADGATE_EDGE_LIBRARY_CLIENT_H
#define HEADGATE_EDGE_LIBRARY_CLIENT_H

#include "edge/library/client_tls.h"
#include "headgate/client.h"
#include "wire/reply.h"

struct addrinfo;

struct headgate_client {
    char address[128], host[112], port[16]; /* as given, and its parts */
    bool address_valid;
    uint32_t timeout_ms;
    int fd; /* -1: not connected */
    bool connecting;
    struct client_tls *tls; /* NULL: the bytes are plain */
    bool greets;            /* the handshake of TLS is not over */
    bool lost;              /* the connection was closed by the peer, or ended by `lost_error` (0: none) */
    int lost_error;
    struct addrinfo *addresses; /* used while connecting */
    const struct addrinfo *next_address;
    uint32_t addresses_left; /* that were not tried, the next one counted */
    bool heard;              /* some bytes of a reply, on this connection */
    uint32_t silent;         /* addresses that neither refused nor said anything: further ones come first */
    char *output, *input;
    size_t output_room, output_start, output_end;
    size_t input_room, input_start, input_end;
    size_t taken;   /* bytes at input_start of a reply that the caller still holds */
    size_t pending; /* requests whose replies were not handed out yet */
    struct reply_parser parser;
    struct reply_node *nodes;
    struct headgate_reply *replies;
    char message[256];
};

/* Stores the sentence and returns `status`. */
enum headgate_client_status client_fail(struct headgate_client *client, enum headgate_client_status status,
                                        const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Sets the sentence about an answer of another form, and returns HEADGATE_CLIENT_PROTOCOL. */
enum headgate_client_status client_misunderstood(struct headgate_client *client, const char *command);
/* Sets the sentence about a connection that is not there, or not any more. */
enum headgate_client_status client_not_connected(struct headgate_client *client);
/* Reads what has arrived, as far as there is room. */
enum headgate_client_status client_receive(struct headgate_client *client);
/* The caller is done with the last reply: its bytes may move. */
void client_give_back_reply(struct headgate_client *client);

#endif
