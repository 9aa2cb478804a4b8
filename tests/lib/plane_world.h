/*
 * plane_world: a world of nodes (cluster_harness.h) whose operators change rules.
 *
 * The one idea: a rule is told from others by its rate: tokens per minute of a bucket with as many
 * tokens.
 */
#ifndef HEADGATE_TESTS_LIB_PLANE_WORLD_H
#define HEADGATE_TESTS_LIB_PLANE_WORLD_H

#include "rules/match.h"
#include "rules/ruleset.h"
#include "tests/lib/cluster_harness.h"

enum { INTERVAL_MS = 100 };

/* Each of three hosts is in a region of its own: us-east, eu-west, ap-south. To be called before they start. */
void name_regions(void);

/* ---- actions of operators ---- */

struct rules_result apply(unsigned i, struct rule_changes changes);

struct rules_result set(unsigned i, const char *text);

struct rules_result try_out(unsigned i, const char *text, uint64_t watch_ms);

struct rules_result end_rule(unsigned i, const char *service, const char *id);

/* ---- what an observer sees ---- */

const struct rulebook_rule *history(unsigned i, const char *service, const char *id);

/* Tokens per minute of the version that the book has in force; 0: none. */
uint64_t rate(unsigned i, const char *service, const char *id);

/*
 * The tokens of the limit that a request by this user of "s" meets; 0: nothing limits the request,
 * or "s" has no rule.
 */
uint64_t limit_met(unsigned i, const char *service, const char *user);

bool all_agree(void);

unsigned nodes_with_rate(const char *service, const char *id, uint64_t expected);

#endif
