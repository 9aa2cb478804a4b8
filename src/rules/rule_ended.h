/*
 * rule_ended: the overrides of a rule whose `until` has passed.
 *
 * The one idea: such an override has no effect, but files, histories and exports keep it for good reasons. So a rule
 * that has some is right, and whoever sets it is told: a year that was mistyped looks like an override in force.
 */
#ifndef HEADGATE_RULES_RULE_ENDED_H
#define HEADGATE_RULES_RULE_ENDED_H

#include "base/error.h"
#include "rules/rule.h"

#include <stdbool.h>
#include <stdint.h>

/* True if the override has no effect at `now_s` (seconds since 1970) any more. */
bool rule_override_has_ended(const struct rule_override *override, uint64_t now_s);
/* Counts those of the rule. If there are some, `sentence` names the first and how many more there are. */
uint32_t rule_count_ended(const struct rule *rule, uint64_t now_s, struct error *sentence);

#endif
