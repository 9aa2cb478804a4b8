/*
 * cluster_harness: what a test does with a world of nodes, and the transcript of what came of it.
 *
 * The one idea: whatever a reader would want to see (notices, answers, numbers of a key) is written down as
 * text, and a test compares that text with the text it expects: assertion, documentation and story in one.
 */
#ifndef HEADGATE_TESTS_LIB_CLUSTER_HARNESS_H
#define HEADGATE_TESTS_LIB_CLUSTER_HARNESS_H

#include "tests/lib/cluster_world.h"
#include "tests/lib/decisions.h"

/* ---- what a test does ---- */

void world_start(unsigned i);

void world_start_all(void);

void world_crash(unsigned i);

/* Two that work on so many keys in a step; they are not started yet. */
void world_init_steps(uint64_t table_keys, uint32_t step_keys);

void world_stop(unsigned i);

void world_forget(unsigned i, unsigned peer);

void world_mute(unsigned i, unsigned peer, bool in, bool out);

void world_link(unsigned from, unsigned to, enum link_mood mood);

void world_links(unsigned host, enum link_mood mood);

/* Everything that is held on that link arrives now, in order or the last first. */
void world_release(unsigned from, unsigned to, bool backwards);

struct key_id key_of(const char *name, uint16_t limit);

/* A charge of `cost` tokens of a key under those terms at that host; a cell's window is the first hour. */
struct charge charge_at(unsigned i, const char *key, const struct limit_terms *terms, uint64_t cost);

const char *reason_text(const struct verdict *verdict);

struct verdict world_ask(unsigned i, const char *key, uint16_t limit, uint64_t cost);

/* Asks for slow tokens and writes down the answer. */
bool world_spend(unsigned i, const char *key, uint64_t cost);

/* Takes one slow token after the other until no more is given; how many there were. */
unsigned world_drain(unsigned i, const char *key);

/* One token of each key "<name> 0".."<name> count-1"; how many were given. */
unsigned world_spend_many(unsigned host, const char *name, unsigned count);

/* Of how many of those keys that host takes `left` tokens to be left, a refill of less than one aside. */
unsigned world_count_left(unsigned host, const char *name, unsigned count, int64_t left);

/* Whether a step is wanted. */
void world_show_wish(unsigned host);

/* That node's view of a slow key: settled - unsettled tokens, what it may take, and batches in its log. */
void world_show_one(unsigned i, const char *key);

/* That of every running node. */
void world_show(const char *key);

/* Every running node's view of its peers, one line each: name, state, share in percent. */
void world_show_peers(void);

struct node_stats world_stats(unsigned i);

/* ---- what a test expects ---- */

/* The transcript since the last time is `expected`, line by line. */
#define EXPECT(what, expected) expect(__FILE__, __LINE__, what, expected)

void expect(const char *file, int line, const char *what, const char *expected);

/* Goes on without comparing what was told so far. */
void skip_text(void);

void world_close(void);

/* All named, all started, all active, nothing told: where most stories begin. */
void world_of(unsigned count);

#endif
