/*
 * world: nodes that start, step and end, the network between them, their clocks and disks, and the faults of all these.
 *
 * The one idea: a fault is drawn in one place and told to the world, so that no part of the simulator asks why a node
 * is down or a link is cut.
 */
#ifndef HEADGATE_TESTS_SIM_WORLD_H
#define HEADGATE_TESTS_SIM_WORLD_H

#include "tests/sim/sim.h"

/* ---- world.c, world_start.c: nodes ---- */
void world_init(struct sim *sim);
void world_close(struct sim *sim);
void world_start(struct sim *sim, unsigned i);
/*
 * The node vanishes with its memory. Spends of which no other node knows are given back to the
 * truth.
 */
void world_crash(struct sim *sim, unsigned i);
void world_step(struct sim *sim, unsigned i, enum event_kind kind, struct bytes bytes, const char *name);
/* The same with a whole event; its time is filled in. */
void world_event(struct sim *sim, unsigned i, const struct event *event);
void world_wake(struct sim *sim, const struct happening *happening);
/* Must be called after a clock was bent: the node's wake-up comes at another time. */
void world_rearm(struct sim *sim, unsigned i);
uint64_t world_local_ns(const struct sim *sim, unsigned i);
/* The next requests come from some other thread of the node. */
void world_change_thread(struct sim *sim);
/* A node's own number within its region makes its name: "west-2". */
void world_node_name(const struct plan *plan, unsigned i, char *name, size_t room);
const char *world_region_name(unsigned region);
bool world_is_up(const struct sim *sim, unsigned i); /* the node exists; a leaving node does too */
/* False: some node has heard of spends that wait to be charged, as they do while somebody is silent. */
bool world_all_is_charged(const struct sim *sim);
/* True: every peer that has not left has heard of all batches of the node, and all that is heard is charged. */
bool world_is_acknowledged(const struct sim *sim, unsigned i);
/*
 * The node spent `tokens` in this life that some peer does not know. Returns the most of them that
 * the node's share of the refill may have paid off since all peers had acknowledged its batches:
 * these are not unsettled any more, but are lost with the node all the same.
 */
int64_t world_paid_off_units(const struct sim *sim, unsigned i, const struct limit *limit, uint64_t tokens,
                             uint64_t share);

/* ---- unawaited.c ---- */
/* the node goes on without having asked any peer */
void unawaited_begin(struct sim *sim, unsigned i);
void unawaited_after_step(struct sim *sim);

/* ---- network.c ---- */
void network_publish(struct sim *sim, unsigned from, struct bytes bytes);
void network_request(struct sim *sim, unsigned from, const char *snapshot_address, struct bytes bytes);
void network_reply(struct sim *sim, unsigned from, unsigned to, uint32_t to_life, struct bytes bytes);
void network_connect(struct sim *sim, unsigned listener, const char *gossip_address, bool connect);
void network_deliver(struct sim *sim, struct happening *happening);
bool network_is_cut(const struct sim *sim, unsigned from, unsigned to);

/* ---- faults.c ---- */
void faults_begin(struct sim *sim);
/* From now on nobody hears the node, which hears all: for so long, or as long as faults last. */
void faults_cut_off(struct sim *sim, unsigned i, uint64_t ns);
void faults_strike(struct sim *sim);
void faults_clock_goes(struct sim *sim, const struct happening *happening);
void faults_forget(struct sim *sim, const struct happening *happening);
/*
 * The node returns later. The last node that knows of spends does not crash, because then no law
 * could be promised.
 */
void faults_crash(struct sim *sim, unsigned i);
void faults_heal(struct sim *sim);
void faults_look(struct sim *sim, const struct happening *happening);
/* The longest time that a message from before the healing may still be on its way. */
uint64_t faults_longest_way_ns(const struct sim *sim);

/* ---- disks.c ---- */
/* All nodes start anew, some with the counters of their disks. */
void disks_draw(struct plan *plan);
void disks_begin(struct sim *sim);
/* Gives the node its counters; must be called before its first start. */
void disks_restore(struct sim *sim, unsigned i);

/* ---- sleepless.c: the clock that goes on while a machine sleeps, and while a step is taken ---- */
/* All nodes of that world read the clock, by sleepless_ns(). */
void sleepless_begin(struct sim *sim);
uint64_t sleepless_ns(void);

#endif
