/*
 * cluster_world: up to four real nodes, and links between them that a test controls.
 *
 * The one idea: time is simulated and stands still between calls. A link delivers after its delay,
 * unless the test cuts it, holds it or makes it stutter. After every step the node's invariants are
 * checked. Notices of nodes are written down line by line; tests write down more (see
 * cluster_harness.h). A program has one world.
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

enum {
    WORLD_HOSTS_MAX = 4,
    WORLD_PACKETS_MAX = 8192,
    WORLD_TEXT_BYTES = 65536,
    WORLD_EVENTS_MAX = 1 << 16, /* more than tests need; the default takes 32 MB a node, which ASan marks */
};

enum { ANN, BOB, CAT, DAN }; /* hosts, by number */

struct world_host {
    struct node *node; /* NULL: the node does not run */
    struct node_options options;
    uint64_t wake_ns, incarnation;
    /* the node does not run before this time; packets for it wait */
    uint64_t stalled_until_ns;
    uint64_t published_bytes_max, messages, requests;
    bool listens_to[WORLD_HOSTS_MAX];
};

enum link_mood { LINK_FINE, LINK_CUT, LINK_HELD, LINK_STUTTERS };

struct world_link {
    /* held: packets wait until they are released; stutters: each packet arrives twice */
    enum link_mood mood;
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
    bool quiet; /* notices are not written down */
    /* sees the effects of every step; may be NULL */
    void (*watch)(unsigned host, const struct effects *effects);
    /* changes each message of a host on its way; may be NULL */
    struct bytes (*rewrite)(unsigned from, struct bytes bytes);
    void (*step)(unsigned i,
                 /* called instead of node_step, for tests that measure it; NULL: see step() */
                 const struct event *event);
    size_t text_size;
    char text[WORLD_TEXT_BYTES];
};

extern struct world world;

extern const char *const host_names[WORLD_HOSTS_MAX];

__attribute__((format(printf, 1, 2))) void tell(const char *format, ...);

/* ---- the parts of a world ---- */

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

/* The index of the next packet that may be delivered; -1: there is none. */
int next_packet(void);

/* Delivers the next packet; nothing else happens. */
void world_step_packet(void);

/* Makes the step that requests of the host have asked for: an early push. */
void world_push(unsigned i);

/* The host does not run for `ms` from now on. */
void world_stall(unsigned i, uint64_t ms);

/* Lets `ms` pass. */
void world_run(uint64_t ms);

/* Lets time pass until that host has published once more. */
void world_until_published(unsigned i);

#endif
