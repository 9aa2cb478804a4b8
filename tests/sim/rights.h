/*
 * rights: what nodes granted each other of the keys of the plan, as the truth of these keys has it.
 *
 * The one idea: a voucher that is out is a part of the limit that its grantor may not use, wherever its holder is, so
 * the truth lists it until it is used, returned or lost.
 */
#ifndef HEADGATE_TESTS_SIM_RIGHTS_H
#define HEADGATE_TESTS_SIM_RIGHTS_H

#include "tests/sim/sim.h"

/* ---- windows.c ---- */
/* All rules are of windows, with more demand than shares allow, and nodes grant each other rights. */
void windows_draw(struct plan *plan);

/* ---- rights_load.c ---- */
/* Nodes grant each other rights. `demand`: in most worlds there is more demand than shares allow. */
void rights_draw(struct plan *plan, bool demand);
/* One node is asked for the whole limit of key k. Clients that are refused come again. */
void rights_burst(struct sim *sim, unsigned k);
void rights_come_again(struct sim *sim, unsigned i, unsigned k, uint64_t cost);

/* ---- rights.c ---- */
/* What the node may admit of the key from vouchers. */
int64_t rights_units(struct sim *sim, unsigned i, struct key_id id, uint16_t limit, const struct limit *of);
/* How far a view may be above a bucket's truth, and the truth below the overshoot, since the fast clock leapt. */
int64_t rights_slack_units(const struct sim *sim, struct truth *truth, const struct limit *limit);
/* The same of the view of node i, of a key whose home is that, or 0. */
int64_t rights_view_slack_units(const struct sim *sim, unsigned i, struct truth *truth, const struct limit *limit,
                                uint64_t home);
/* At most so much of the key is in vouchers, wherever they are. */
int64_t rights_out_units(struct sim *sim, unsigned k);
/* The truth of the key gets these units back. What does not fit makes room for vouchers that are out. */
void rights_forgotten(struct sim *sim, unsigned k, int64_t units);
/*
 * The same of units that are lost with node i, whose grants may be among them: holders that know these grants, and are
 * lost as well, may have used their tokens meanwhile.
 */
void rights_lost_with(struct sim *sim, unsigned i, unsigned k, int64_t units);
/* The same of the key of a rule, whose truth has no room for these units. */
void rights_of_rule_lost_with(struct sim *sim, unsigned i, const struct ask_part *part, int64_t units);
/* The clock of node i is about to leap by so much, and the fast clock with it. */
void rights_clock_leaps(struct sim *sim, unsigned i, uint64_t ns);
/* Node i has forgotten what it granted as a home: others may still use as much. */
void rights_home_forgets(struct sim *sim, unsigned i);
/* Node i, perhaps a home, may have its figures from a node whose view is too high. */
void rights_home_starts(struct sim *sim, unsigned i);
void rights_node_starts(struct sim *sim, unsigned i);
void rights_after_step(struct sim *sim, unsigned i);

#endif
