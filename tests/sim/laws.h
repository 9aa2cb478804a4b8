/*
 * laws: what must hold at every moment, what must hold once all is healed, and the story that is told of it.
 *
 * The one idea: laws compare what nodes say of themselves with what the simulator alone knows, the truth of each key.
 */
#ifndef HEADGATE_TESTS_SIM_LAWS_H
#define HEADGATE_TESTS_SIM_LAWS_H

#include "tests/sim/sim.h"

/* ---- load.c ---- */
void load_begin(struct sim *sim);
void load_arrive(struct sim *sim, const struct happening *happening);
void load_client(struct sim *sim, const struct happening *happening);
void load_burst(struct sim *sim);
/* Decides one request at a node as its state is, and tells the truth of the tokens. */
bool load_admit(struct sim *sim, unsigned i, unsigned key, uint64_t cost);

/* ---- laws.c ---- */
/*
 * True: laws are off, because corrupted messages may say anything, or because a scenario measures
 * the overshoot instead of failing for it.
 */
bool laws_are_off(const struct sim *sim);
void laws_after_admit(struct sim *sim, unsigned i, unsigned key);
/* serves: the step serves a part of the table */
void laws_before_step(struct sim *sim, unsigned i, bool serves);
void laws_after_step(struct sim *sim, unsigned i);
void laws_sample(struct sim *sim); /* the expensive laws */
void truth_now(struct sim *sim, unsigned key);
/* Spends were forgotten for good: the truth of every key starts full again. */
void laws_knowledge_lost(struct sim *sim, unsigned i);
uint64_t laws_sum_of_shares(const struct sim *sim);
/* Notes whether the node's table was too small. */
void laws_note_evictions(struct sim *sim, unsigned i);

/* ---- laws_agree.c, laws_utilisation.c, laws_time.c ---- */
/*
 * Everything is healed and no message is under way: every node must know everything. `lateness_ns`:
 * the longest time that a spend may have been on its way to some node.
 */
void laws_agree(struct sim *sim, uint64_t lateness_ns);
/*
 * True: nothing is unsettled, no log has batches, and all nodes are active; laws_agree asserts this
 * first. False: `text` says what is missing.
 */
/* True: the figures of that node have all that it has spent, or it is wrong that they lack some of it. */
bool laws_may_compare(struct sim *sim, unsigned i);
bool laws_are_settled(struct sim *sim, char *text, size_t room);
void laws_measuring_begins(struct sim *sim);
void laws_utilisation(struct sim *sim);
/* Chooses the keys whose utilisation under steady load is worth measuring: bursts larger than what is in flight. */
void laws_begin(struct sim *sim);
/*
 * How long steady load takes until the admitted tokens equal the rate. `refill_ns`: the refill of
 * the slowest measured key; 0: no key is measured.
 */
uint64_t laws_warm_up_ns(const struct sim *sim, uint64_t refill_ns);
uint64_t laws_measure_ns(const struct sim *sim);
enum { LAWS_WAITS_INTERVALS_MAX = 20 }; /* a spend that refill may pay off is told after so many, at the latest */
/* So many keys of a step may be told in it at the least, or applied, or settled. */
uint64_t laws_step_part(const struct sim *sim);
/* A message and its answer, at their slowest. */
uint64_t laws_round_trip_ns(const struct sim *sim);
/* How long it may take until so many keys are told that are not urgent. */
uint64_t laws_telling_ns(const struct sim *sim, uint64_t keys);
/* How long a spend that is not urgent may wait until it is told. */
uint64_t laws_untold_ns(const struct sim *sim);
/* the longest time until all nodes agree when nothing is broken */
uint64_t laws_settle_ns(const struct sim *sim);
/* The same after healing: some nodes must join, or be heard again, first. */
uint64_t laws_agree_ns(const struct sim *sim);

/* ---- story.c ---- */
void story_plan(const struct sim *sim);
void story_tell(const struct sim *sim, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void story_sample(struct sim *sim);
/* One request, with what its node and the truth have left (--trace). */
void story_admission(struct sim *sim, unsigned i, unsigned key, uint64_t cost);
/* What each node sees of the first keys. */
void story_views(struct sim *sim);
const char *phase_name(enum phase phase);

#endif
