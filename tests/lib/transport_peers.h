/*
 * transport_peers: transports that speak to each other over real sockets on 127.0.0.1, on one loop.
 *
 * The loop turns only while a test waits for something; in each turn all that waits for them is done.
 */
#ifndef HEADGATE_TESTS_LIB_TRANSPORT_PEERS_H
#define HEADGATE_TESTS_LIB_TRANSPORT_PEERS_H

#include "edge/peers/transport.h"
#include "edge/process/clock.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE_MAX = 100000, DEADLINE_S = 10 };
enum { HASTY_MS = 300, PATIENT_MS = DEADLINE_S * 1000 };

struct peer {
    struct transport *transport;
    char gossip[64], snapshots[64];
    uint64_t messages, requests, responses, bytes, next, misordered;
    uint64_t later, later_ns; /* messages that were put off, and how long it took to publish them */
    bool lazy;                /* nothing of it is done in a turn of the loop */
    bool rests;               /* is held by each message */
    size_t last_size;
    char last[64];
    bool hasty;  /* gives up soon; others wait for as long as the test waits for them */
    bool silent; /* does not answer requests */
    bool closed;
    uint64_t stuck; /* connections that were said to be */
};

extern uv_loop_t peers_loop;

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>

#endif

/* Below the ephemeral range: dialling a closed port there may connect to itself. */
void free_address(char address[64]);

bool peer_start(struct peer *peer, struct error *error);

extern struct peer a, b, c, listening, hasty;

/* All that waits is done in each. */
void turn(uv_run_mode mode);

extern bool was_refused; /* by who took a port meanwhile: then the loop has to forget that first */

void peer_open(struct peer *peer);

void on_closed(void *context);

typedef bool condition_function(void);

void wake(uv_timer_t *timer);

/* Runs the loop until the condition or the deadline; calls `each` once a turn. */
bool run_until(condition_function *condition, void (*each)(void));

static inline bool b_heard_again(void)
{
    return b.messages > 0;
}

/* At once: nng 1.5.2 may wait for ever when what it is just sending to is closed. */
void peers_say(struct peer *peer, const char *text);

void a_says_something(void);

/* Nothing in the loop is due before that; -1: nothing ever is. */
static inline int idle_ms(void)
{
    turn(UV_RUN_NOWAIT);
    uv_update_time(&peers_loop);
    return uv_backend_timeout(&peers_loop);
}

#endif
