/*
 * daemons: the connections of headgate_daemons, each with what is known of it. Internal to the library.
 *
 * The one idea: a connection is made beside the calls, a step at each call, so that a daemon that is away costs nothing
 * while another one answers. include/headgate/daemons.h describes the calls. Clients and the
 * limiter are used by their public calls, so that a program without clients is linked without TLS.
 */
#ifndef HEADGATE_EDGE_LIBRARY_DAEMONS_H
#define HEADGATE_EDGE_LIBRARY_DAEMONS_H

#include "base/random.h"
#include "headgate/daemons.h"

#include <poll.h>
#include <sys/types.h>

struct sockaddr_storage;

enum link_state {
    LINK_AWAY,       /* not connected; to be tried again at `next_ns` */
    LINK_CONNECTING, /* until `next_ns` */
    LINK_GREETING,   /* connected; the reply to AUTH is not there, until `next_ns` */
    LINK_ASKING,     /* the same for the question whether the daemon decides */
    LINK_READY,
};

struct daemon_link {
    struct headgate_client *client;
    enum link_state state;
    uint64_t next_ns;    /* by clock_monotonic_ns */
    uint64_t looked_ns;  /* when it was looked at last */
    uint32_t looks_late; /* that found its time over, since it was dialled */
    uint32_t pause_ms;   /* of the next failure */
    bool answered;       /* since it was connected */
};

struct headgate_daemons {
    struct daemon_link link[HEADGATE_DAEMONS_MAX];
    size_t count;
    uint32_t timeout_ms, connect_timeout_ms, pause_min_ms, pause_max_ms;
    char *user, *password;
    pid_t process; /* whose connections they are */
    bool resend;
    uint64_t key[2], key_count; /* of idempotency keys: what no other program has, and how many there were */
    enum headgate_absence absence;
    struct headgate_limiter *local; /* NULL unless the absence is LOCAL */
    struct random random;           /* pauses need chance, not secrets */
    char message[256];
};

/* Keeps the sentence about what failed. */
void daemons_say(struct headgate_daemons *daemons, const char *sentence);
/* Closes the connection, and says when it is tried again. */
void link_fail(struct headgate_daemons *daemons, struct daemon_link *link, const char *sentence, uint64_t now_ns);
/* The connection is made anew at once. */
void link_retry(struct daemon_link *link, uint64_t now_ns);
/* A child of the process leaves the connections to it: answers to one would go to the other. */
void links_leave(struct headgate_daemons *daemons);
/*
 * Does what needs no waiting for all connections: begins, goes on, gives up, notices what was closed. `only`: for this
 * one alone; NULL: for all.
 */
void links_step(struct headgate_daemons *daemons, struct daemon_link *only, uint64_t now_ns);
/* The nearest connection that is ready, or `only` if that is; NULL: none is. */
struct daemon_link *links_ready(struct headgate_daemons *daemons, struct daemon_link *only);
/* The address that a ready connection goes to; AF_UNSPEC: it has ended. */
void link_peer(const struct daemon_link *link, struct sockaddr_storage *peer);
/* Whether it goes there. */
bool link_goes_to(const struct daemon_link *link, const struct sockaddr_storage *peer);
/* What poll is to look for. */
struct pollfd link_events(const struct daemon_link *link);
/* Waits until a connection (`only`: this one) that is being made goes on, or `until_ns`. False: none is being made. */
bool links_wait(struct headgate_daemons *daemons, const struct daemon_link *only, uint64_t until_ns);

/* ---- daemons_words.c ---- */

/* The place of an option, from word `from` on; `count`: it is not there. A value may be any word, an option's too. */
size_t words_find(size_t from, size_t count, const char *const *words, const char *option);
/* The plain number behind COST; 1 if there is none: costs by name are not of the limiter inside. */
uint64_t words_cost(size_t count, const char *const *words);

#endif
