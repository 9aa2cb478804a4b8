/*
 * central_link: the connection of one thread to the central store: hiredis on the thread's loop.
 *
 * The one idea: a connection is made, greets (AUTH, the script), and is probed once a second. One that does not answer
 * its probes is dropped, and another one is made, as long as the link lives. Replies come in the order of the calls, so
 * that many calls are on their way at a time. What a call means is central.h's.
 */
#ifndef HEADGATE_EDGE_CENTRAL_CENTRAL_LINK_H
#define HEADGATE_EDGE_CENTRAL_CENTRAL_LINK_H

#include "edge/central/central.h"
#include "edge/process/log.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct central_link;
struct client_tls;

/* The texts must outlive the link. */
struct central_link_options {
    const char *name;      /* of the store, in the log */
    const char *sentinels; /* "host:port, host:port": who knows where the store is; "": it is at `address` */
    const char *master;    /* its name there */
    const char *address;   /* "host:port" */
    const char *user;      /* "": the default user */
    const char *password;  /* "": none is sent */
    const char *prefix;    /* of the names of keys, shorter than CENTRAL_PREFIX_BYTES */
    uint64_t timeout_ns;
    struct client_tls *tls;      /* NULL: it speaks in clear. The link's from now on */
    struct log *log;             /* of the thread; told when the store is up or down */
    void (*news)(void *context); /* see struct central_wire */
    void *context;
};

/* Begins to connect, in the turns of the loop. NULL without memory. */
struct central_link *central_link_create(uv_loop_t *loop, const struct central_link_options *options);
/* What is asked over the link. */
struct central *central_link_central(const struct central_link *link);
/* The log hears of the link from now on. */
void central_link_tell(struct central_link *link, struct log *log);
/*
 * All that waits fails, and the handles of the link begin to close. If its host is being looked up, they have closed
 * when that is over: so links that follow each other cannot leave many threads behind.
 */
void central_link_close(struct central_link *link);
/* After central_link_close: does not wait for the host either. */
void central_link_give_up(struct central_link *link);
/* True: its handles have closed. */
bool central_link_is_closed(const struct central_link *link);
/* After its handles have closed. *link may be NULL. */
void central_link_destroy(struct central_link **link);

#endif
