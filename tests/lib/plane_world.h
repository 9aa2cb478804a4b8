/*
 * plane_world: a world of nodes (cluster_harness.h) whose operators change rules.
 *
 * What a rule says is told by its rate: tokens per minute of a bucket with as many.
 */
#ifndef HEADGATE_TESTS_LIB_PLANE_WORLD_H
#define HEADGATE_TESTS_LIB_PLANE_WORLD_H

#include "rules/match.h"
#include "rules/ruleset.h"
#include "tests/lib/cluster_harness.h"

enum { INTERVAL_MS = 100 };

/* ---- what operators do ---- */

struct rules_result apply(unsigned i, struct rule_changes changes);

struct rules_result set(unsigned i, const char *text);

struct rules_result try_out(unsigned i, const char *text, uint64_t watch_ms);

struct rules_result end_rule(unsigned i, const char *service, const char *id);

/* ---- what one sees ---- */

const struct rulebook_rule *history(unsigned i, const char *service, const char *id);

/* Tokens per minute of the version in force by the book; 0: none. */
uint64_t rate(unsigned i, const char *service, const char *id);

/* The limit that a request by this user of "s" meets: its tokens, or 0 when nothing limits it or "s" has no rule. */
uint64_t limit_met(unsigned i, const char *service, const char *user);

bool all_agree(void);

unsigned nodes_with_rate(const char *service, const char *id, uint64_t expected);

#endif
