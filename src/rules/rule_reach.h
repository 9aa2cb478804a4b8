/*
 * rule_reach: whether a rule lets anything through at all, where several daemons share its limit.
 *
 * The one idea: each amount of a rule (its own, of tiers, of overrides) is a limit with a capacity of its own, and each
 * priority leaves a floor of it alone. A limit that is small beside a peer's share admits nothing there, for good. What
 * then has to be written instead is worked out from the same rule (limit/reach.h).
 */
#ifndef HEADGATE_RULES_RULE_REACH_H
#define HEADGATE_RULES_RULE_REACH_H

#include "base/error.h"
#include "limit/reach.h"
#include "rules/rule.h"

enum rule_reach {
    RULE_REACHES,     /* every peer can admit something under each amount */
    RULE_FALLS_SHORT, /* not every peer, or an adaptive rule does not where its service is unwell */
    RULE_NOWHERE,     /* under some amount no peer ever admits anything */
};

/*
 * `sentence` says what is wrong and what to write instead, and is not touched if nothing is. The exit status is
 * EX_DATAERR. Rules that are off reach everywhere, as they count nothing.
 */
enum rule_reach rule_reach(const struct rule *rule, const struct reach_peers *peers, struct error *sentence);

/* How many of the peers admit anything under these terms, and what to write instead. `can`: see reach_count. */
void reach_sentence(const struct limit_terms *terms, uint32_t floor_millionths, const struct reach_peers *peers,
                    uint32_t can, char *out, size_t room);

#endif
