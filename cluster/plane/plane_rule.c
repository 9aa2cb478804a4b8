/*
 * plane_rule asks of a rule that is to be set whether daemons can do what it says: with the shares of now, and with
 * what they know of files and canaries.
 */
#include "cluster/plane/plane_rule.h"

#include "cluster/plane/plane_home.h"
#include "cluster/plane/plane_work.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/share.h"
#include "limit/limit.h"
#include "rules/homes.h"
#include "rules/rule_ended.h"
#include "rules/rule_reach.h"
#include "rules/rule_value.h"

#include <sysexits.h>

/* True, with what a sheet's overrides are under its rule: the newest version in the book, which may come later. */
static bool is_sheet_in(const struct rulebook *book, const struct rule *rule, struct rule *joined)
{
    const struct rulebook_rule *base =
        rule->overrides_of.size > 0 ? rulebook_find(book, rule->service, rule->overrides_of) : NULL;
    return base && base->version[0]->rule && rule_of_sheet(rule, base->version[0]->rule, joined);
}

/*
 * True if the rule admits a request at some peer with the present shares. A rule that admits
 * nothing anywhere is a mistake; a rule that admits nothing at some peers may be meant, so it gets
 * a warning.
 */
static bool reaches(struct node *node, struct plane_work *work, const struct rule *rule)
{
    uint64_t shares[NODE_PEERS_MAX];
    const char *regions[NODE_PEERS_MAX], *names[NODE_PEERS_MAX];
    const uint32_t count = shares_of_all(node, shares, regions, names);
    const struct reach_peers peers =
        {count, shares, node->options.grants, regions, node->options.takeover_after_ns == 0, names};
    struct rule joined;
    struct error sentence;
    switch (rule_reach(is_sheet_in(work->book, rule, &joined) ? &joined : rule, &peers, &sentence)) {
    case RULE_REACHES:
        return true;
    case RULE_FALLS_SHORT:
        if (work->result.warnings++ == 0)
            work->result.warning = sentence;
        return true;
    case RULE_NOWHERE:
        break;
    }
    work->result.error = sentence;
    return false;
}

/* False: the rule says what only operators' programs understand, what a canary cannot be, or what needs a store. */
static bool is_for_daemons(const struct node *node, struct plane_work *work, const struct rule *rule)
{
    struct error *error = &work->result.error;
    if (rule->overrides_file.size > 0) {
        (void)error_set(error, EX_DATAERR,
                        "rule %s/%s: overrides_file is read by `headgate rules`: expected overrides, or rules with "
                        "overrides_of",
                        rule->service.data, rule->id.data);
        error_mark_field(error, "overrides_file");
        return false;
    }
    if (rule->sync == RULE_CENTRAL && !node->options.has_central) {
        (void)error_set(
            error, EX_DATAERR,
            "rule %s/%s: sync is 'central': expected gossip or budget, since the config has no central store",
            rule->service.data, rule->id.data);
        error_mark_field(error, "sync");
        return false;
    }
    if (rule->overrides_of.size > 0 && work->changes.share_millionths > 0)
        return error_set(error, EX_DATAERR,
                         "rule %s/%s: a rule with overrides_of has no canary: expected the change for all keys",
                         rule->service.data, rule->id.data);
    return true;
}

/* Keys choose among all regions that have a weight in the config, so each must have a daemon. */
static bool are_all_inhabited(const struct node *node, const struct rule *rule, struct error *error)
{
    for (uint32_t i = 0; i < node->options.region_count; i++) {
        const struct region_weight *region = &node->options.regions[i];
        if (region->weight > 0 && region_sharers(node, region->region) == 0)
            return error_set(
                error, EX_DATAERR,
                "rule %s/%s: home is by_key, and no daemon is in region '%s', which would be the home of "
                "some keys: expected a daemon there, or a config without that region",
                rule->service.data, rule->id.data, region->region);
    }
    return true;
}

static bool are_known_regions(const struct node *node, const struct rule *rule, struct error *error)
{
    for (uint16_t i = 0; i < rule->weights_count; i++)
        if (region_place(node, rule->weights[i].region.data) == node->options.region_count)
            return error_set(
                error, EX_DATAERR,
                "rule %s/%s: weights has region '%s', which the config does not have: expected a region "
                "of the config",
                rule->service.data, rule->id.data, rule->weights[i].region.data);
    return true;
}

/*
 * A daemon of an earlier release cannot read the rule, nor messages about its keys: it would be out of reach. Charges
 * that wait, homes and weights of rules came with one release, lists of homes with that which lists grants.
 */
bool plane_rule_may_have_parts(const struct node *node, const struct rule *rule, struct error *error)
{
    const char *field = rule->home.size > 0 ? "home" : "weights";
    if ((rule->home.size == 0 && rule->weights_count == 0) || rule->mode == RULE_OFF)
        return true;
    if (node->options.takeover_after_ns > 0)
        return error_set(
            error, EX_DATAERR,
            "rule %s/%s: %s makes no sense while takeover_after is set, which gives the share of who is "
            "gone to others: expected one of them",
            rule->service.data, rule->id.data, field);
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        const bool knows = home_is_list(rule->home) ? member->lists_grants : member->heeds_uncharged;
        if (member_may_share(member) && member->number > 0 && !knows)
            return error_set(error, EX_DATAERR,
                             "rule %s/%s: %s does not know %s: expected all daemons to be of this release",
                             rule->service.data, rule->id.data, member->name,
                             home_is_list(rule->home) ? "lists of homes" : field);
    }
    return are_known_regions(node, rule, error) &&
           (!home_is_by_key(rule->home) || are_all_inhabited(node, rule, error));
}

/* ---- places where no daemon runs ---- */

/* True: a daemon that runs, as far as this node has heard, is in that region, or is that daemon (REGION/NAME). */
static bool is_inhabited_now(const struct node *node, struct bytes place)
{
    const uint64_t number = limit_home_named(place);
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        const bool runs = member->self || (member_needed(member) && !member->silent);
        if (runs && (bytes_equal(bytes_of(member->region), place) || member->home == number))
            return true;
    }
    return false;
}

/* Of the first place that is the home, or one of the list, where no daemon runs. */
static void warn_of_places(const struct node *node, const struct rule *rule, struct error *warning)
{
    struct bytes rest = rule->home, home;
    while (home_next(&rest, &home))
        if (!is_inhabited_now(node, home)) {
            (void)error_set(warning, EX_DATAERR,
                            "rule %s/%s: home %s '%.*s', where no daemon runs now: %s are refused until one does",
                            rule->service.data, rule->id.data, home_is_list(rule->home) ? "has" : "is",
                            (int)home.size, home.data,
                            home_is_list(rule->home) ? "keys whose home it is" : "requests");
            return;
        }
}

static void warn_of_homes(const struct node *node, const struct rule *rule, struct error *warning)
{
    if (!home_is_by_key(rule->home))
        warn_of_places(node, rule, warning);
    for (uint32_t i = 0; home_is_by_key(rule->home) && i < node->options.region_count; i++) {
        const struct region_weight *region = &node->options.regions[i];
        if (region->weight == 0 || is_inhabited_now(node, bytes_of(region->region)))
            continue;
        (void)error_set(warning, EX_DATAERR,
                        "rule %s/%s: home is by_key, and no daemon runs now in region '%s': keys whose home it is "
                        "are refused until one does",
                        rule->service.data, rule->id.data, region->region);
        return;
    }
}

static void warn_of_weights(const struct node *node, const struct rule *rule, struct error *warning)
{
    char text[RULE_WEIGHT_TEXT_BYTES];
    for (uint16_t i = 0; i < rule->weights_count; i++) {
        const struct limit_weight *weight = &rule->weights[i];
        if (weight->billionths == 0 || is_inhabited_now(node, weight->region))
            continue;
        (void)
            error_set(warning, EX_DATAERR,
                      "rule %s/%s: weights gives %s of the limit to region '%s', where no daemon runs now: nobody "
                      "has it until one does",
                      rule->service.data, rule->id.data, rule_weight_text(weight->billionths, text, sizeof text),
                      weight->region.data);
        return;
    }
}

/* Whoever has left or is silent may come back, so that this is no mistake, but nothing tells it from one. */
static void warn_of_absence(const struct node *node, struct plane_work *work, const struct rule *rule)
{
    struct error warning = {.text = ""};
    if (rule->mode == RULE_OFF)
        return;
    if (rule->home.size > 0)
        warn_of_homes(node, rule, &warning);
    warn_of_weights(node, rule, &warning);
    if (warning.text[0] && work->result.warnings++ == 0)
        work->result.warning = warning;
}

static void warn_of_given_home(const struct node *node, struct plane_work *work, const struct rule *rule)
{
    if (rule->home_given && work->result.warnings++ == 0)
        plane_home_say(node, rule, &work->result.warning);
}

static void warn_of_ended(const struct node *node, struct plane_work *work, const struct rule *rule)
{
    const uint64_t now_s = plane_wall_ms(node->plane, node->now_ns) / 1000;
    struct error warning;
    if (rule_count_ended(rule, now_s, &warning) > 0 && work->result.warnings++ == 0)
        work->result.warning = warning;
}

bool plane_rule_is_right(struct node *node, struct plane_work *work, const struct rule *rule)
{
    if (!is_for_daemons(node, work, rule) || !plane_rule_may_have_parts(node, rule, &work->result.error) ||
        !plane_home_suits_sheet(node, work->book, rule, work->stamp, &work->result.error) ||
        !reaches(node, work, rule))
        return false;
    warn_of_given_home(node, work, rule);
    warn_of_absence(node, work, rule);
    warn_of_ended(node, work, rule);
    return true;
}
