/*
 * tier_charge: charges of one key under the tiers of a rule, as a node of a world decides them.
 *
 * The one idea: each limit knows the span of all tiers, as if they were compiled from one rule. It needs no rule.
 */
#ifndef HEADGATE_TESTS_LIB_TIER_CHARGE_H
#define HEADGATE_TESTS_LIB_TIER_CHARGE_H

#include "tests/lib/cluster_harness.h"

/* A charge of `cost` tokens under tiers[tier] of these `count` tiers, at host i. */
struct charge tier_charge(unsigned i, const char *key, const struct limit_terms *tiers, size_t count, size_t tier,
                          uint64_t cost);

/* Whole tokens of the key that count as used at host i, beside its own unsettled ones, under the tier of it there. */
int64_t tier_used(unsigned i, struct key_id id);

#endif
