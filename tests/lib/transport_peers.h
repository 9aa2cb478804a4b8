/*
 * transport_peers: transports that speak to each other over real sockets on 127.0.0.1, on one loop.
 *
 * The one idea: the loop turns only while a test waits for a condition; each turn does all work
 * that waits.
 */
#ifndef HEADGATE_TESTS_LIB_TRANSPORT_PEERS_H
#define HEADGATE_TESTS_LIB_TRANSPORT_PEERS_H

#include "edge/peers/transport.h"
#include "edge/peers/transport_tls.h"
#include "edge/process/clock.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE_MAX = 100000, DEADLINE_S = 60 };
enum { HASTY_MS = 300, PATIENT_MS = DEADLINE_S * 1000 };

struct peer {
    struct transport *transport;
    char gossip[64], snapshots[64];
    uint64_t messages, requests, responses, bytes, next, misordered;
    /* messages that were published later, and the time that publishing took */
    uint64_t later, later_ns;
    bool lazy;  /* does no work in a turn of the loop */
    bool rests; /* each message makes the peer hold its transport */
    size_t last_size;
    char last[64];
    /* gives up requests soon; other peers wait for as long as the test does */
    bool hasty;
    bool silent; /* does not answer requests */
    bool closed;
    struct transport_tls *tls; /* NULL: it speaks in clear */
    char from[64];             /* who has brought the last message or response */
    char warning[512];         /* the last one */
    unsigned warnings;
    uint64_t stuck; /* connections that the transport has reported as stuck */
};

extern uv_loop_t peers_loop;

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>

#endif

/*
 * A free port below the ephemeral range: a socket that dials a closed port within the range may
 * connect to itself.
 */
void free_address(char address[64]);

bool peer_start(struct peer *peer, struct error *error);

/* A test gives the others their roles. */
enum { PEERS_OTHERS = 3 };
extern struct peer a, b, c, listening, hasty, others[PEERS_OTHERS];

/* Turns the loop once, and does all work that waits. */
void turn(uv_run_mode mode);

/* another process took the port meanwhile: the loop must forget the transport first */
extern bool was_refused;

void peer_open(struct peer *peer);

void on_closed(void *context);

typedef bool condition_function(void);

void wake(uv_timer_t *timer);

/*
 * Runs the loop until the condition holds or the deadline passes. Calls `each` once in each turn.
 */
bool run_until(condition_function *condition, void (*each)(void));

static inline bool b_heard_again(void)
{
    return b.messages > 0;
}

/*
 * Publishes at once: nng 1.5.2 may wait for ever if a connection is closed while nng sends on it.
 */
void peers_say(struct peer *peer, const char *text);

void a_says_something(void);

/* The time until the first timer of the loop; -1: the loop has no timer. */
static inline int idle_ms(void)
{
    turn(UV_RUN_NOWAIT);
    uv_update_time(&peers_loop);
    return uv_backend_timeout(&peers_loop);
}

#endif
