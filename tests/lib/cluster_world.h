/*
 * cluster_world: up to four real nodes, and links between them that do what a test says.
 *
 * The one idea: time is simulated and stands still between calls. A link delivers after its delay unless the test
 * cuts it, holds it or makes it stutter. After every step the node's invariants are checked. What nodes notice is
 * told, line by line; tests tell more (see cluster_harness.h). One world per program.
 */
#ifndef HEADGATE_TESTS_LIB_CLUSTER_WORLD_H
#define HEADGATE_TESTS_LIB_CLUSTER_WORLD_H

#include "cluster/node.h"
#include "limit/key.h"
#include "tests/lib/limits.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)

enum { WORLD_HOSTS_MAX = 4, WORLD_PACKETS_MAX = 8192, WORLD_TEXT_BYTES = 65536 };

enum { ANN, BOB, CAT, DAN }; /* hosts, by number */

struct world_host {
    struct node *node; /* NULL: not running */
    struct node_options options;
    uint64_t wake_ns, incarnation;
    uint64_t stalled_until_ns; /* it gets to run again then; what comes for it waits */
    uint64_t published_bytes_max, messages, requests;
    bool listens_to[WORLD_HOSTS_MAX];
};

enum link_mood { LINK_FINE, LINK_CUT, LINK_HELD, LINK_STUTTERS };

struct world_link {
    enum link_mood mood; /* held: packets pile up until they are released; stutters: each arrives twice */
    uint64_t delay_ns;
};

struct world_packet {
    enum event_kind kind;
    uint64_t at_ns, order;
    unsigned from, to;
    bool held;
    size_t size;
    char *data;
};

struct world {
    uint64_t now_ns, order;
    unsigned count;
    struct world_host host[WORLD_HOSTS_MAX];
    struct world_link link[WORLD_HOSTS_MAX][WORLD_HOSTS_MAX];
    struct world_packet packet[WORLD_PACKETS_MAX];
    unsigned packet_count;
    struct test_limits limits;
    struct effects effects;
    bool quiet;                                                  /* writes nothing down */
    void (*watch)(unsigned host, const struct effects *effects); /* sees what every step gives; may be NULL */
    struct bytes (*rewrite)(unsigned from, struct bytes bytes);  /* what a host says, as it travels; may be NULL */
    void (*step)(unsigned i,
                 const struct event *event); /* calls node_step, for who measures it; NULL: see step() */
    size_t text_size;
    char text[WORLD_TEXT_BYTES];
};

extern struct world world;

extern const char *const host_names[WORLD_HOSTS_MAX];

__attribute__((format(printf, 1, 2))) void tell(const char *format, ...);

/* ---- what a world is made of ---- */

/*
 * Two limits. "slow" has 160 tokens and gains one an hour, so that figures stay round; "fast" has 160 and gains
 * 160 a second. Neither declares an overshoot.
 */
void world_init(unsigned count);

/* `host` has `peer` in its config. */
void world_name_peer(unsigned host, unsigned peer);

void world_name_all(void);

/* ---- stepping ---- */

void host_down(unsigned i);

void step(unsigned i, struct event event, unsigned asker);

/* The next packet that may be delivered, or -1. */
int next_packet(void);

/* The next packet arrives, and nothing else happens. */
void world_step_packet(void);

/* What the request path asked for: an early push. */
void world_push(unsigned i);

/* The host does not get to run for so long, from now on. */
void world_stall(unsigned i, uint64_t ms);

/* Lets so much time pass. */
void world_run(uint64_t ms);

/* Until that host has published once more. */
void world_until_published(unsigned i);

#endif
