/*
 * client: what the two halves of the client share: connection and bytes, and the blocking calls on top.
 *
 * include/headgate/client.h says what it does. Input and output are flat buffers: [start, end) is what waits;
 * it is moved to the front only when the end has no room left.
 */
#ifndef HEADGATE_EDGE_CLIENT_H
#define HEADGATE_EDGE_CLIENT_H

#include "headgate/client.h"
#include "wire/reply.h"

struct addrinfo;

struct headgate_client {
    char address[128], host[112], port[16]; /* as given, and its parts */
    bool address_valid;
    uint32_t timeout_ms;
    int fd; /* -1: not connected */
    bool connecting;
    bool lost; /* there was a connection, and the other end closed it, or this error did (0: none) */
    int lost_error;
    struct addrinfo *addresses, *next_address; /* while connecting */
    char *output, *input;
    size_t output_room, output_start, output_end;
    size_t input_room, input_start, input_end;
    size_t taken;   /* bytes at input_start that are a reply in the caller's hands */
    size_t pending; /* requests whose replies were not handed out yet */
    struct reply_parser parser;
    struct reply_node *nodes;
    struct headgate_reply *replies;
    char message[256];
};

/* Notes the sentence and returns `status`. */
enum headgate_client_status client_fail(struct headgate_client *client, enum headgate_client_status status,
                                        const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
