/*
 * cluster_harness: the actions of a test in a world of nodes, and a transcript of their effects.
 *
 * The one idea: everything that a reader wants to see (notices, answers, figures of a key) is
 * written down as text, and a test compares the text with the text that it expects. The transcript
 * is assertion, documentation and story in one.
 */
#ifndef HEADGATE_TESTS_LIB_CLUSTER_HARNESS_H
#define HEADGATE_TESTS_LIB_CLUSTER_HARNESS_H

#include "tests/lib/cluster_world.h"
#include "tests/lib/decisions.h"

/* ---- actions of a test ---- */

void world_start(unsigned i);

void world_start_all(void);

void world_crash(unsigned i);

/* Two nodes that work on `step_keys` keys in a step. They are not started yet. */
void world_init_steps(uint64_t table_keys, uint32_t step_keys);

void world_stop(unsigned i);

void world_forget(unsigned i, unsigned peer);

void world_mute(unsigned i, unsigned peer, bool in, bool out);

void world_link(unsigned from, unsigned to, enum link_mood mood);

/* The links from one host to the other, and back. */
void world_link_both(unsigned one, unsigned other, enum link_mood mood);

/* All links from and to that host. */
void world_links(unsigned host, enum link_mood mood);

/* All packets that the link holds arrive now, in order; or the last one first. */
void world_release(unsigned from, unsigned to, bool backwards);

struct key_id key_of(const char *name, uint16_t limit);

/*
 * A charge of `cost` tokens of a key under these terms at that host. The window of a cell is the
 * first hour.
 */
struct charge charge_at(unsigned i, const char *key, const struct limit_terms *terms, uint64_t cost);

const char *reason_text(const struct verdict *verdict);

struct verdict world_ask(unsigned i, const char *key, uint16_t limit, uint64_t cost);

/* Asks for tokens of "slow" and writes down the answer. */
bool world_spend(unsigned i, const char *key, uint64_t cost);

/*
 * Takes one token of "slow" after the other, as many as the node may give by its share. Returns their number.
 */
unsigned world_drain(unsigned i, const char *key);

/*
 * Takes one token of each key "<name> 0".."<name> count-1". Returns the number of tokens that the
 * node gave.
 */
unsigned world_spend_many(unsigned host, const char *name, unsigned count);

/*
 * Returns for how many of these keys that host sees `left` tokens left, give or take a refill of
 * less than one token.
 */
unsigned world_count_left(unsigned host, const char *name, unsigned count, int64_t left);

/* Writes down whether the node wants a step. */
void world_show_wish(unsigned host);

/*
 * Writes down the view of a "slow" key at that node: settled minus unsettled tokens, the tokens
 * that it may take, and the batches in its log.
 */
void world_show_one(unsigned i, const char *key);

/* The same for every running node. */
void world_show(const char *key);

/*
 * Writes down every running node's view of its peers, one line for each peer: name, state, share in
 * percent.
 */
void world_show_peers(void);

struct node_stats world_stats(unsigned i);

/* ---- expectations of a test ---- */

/* Compares the transcript since the last call with `expected`, line by line. */
#define EXPECT(what, expected) expect(__FILE__, __LINE__, what, expected)

void expect(const char *file, int line, const char *what, const char *expected);

/* Forgets the transcript without comparing it. */
void skip_text(void);

void world_close(void);

/*
 * All nodes name each other, are started and active, and the transcript is empty: most stories
 * begin here.
 */
void world_of(unsigned count);

#endif
