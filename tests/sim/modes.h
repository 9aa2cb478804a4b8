/*
 * modes: worlds of one special kind, each with what it draws, what it does in a run and which laws it has of its own.
 *
 * The one idea: a mode changes a plan that was drawn already, and every other world stays as it is without the mode.
 */
#ifndef HEADGATE_TESTS_SIM_MODES_H
#define HEADGATE_TESTS_SIM_MODES_H

#include "tests/sim/sim.h"

/* ---- takeover.c ---- */
/* Rights end by themselves; cuts, pauses and crashes are longer than that. */
void takeover_draw(struct plan *plan);
/* Similar worlds without takeover: members are silent for long, and charges wait (cluster/apply/uncharged.h). */
void lonely_draw(struct plan *plan);
void takeover_after_step(struct sim *sim);
/* How long it takes until all act again once faults are over. */
uint64_t takeover_agree_ns(const struct sim *sim);
/* All act, and nobody is thought to be gone. False: `text` says what is missing. */
bool takeover_is_over(struct sim *sim, unsigned i, char *text, size_t room);

/* ---- weights_auto.c ---- */
/* Weights follow demand. */
void weights_auto_draw(struct plan *plan);
void weights_auto_options(const struct plan *plan, struct node_options *options);
void weights_auto_after_step(struct sim *sim, unsigned i);

/* ---- weights.c ---- */
/* Operators change weights of regions. */
void weights_draw(struct plan *plan);
void weights_begin(struct sim *sim);
/* The weights of the plan are set for the last time. */
void weights_heal(struct sim *sim);
void weights_arrive(struct sim *sim, const struct happening *happening);
void weights_kept(struct sim *sim, const struct happening *happening);
void weights_after_step(struct sim *sim, unsigned i);
void weights_node_ends(struct sim *sim, unsigned i, bool crashes);
void weights_restore(struct sim *sim, unsigned i);
uint64_t weights_agree_ns(const struct sim *sim);
bool weights_are_over(struct sim *sim, unsigned i, char *text, size_t room);

/* ---- liars.c: a member that says false words about others ---- */
void liars_draw(struct plan *plan);
void liars_options(const struct sim *sim, unsigned i, struct node_options *options);
/* Nodes know all keys, as from their stores. */
void liars_restore(struct sim *sim, unsigned i);
/* The liar has just been heard, or is about to be. */
void liars_deliver(struct sim *sim, const struct happening *happening, bool before);
/* Nobody is ended by the word of another. */
void liars_after_step(struct sim *sim, unsigned i);
/*
 * Where keys are required, anybody is believed where a stranger is that the config does not name: it is dialled there
 * in vain. Who is forgotten is no more in the config of those who start.
 */
bool liars_may_have_dialled(const struct sim *sim, const char *address);

/* ---- liars_snapshots.c: what that member gives to those that ask for parts of its table ---- */
bool liars_lie_in_snapshots(const struct sim *sim);
/* What is heard in place of this reply, until the next lie; empty: nothing. */
struct bytes liars_reply(struct sim *sim, const struct happening *happening, struct bytes bytes);

/* ---- rule_weights.c: limits of rules with weights of their own ---- */
void rule_weights_draw(struct plan *plan);
/* The first limit has these weights, one for each region, which all nodes know when they start. */
void rule_weights_plan(struct plan *plan, const double *parts);
void rule_weights_node_starts(struct sim *sim, unsigned i);
/* Node i may learn a list now. */
void rule_weights_after_step(struct sim *sim, unsigned i);

/* ---- tiers.c: limits that are tiers of one rule ---- */
void tiers_draw(struct plan *plan);
void tiers_node_starts(struct sim *sim, unsigned i);
/* The tier of the next request at node i. */
uint16_t tiers_asked(struct sim *sim, unsigned i);
/* The same, as the number of one of so many. */
unsigned tiers_drawn(struct sim *sim, unsigned i, unsigned count);
void tiers_end(struct sim *sim);

/* ---- homes.c: limits of which one region, or one daemon, has the whole share ---- */
void homes_draw(struct plan *plan);
/* The rules are windows already, as windows_draw draws them. */
void homes_draw_windows(struct plan *plan);
/* One daemon has the whole of half of the limits that have a home. */
void homes_draw_daemons(struct plan *plan);
void homes_draw_buckets(struct plan *plan);
void homes_draw_leases(struct plan *plan);
void homes_options(const struct sim *sim, unsigned i, struct node_options *options);
void homes_after_step(struct sim *sim);
/* True: node i is in the region that is the home; 0: there is no home. */
bool homes_have(const struct sim *sim, unsigned i, uint64_t home);
/* True: a lease of the charge that node i renews is a new spend. Elsewhere it ends when it would have. */
bool homes_begin_anew(struct sim *sim, unsigned i, const struct charge *charge, const struct ask_part *part);
/* The homes among which keys choose, from the config of node i, which has its regions in an order of its own. */
void homes_of_node(const struct plan *plan, unsigned i, struct homes *homes);
/* The home of key s of rule r, of daemons or of those regions; 0: it has none. */
uint64_t homes_choice(const struct plan *plan, const struct homes *regions, unsigned r, unsigned s);
/* The same with the regions in the order of the first node. */
uint64_t homes_home_of(const struct sim *sim, unsigned r, unsigned s);
/* What node i has of the limit; `share`: what it has of limits without a home. */
uint64_t homes_share(struct sim *sim, unsigned i, struct key_id id, uint16_t limit, uint64_t share);
/* What all nodes together have of the limit. */
double homes_sum_of_shares(struct sim *sim, struct key_id id, uint16_t limit);

/* ---- newer.c: nodes of a later release ---- */
/*
 * Runs the plan twice: with nodes that say more than this release knows, and without. Nothing else
 * may differ.
 */
bool newer_run(struct sim *sim);
/* The node's message as it travels. */
struct bytes newer_bytes(struct sim *sim, unsigned from, struct bytes bytes);
/* Behind each message of such a node comes one of a kind that this release does not know. */
void newer_deliver(struct sim *sim, const struct happening *happening);

/* ---- clocks.c, healing.c: their modes are in scenarios.h ---- */
void clocks_draw(struct plan *plan);
/* One of the listed requests was decided. */
void healing_note(struct sim *sim, bool allowed);

/* ---- known.c ---- */
struct known_seed {
    uint64_t seed;
    bool without_rules, early, mild;
};
/*
 * Lines "seed reason", "seed / reason" for one without rules, "seed = reason" for one without what is drawn late,
 * "seed - reason" for one without both,
 * "seed ~ reason" for one without the demand of rights_draw;
 * others are skipped. To be read before any job is forked: they would share the file's position.
 */
unsigned known_read(const char *path, struct known_seed *known, unsigned room);

#endif
