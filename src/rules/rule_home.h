/*
 * rule_home: whether a rule that names no home needs one, so that anybody is ever admitted.
 *
 * The one idea: a limit that is too small for shares (rule_reach.h) is no mistake where a home of each key would do.
 * Who sets such a rule gives it `home: by_key` then, or a list of all daemons where several of a region would have to
 * share the limit, and says so. A rule of which any amount does without a home is left alone: under that amount others
 * would wait for the home, and its author has to choose.
 */
#ifndef HEADGATE_RULES_RULE_HOME_H
#define HEADGATE_RULES_RULE_HOME_H

#include "base/error.h"
#include "limit/reach.h"
#include "rules/rule.h"
#include "rules/rule_text.h"

/* True: the rule may get a home from who sets it, as far as its text says. */
bool rule_leaves_home_open(const struct rule *rule);
/* True: the rule has amounts that count, and under none of them a peer ever admits a request by its share. */
bool rule_is_below_shares(const struct rule *rule, const struct reach_peers *peers);
enum home_wanted {
    HOME_NOT_WANTED,
    HOME_OF_REGIONS, /* by_key */
    HOME_OF_DAEMONS, /* a list of them */
};
/*
 * Of a rule that leaves its home open and is below the shares of these peers: the home with which each of them can
 * admit a request under each amount and at each priority. A region goes before a daemon: it lasts longer.
 */
enum home_wanted rule_wants_home(const struct rule *rule, const struct reach_peers *peers);
/*
 * False: the sheet is one of the rule, and some of its amounts do without a home. So who sets the rule leaves its home
 * alone. A home that the rule has does not matter.
 */
bool rule_home_suits_sheet(const struct rule *rule, const struct rule *sheet, const struct reach_peers *peers);
/* The same of all sheets of the list. */
bool rule_home_suits_sheets(const struct rule *rule, const struct rule_list *list, const struct reach_peers *peers);

/* Of a rule with an amount that counts: says which home it gets, why, and what to write to have it otherwise. */
void rule_home_sentence(const struct rule *rule, enum home_wanted wanted, const struct reach_peers *peers,
                        struct error *sentence);

#endif
