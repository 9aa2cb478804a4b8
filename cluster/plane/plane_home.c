/*
 * plane_home asks rule_home.h about a rule with the shares that this node knows, and about daemons what no rule knows:
 * whether all know homes, and each region of the config has one. It looks at the book for sheets, and for a home that
 * the rule has.
 */
#include "cluster/plane/plane_home.h"

#include "cluster/plane/plane_rule.h"
#include "cluster/state/node_state.h"
#include "cluster/state/share.h"
#include "rules/homes.h"
#include "rules/rule_home.h"
#include "rules/rule_reach.h"
#include "rules/rule_text.h"

#include <assert.h>
#include <sysexits.h>

_Static_assert((int)NODE_PEERS_MAX <= (int)REACH_PEERS_MAX, "all peers of a node can be asked about");

/* Peers, and the memory of what they are asked about. */
struct those {
    struct reach_peers peers;
    uint64_t shares[NODE_PEERS_MAX];
    const char *regions[NODE_PEERS_MAX], *names[NODE_PEERS_MAX];
};

static void peers_of(const struct node *node, struct those *these, uint32_t count)
{
    these->peers = (struct reach_peers){.count = count,
                                        .shares = these->shares,
                                        .grants = node->options.grants,
                                        .regions = these->regions,
                                        .homes = node->options.takeover_after_ns == 0,
                                        .names = these->names};
}

static void peers_now(const struct node *node, struct those *these)
{
    peers_of(node, these, shares_of_all(node, these->shares, these->regions, these->names));
}

/* One peer in each region of the config, with its weight there: whoever runs now, and whatever weights are in force. */
static void peers_by_config(const struct node *node, struct those *these)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->options.region_count; i++) {
        const struct region_weight *region = &node->options.regions[i];
        if (region->weight == 0)
            continue;
        these->regions[count] = these->names[count] = region->region;
        these->shares[count++] = region->weight;
    }
    peers_of(node, these, count);
}

/* ---- sheets ---- */

static bool are_sheets_suited(const struct rulebook *book, const struct rule *rule, const struct reach_peers *peers)
{
    size_t count;
    const size_t first = rulebook_service(book, rule->service, &count);
    for (size_t i = 0; i < count; i++) {
        const struct rule *sheet = rulebook_at(book, first + i)->version[0]->rule;
        if (sheet && sheet->overrides_of.size > 0 && !rule_home_suits_sheet(rule, sheet, peers))
            return false;
    }
    return true;
}

bool plane_home_suits_sheet(const struct node *node, const struct rulebook *book, const struct rule *sheet,
                            struct rule_stamp stamp, struct error *error)
{
    struct those now;
    const struct rulebook_rule *base =
        sheet->overrides_of.size > 0 ? rulebook_find(book, sheet->service, sheet->overrides_of) : NULL;
    const struct rule *rule = base ? base->version[0]->rule : NULL;
    if (!rule || !rule->home_given || base->version[0]->record.stamp.lamport != stamp.lamport ||
        base->version[0]->record.stamp.author != stamp.author)
        return true;
    peers_now(node, &now);
    if (rule_home_suits_sheet(rule, sheet, &now.peers))
        return true;
    struct rule without = *rule;
    without.home = bytes_of("");
    (void)rule_reach(&without, &now.peers, error);
    return false;
}

/* ---- rules ---- */

static bool wants(const struct node *node, const struct rulebook *book, const struct rule *rule)
{
    struct those now;
    struct rule with = *rule;
    struct error ignored;
    with.home = bytes_of(HOME_BY_KEY);
    peers_now(node, &now);
    return rule_wants_home(rule, &now.peers) && plane_rule_may_have_parts(node, &with, &ignored) &&
           are_sheets_suited(book, rule, &now.peers);
}

/* Whether some peer admits nothing without a home, now or when each region has a daemon. */
static bool may_want(const struct node *node, const struct rule *rule)
{
    struct those these;
    struct error ignored;
    if (!rule_leaves_home_open(rule))
        return false;
    peers_now(node, &these);
    if (rule_reach(rule, &these.peers, &ignored) != RULE_REACHES)
        return true;
    peers_by_config(node, &these);
    return rule_reach(rule, &these.peers, &ignored) != RULE_REACHES;
}

/* Whatever runs now: shares of daemons that only pass by move no home. */
static bool is_hopeless(const struct node *node, const struct rule *rule)
{
    struct those usual;
    peers_by_config(node, &usual);
    return rule_is_below_shares(rule, &usual.peers);
}

static struct bytes print(const struct rule *rule, char *room)
{
    return (struct bytes){room, rule_print(rule, room, RULE_TEXT_MAX_BYTES + 1)};
}

static bool stands_so(const struct rule_version *there, struct bytes text)
{
    return there && bytes_equal(there->record.text, text);
}

static bool has_home_by_key(const struct rule_version *there)
{
    const struct rule *rule = there ? there->rule : NULL;
    return rule && home_is_by_key(rule->home);
}

struct bytes plane_home_settle(const struct node *node, const struct rulebook *book, struct rule *rule, char *room)
{
    const struct rulebook_rule *known = rulebook_find(book, rule->service, rule->id);
    const struct rule_version *there = known ? known->version[0] : NULL;
    const bool is_open = rule_leaves_home_open(rule);
    rule->home_none = false;
    struct bytes text = print(rule, room);
    const bool needs = is_open && (!stands_so(there, text) || is_hopeless(node, rule)) && wants(node, book, rule);
    const bool may_need = is_open && has_home_by_key(there) && may_want(node, rule);
    if (!needs && !may_need)
        return text;
    rule->home = bytes_of(HOME_BY_KEY);
    text = print(rule, room);
    rule->home_given = needs;
    if (text.size <= RULE_TEXT_MAX_BYTES && (needs || stands_so(there, text)))
        return text;
    rule->home = bytes_of("");
    rule->home_given = false;
    return print(rule, room);
}

void plane_home_say(const struct node *node, const struct rule *rule, struct error *sentence)
{
    struct those now;
    peers_now(node, &now);
    rule_home_sentence(rule, &now.peers, sentence);
}
