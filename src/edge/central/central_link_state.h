/*
 * central_link_state: the memory of a link to the central store, for the two files that are the link.
 *
 * The one idea: there is one connection at a time, or none. central_link_connect.c makes it and says why there is none;
 * central_link.c uses it, and drops it when it does not answer.
 */
#ifndef HEADGATE_EDGE_CENTRAL_CENTRAL_LINK_STATE_H
#define HEADGATE_EDGE_CENTRAL_CENTRAL_LINK_STATE_H

#include "edge/central/central_link.h"
#include "edge/central/central_script.h"
#include "edge/central/central_told.h"
#include "edge/process/resolver.h"

#include <hiredis/async.h>
#include <netdb.h>

enum { SHA_BYTES = 41 }; /* terminated */

struct central_link {
    struct central_link_options options;
    struct central *central;
    uv_loop_t *loop;
    uv_timer_t health, deadline;
    struct resolver resolver;
    uint32_t attempts;        /* which address of a host is next */
    uint32_t sentinels_asked; /* which sentinel is next */
    bool asks_sentinel;
    char at[NI_MAXHOST + NI_MAXSERV];    /* what is connected to, as it is configured or was found */
    char host[NI_MAXHOST];               /* that is connected to, as its address says */
    char found[NI_MAXHOST + NI_MAXSERV]; /* "host:port" of the store, as a sentinel says; "": none has said it */
    redisAsyncContext *redis;
    uint64_t begun_ns; /* of the connection, or of resolving */
    uint32_t open_handles;
    bool greeted, closing, resolver_closes;
    bool refuses; /* some call was answered with an error since the store was up */
    bool told_up;
    uint32_t checks_up; /* health checks that found the store up, one after the other */
    struct central_told told; /* since the store was up */
    char sha[SHA_BYTES];
    struct central_words words; /* of the call that is being made */
    /* hiredis keeps the address of a ticket's place, and no number; 1: the call has the script's text */
    char place[CENTRAL_ASKS_MAX + 2];
};

/* Notes why there is no connection: who has failed, a sentinel or the store, where sentinels are asked. */
void central_link_note_error(struct central_link *link, const char *why);
/* Begins to connect, unless that is under way, or there is a connection. */
void central_link_begin(struct central_link *link);
/* What the resolver of a link calls. */
void central_link_resolved(void *context, const char *why, const struct addrinfo *addresses);
/* The connection is over; hiredis frees it, or is told to. */
void central_link_lose(struct central_link *link, const redisAsyncContext *redis);
/* Ends the connection, if there is one. */
void central_link_drop(struct central_link *link);
/* Loads the script that every call names. */
void central_link_load_script(struct central_link *link);

#endif
