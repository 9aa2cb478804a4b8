/*
 * rule_reach: whether a rule admits anything at all where several daemons share its limit.
 *
 * The one idea: each amount of a rule (its own, of tiers, of overrides) is a limit with a capacity,
 * and each priority leaves a floor of that capacity to others. A peer whose share of a small limit
 * is below one token admits nothing, for good. The sentence says what to write instead
 * (limit/reach.h).
 */
#ifndef HEADGATE_RULES_RULE_REACH_H
#define HEADGATE_RULES_RULE_REACH_H

#include "base/error.h"
#include "limit/reach.h"
#include "rules/rule.h"

enum rule_reach {
    RULE_REACHES,     /* every peer can admit something under each amount */
    RULE_FALLS_SHORT, /* some peer admits nothing, or an adaptive rule admits nothing while its service is unwell */
    RULE_NOWHERE,     /* under some amount no peer ever admits anything */
};

/*
 * `sentence` names the problem and the remedy, with status EX_DATAERR; it stays untouched if there
 * is no problem. A rule that is off counts nothing and gives RULE_REACHES. Of a rule with a home the peers in that
 * region share the whole limit, or the first one has it if regions are not known. Of a rule whose home is by_key, or a
 * list, each region, or each home of the list, is asked about as the home, and the worst answer counts. RULE_NOWHERE if
 * no peer is at one of the list. Of a rule with weights the peers have what they
 * give to their regions (rule_weighted_peers); a weight where no peer is falls short.
 */
enum rule_reach rule_reach(const struct rule *rule, const struct reach_peers *peers, struct error *sentence);

/*
 * The peers with their shares of a rule that has weights, which stand in `shares`. Where regions are not known, each
 * weight is that of one peer, and further ones have none; one peer alone stays alone.
 */
struct reach_peers rule_weighted_peers(const struct rule *rule, const struct reach_peers *peers,
                                       uint64_t shares[REACH_PEERS_MAX]);

/* Writes how many peers admit anything under these terms, and what to write instead. For `can` see
 * reach_count. */
void reach_sentence(const struct limit_terms *terms, uint32_t floor_millionths, const struct reach_peers *peers,
                    uint32_t can, char *out, size_t room);

#endif
