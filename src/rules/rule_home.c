#include "rules/rule_home.h"

#include "limit/kind.h"
#include "rules/homes.h"
#include "rules/rule_reach.h"
#include "rules/rule_value.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

enum { INSTEAD_BYTES = 96 };

bool rule_leaves_home_open(const struct rule *rule)
{
    return rule->home.size == 0 && !rule->home_none && rule->mode == RULE_ENFORCE && rule->sync == RULE_GOSSIP &&
           rule->weights_count == 0 && rule->overrides_of.size == 0;
}

bool rule_is_below_shares(const struct rule *rule, const struct reach_peers *peers)
{
    struct rule_amount_of of;
    bool some = false;
    for (size_t i = 0; rule_amount_at(rule, i, &of); i++) {
        struct limit_terms terms;
        if (!rule_amount_counts(of.amount))
            continue;
        some = true;
        rule_terms(rule, of.amount, RULE_SCALE_ONE, &terms);
        if (reach_count(&terms, 0, peers) > 0)
            return false;
    }
    return some;
}

static bool are_of_several_regions(const struct reach_peers *peers)
{
    bool several = !peers->regions && peers->count > 1;
    for (uint32_t i = 1; i < peers->count && peers->regions; i++)
        several |= strcmp(peers->regions[i], peers->regions[0]) != 0;
    return several;
}

static bool reaches_with(const struct rule *rule, struct bytes home, const struct reach_peers *peers)
{
    struct rule with = *rule;
    struct error ignored;
    with.home = home;
    return rule_reach(&with, peers, &ignored) == RULE_REACHES;
}

/* All daemons are alike: as the home, each has the whole limit, and the others have nothing. */
static bool reaches_with_daemon(const struct rule *rule, const struct reach_peers *peers)
{
    char daemon[RULE_HOME_MAX_BYTES + 1];
    if (!peers->regions || !peers->names || peers->count < 2)
        return false;
    const int size = snprintf(daemon, sizeof daemon, "%s/%s", peers->regions[0], peers->names[0]);
    return size > 0 && (size_t)size < sizeof daemon && reaches_with(rule, bytes_of(daemon), peers);
}

enum home_wanted rule_wants_home(const struct rule *rule, const struct reach_peers *peers)
{
    if (!rule_leaves_home_open(rule) || !peers->homes || !rule_is_below_shares(rule, peers))
        return HOME_NOT_WANTED;
    if (are_of_several_regions(peers) && reaches_with(rule, bytes_of(HOME_BY_KEY), peers))
        return HOME_OF_REGIONS;
    return reaches_with_daemon(rule, peers) ? HOME_OF_DAEMONS : HOME_NOT_WANTED;
}

bool rule_home_suits_sheet(const struct rule *rule, const struct rule *sheet, const struct reach_peers *peers)
{
    struct rule joined;
    if (!rule_of_sheet(sheet, rule, &joined))
        return true;
    joined.home = bytes_of("");
    return rule_is_below_shares(&joined, peers);
}

bool rule_home_suits_sheets(const struct rule *rule, const struct rule_list *list, const struct reach_peers *peers)
{
    for (size_t i = 0; i < list->count; i++)
        if (!rule_home_suits_sheet(rule, list->rule[i], peers))
            return false;
    return true;
}

/* What the amount would need to do without a home. */
static void put_instead(const struct limit_terms *terms, const struct reach_peers *peers, char out[INSTEAD_BYTES])
{
    const uint64_t overshoot = reach_overshoot(terms, 0, peers), capacity = reach_capacity(terms, 0, peers);
    const char *limit = kind_refills((enum limit_kind)terms->kind) ? "capacity or burst" : "limit";
    size_t size = 0;
    out[0] = '\0';
    if (overshoot > 0)
        size = (size_t)snprintf(out, INSTEAD_BYTES, "overshoot: %" PRIu64 ", or ", overshoot);
    if (capacity > 0 && size < INSTEAD_BYTES)
        (void)snprintf(out + size, INSTEAD_BYTES - size, "a %s of %" PRIu64 ", or ", limit, capacity);
}

void rule_home_sentence(const struct rule *rule, enum home_wanted wanted, const struct reach_peers *peers,
                        struct error *sentence)
{
    struct rule_amount_of of = {.amount = &rule->amount};
    struct limit_terms terms;
    char text[RULE_AMOUNT_TEXT_BYTES], instead[INSTEAD_BYTES];
    for (size_t i = 1; !rule_amount_counts(of.amount); i++) {
        const bool found = rule_amount_at(rule, i, &of);
        assert(found && "the rule wants a home");
    }
    rule_terms(rule, of.amount, RULE_SCALE_ONE, &terms);
    terms.home = 0;
    put_instead(&terms, peers, instead);
    (void)
        error_set(sentence, EX_DATAERR,
                  "rule %s/%s: home is %s, since none of %u daemons would ever admit a request by its share of "
                  "the limit (%s): expected %sanother home, to have it otherwise; with home: none it is refused",
                  rule->service.data, rule->id.data,
                  wanted == HOME_OF_DAEMONS ? "a list of daemons" : HOME_BY_KEY, peers->count,
                  rule_amount_text(rule->algorithm, of.amount, of.amount, text, sizeof text), instead);
}
