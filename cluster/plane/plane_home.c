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
#include <stdio.h>
#include <sysexits.h>

_Static_assert((int)NODE_PEERS_MAX <= (int)REACH_PEERS_MAX, "all peers of a node can be asked about");
_Static_assert((int)NODE_PEERS_MAX <= (int)HOMES_MAX, "all of them may be homes");

enum { LIST_BYTES = HOMES_MAX * (RULE_HOME_MAX_BYTES + 1) };

/* Peers, and the memory of what they are asked about. */
struct asked_peers {
    struct reach_peers peers;
    uint64_t shares[NODE_PEERS_MAX];
    const char *regions[NODE_PEERS_MAX], *names[NODE_PEERS_MAX];
};

static void peers_of(const struct node *node, struct asked_peers *these, uint32_t count)
{
    these->peers = (struct reach_peers){.count = count,
                                        .shares = these->shares,
                                        .grants = node->options.grants,
                                        .regions = these->regions,
                                        .homes = node->options.takeover_after_ns == 0,
                                        .names = these->names};
}

static void peers_now(const struct node *node, struct asked_peers *these)
{
    peers_of(node, these, shares_of_all(node, these->shares, these->regions, these->names));
}

/* One peer in each region of the config, with its weight there: whoever runs now, and whatever weights are in force. */
static void peers_by_config(const struct node *node, struct asked_peers *these)
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

/* True: the config of this node names it, and it may be here again if it is away. */
static bool is_named(const struct member *member)
{
    return member->used && !member->share_freed && (member->self || member->configured);
}

/* All daemons that the config names, with its weights. */
static void peers_named(const struct node *node, struct asked_peers *these)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!is_named(member))
            continue;
        these->regions[count] = member->region;
        these->names[count] = member->name;
        these->shares[count++] = member_share_by_config(node, member);
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
    struct asked_peers now;
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

/*
 * The daemons that the config names, with those that are away for a time: a list for a rule. "": fewer than two. A
 * daemon that no config names may be gone tomorrow, and a region without a weight is no key's home.
 */
static struct bytes list_daemons(const struct node *node, char list[LIST_BYTES])
{
    size_t size = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!is_named(member) || member_share_by_config(node, member) == 0)
            continue;
        size += (size_t)snprintf(list + size, LIST_BYTES - size, "%s%s/%s", count > 0 ? "," : "", member->region,
                                 member->name);
        assert(size < LIST_BYTES);
        count++;
    }
    return (struct bytes){list, count < 2 ? 0 : size};
}

/* The home that the rule needs, which may stand in `list`; "": it needs none, or none will do. */
static struct bytes home_for(const struct node *node, const struct rulebook *book, const struct rule *rule,
                             char list[LIST_BYTES])
{
    const struct bytes none = bytes_of("");
    struct asked_peers now;
    struct rule with = *rule;
    struct error ignored;
    peers_now(node, &now);
    const enum home_wanted wanted = rule_wants_home(rule, &now.peers);
    if (wanted == HOME_NOT_WANTED || !are_sheets_suited(book, rule, &now.peers))
        return none;
    with.home = wanted == HOME_OF_DAEMONS ? list_daemons(node, list) : bytes_of(HOME_BY_KEY);
    return plane_rule_may_have_parts(node, &with, &ignored) ? with.home : none;
}

/* Whether some peer admits nothing without a home, now or when each region has a daemon. */
static bool may_want(const struct node *node, const struct rule *rule)
{
    struct asked_peers these;
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
    struct asked_peers usual;
    peers_by_config(node, &usual);
    if (rule_is_below_shares(rule, &usual.peers))
        return true;
    peers_named(node, &usual);
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

/* True: a member is that daemon, be it away or not. */
static bool is_member(const struct node *node, struct bytes daemon)
{
    const uint64_t number = limit_home_named(daemon);
    bool found = false;
    for (uint32_t i = 0; i < node->member_end; i++)
        found |= node->member[i].used && !node->member[i].share_freed && node->member[i].home == number;
    return found;
}

/* The home of keys that a rule has in the book, if it may stay: no other one would be better. "": it has none. */
static struct bytes home_there(const struct node *node, const struct rule_version *there, const struct rule *rule)
{
    const struct bytes none = bytes_of("");
    const struct bytes home = there && there->rule ? there->rule->home : none;
    struct bytes rest = home, daemon;
    struct asked_peers now;
    if (!home_is_of_keys(home) || !may_want(node, rule))
        return none;
    peers_now(node, &now);
    if (home_is_by_key(home))
        return rule_wants_home(rule, &now.peers) == HOME_OF_DAEMONS ? none : home;
    while (home_next(&rest, &daemon))
        if (!is_member(node, daemon))
            return none;
    return home;
}

/* Replaces the rule by the one of that text, in which a list of daemons may be in any order. False: it has no room. */
static bool take_text(struct rule **rule, struct bytes text)
{
    struct error ignored;
    struct rule *taken = text.size <= RULE_TEXT_MAX_BYTES ? rule_parse_kept(text, "", &ignored) : NULL;
    if (!taken)
        return false;
    rule_destroy(rule);
    *rule = taken;
    return true;
}

struct bytes plane_home_settle(const struct node *node, const struct rulebook *book, struct rule **rule, char *room)
{
    char list[LIST_BYTES];
    const struct rulebook_rule *known = rulebook_find(book, (*rule)->service, (*rule)->id);
    const struct rule_version *there = known ? known->version[0] : NULL;
    const bool is_open = rule_leaves_home_open(*rule);
    (*rule)->home_none = false;
    struct bytes text = print(*rule, room);
    if (!is_open)
        return text;
    const bool is_new = !stands_so(there, text);
    struct rule with = **rule;
    with.home = home_there(node, there, *rule);
    if (with.home.size > 0) {
        text = print(&with, room);
        if (stands_so(there, text) && take_text(rule, text))
            return text;
    }
    if (is_new || is_hopeless(node, *rule)) {
        with.home = home_for(node, book, *rule, list);
        if (with.home.size > 0 && take_text(rule, print(&with, room)))
            (*rule)->home_given = true;
    }
    return print(*rule, room);
}

void plane_home_say(const struct node *node, const struct rule *rule, struct error *sentence)
{
    struct asked_peers now;
    peers_now(node, &now);
    rule_home_sentence(rule, home_is_list(rule->home) ? HOME_OF_DAEMONS : HOME_OF_REGIONS, &now.peers, sentence);
}
