/*
 * Asks limit/reach.h about each amount of a rule: at full scale for each priority, and at the
 * smallest scale of an adaptive rule. Keeps the sentence about the worst answer.
 */
#include "rules/rule_reach.h"

#include "limit/kind.h"
#include "rules/homes.h"
#include "rules/rule_value.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

enum { SENTENCE_BYTES = 320, WHAT_BYTES = 256 };

void reach_sentence(const struct limit_terms *terms, uint32_t floor_millionths, const struct reach_peers *peers,
                    uint32_t can, char *out, size_t room)
{
    const uint64_t overshoot = reach_overshoot(terms, floor_millionths, peers);
    const uint64_t capacity = reach_capacity(terms, floor_millionths, peers);
    const char *limit = kind_refills((enum limit_kind)terms->kind) ? "capacity or burst" : "limit";
    char where[64], instead[96];
    if (limit_home_is_one(terms->home) && can > 0 && overshoot == 0 && capacity == 0) {
        (void)snprintf(out, room,
                       "a request is admitted at %u of %u daemons only, at home, since no others can ask for such "
                       "tokens: expected %s, or no home",
                       can, peers->count,
                       floor_millionths > 0 ? "no priority_floor" : "no daemon with grants: false");
        return;
    }
    if (limit_home_is_list(terms->home) && can > 0 && overshoot == 0 && capacity == 0) {
        (void)snprintf(
            out, room,
            "a request is admitted at %u of %u daemons only, in regions with a weight, since others cannot "
            "ask for such tokens: expected a weight for each region, or fixed_window, quota or a bucket%s",
            can, peers->count, terms->flags & LIMIT_SPLIT ? " without sync: budget" : "");
        return;
    }
    if (can == 0)
        (void)snprintf(where, sizeof where, "at none of %u daemons", peers->count);
    else
        (void)snprintf(where, sizeof where, "at %u of %u daemons only", can, peers->count);
    if (overshoot > 0)
        (void)snprintf(instead, sizeof instead, "overshoot: %" PRIu64 ", or a %s of %" PRIu64, overshoot, limit,
                       capacity);
    else if (capacity > 0)
        (void)snprintf(instead, sizeof instead, "a %s of %" PRIu64 "%s", limit, capacity,
                       terms->flags & LIMIT_SPLIT ? ", or no sync: budget" : "");
    else
        (void)snprintf(instead, sizeof instead, "a larger %s", limit);
    (void)snprintf(out, room,
                   "a request of cost 1 is ever admitted %s, since each uses its share of the limit: expected %s",
                   where, instead);
}

/* Where regions are not known, each peer has its own. */
static bool are_together(const struct reach_peers *peers, uint32_t a, uint32_t b)
{
    return peers->regions ? bytes_equal(bytes_of(peers->regions[a]), bytes_of(peers->regions[b])) : a == b;
}

static bool is_first_of_region(const struct reach_peers *peers, uint32_t peer)
{
    bool first = true;
    for (uint32_t i = 0; i < peer; i++)
        first &= !are_together(peers, i, peer);
    return first;
}

/* The peers with the shares that they have if the region of `peer` is the home. */
static struct reach_peers peers_at_home(const struct reach_peers *peers, uint32_t peer,
                                        uint64_t shares[REACH_PEERS_MAX])
{
    struct reach_peers these = *peers;
    uint32_t at_home = 0;
    for (uint32_t i = 0; i < peers->count; i++)
        at_home += are_together(peers, i, peer);
    for (uint32_t i = 0; i < peers->count; i++)
        shares[i] = are_together(peers, i, peer) ? SHARE_ONE / at_home : 0;
    these.shares = shares;
    return these;
}

/* The peers with the shares that they have if `peer` is the home. */
static struct reach_peers peers_of_daemon(const struct reach_peers *peers, uint32_t peer,
                                          uint64_t shares[REACH_PEERS_MAX])
{
    struct reach_peers these = *peers;
    for (uint32_t i = 0; i < peers->count; i++)
        shares[i] = i == peer ? SHARE_ONE : 0;
    these.shares = shares;
    return these;
}

/* True: all peers can admit a request if keys have homes. */
static bool all_reach_by_key(struct limit_terms terms, uint32_t floor_millionths, const struct reach_peers *peers)
{
    uint64_t shares[REACH_PEERS_MAX];
    bool all = true;
    for (uint32_t i = 0; all && i < peers->count; i++) {
        const struct reach_peers these = peers_at_home(peers, i, shares);
        terms.home = limit_home_of(bytes_of(peers->regions ? peers->regions[i] : "home"));
        all = reach_count(&terms, floor_millionths, &these) == these.count;
    }
    return all;
}

static bool all_reach_by_daemon(struct limit_terms terms, uint32_t floor_millionths,
                                const struct reach_peers *peers)
{
    uint64_t shares[REACH_PEERS_MAX];
    const struct reach_peers these = peers_of_daemon(peers, 0, shares);
    terms.home = limit_home_named(bytes_of("home/home"));
    return reach_count(&terms, floor_millionths, &these) == these.count;
}

/* The home that would let each peer admit a request, as the end of a sentence; "": none, or there is one. */
static const char *which_home(const struct rule *rule, const struct limit_terms *terms, uint32_t floor_millionths,
                              const struct reach_peers *peers)
{
    if (!peers->homes || rule->weights_count > 0 || home_is_daemon(rule->home) || (terms->flags & LIMIT_SPLIT) != 0)
        return "";
    if (rule->home.size == 0 && all_reach_by_key(*terms, floor_millionths, peers))
        return ", or home: " HOME_BY_KEY;
    if (all_reach_by_daemon(*terms, floor_millionths, peers))
        return ", or daemons as homes (home: [REGION/NAME, ...])";
    const struct limit_terms window = limit_terms_as_window(terms);
    return rule->home.size == 0 && kind_refills((enum limit_kind)terms->kind) &&
                   all_reach_by_daemon(window, floor_millionths, peers)
               ? ", or algorithm: fixed_window, which a home helps"
               : "";
}

struct inquiry {
    const struct rule *rule;
    const struct reach_peers *peers;
    enum rule_reach reach;  /* the worst answer so far */
    struct error *sentence; /* the sentence about the worst answer */
};

static void ask(struct inquiry *inquiry, const char *what, const struct rule_amount *amount, uint32_t scale,
                enum rule_priority priority)
{
    const struct rule *rule = inquiry->rule;
    char sentence[SENTENCE_BYTES], level[64] = "";
    struct limit_terms terms;
    rule_terms(rule, amount, scale, &terms);
    const uint32_t floor = rule->priority_floor[priority], can = reach_count(&terms, floor, inquiry->peers);
    /* Grave is only a lasting denial: a service recovers, and a shadow rule denies nobody. */
    const bool grave = can == 0 && scale == RULE_SCALE_ONE && rule->mode == RULE_ENFORCE;
    const enum rule_reach reach = can == inquiry->peers->count ? RULE_REACHES
                                  : grave                      ? RULE_NOWHERE
                                                               : RULE_FALLS_SHORT;
    if (reach <= inquiry->reach)
        return;
    inquiry->reach = reach;
    reach_sentence(&terms, floor, inquiry->peers, can, sentence, sizeof sentence);
    const char *or_home = which_home(rule, &terms, floor, inquiry->peers);
    if (floor > 0)
        (void)snprintf(level, sizeof level, " with priority %s", rule_priority_name(priority));
    (void)error_set(inquiry->sentence, EX_DATAERR, "rule %s/%s: under %s%s%s %s%s", rule->service.data,
                    rule->id.data, what, scale < RULE_SCALE_ONE ? ", when its service is unwell," : "", level,
                    sentence, or_home);
}

static void ask_amount(struct inquiry *inquiry, const struct rule_amount_of *of)
{
    const struct rule *rule = inquiry->rule;
    const struct rule_amount *amount = of->amount;
    char text[RULE_AMOUNT_TEXT_BYTES], what[WHAT_BYTES];
    if (!rule_amount_counts(amount))
        return;
    (void)snprintf(what, sizeof what, "%s%.64s (%s)", of->field, of->name,
                   rule_amount_text(rule->algorithm, amount, amount, text, sizeof text));
    ask(inquiry, what, amount, RULE_SCALE_ONE, RULE_PRIORITY_CRITICAL);
    for (int level = RULE_PRIORITY_LOW; level < RULE_PRIORITY_CRITICAL; level++)
        if (rule->priority_floor[level] > 0)
            ask(inquiry, what, amount, RULE_SCALE_ONE, (enum rule_priority)level);
    if (rule->adaptive_floor > 0)
        ask(inquiry, what, amount, rule_scale(rule->adaptive_floor, 1), RULE_PRIORITY_CRITICAL);
}

static void ask_amounts(struct inquiry *inquiry)
{
    struct rule_amount_of of;
    for (size_t i = 0; rule_amount_at(inquiry->rule, i, &of); i++)
        ask_amount(inquiry, &of);
}

/* ---- homes ---- */

/* Whether the peer is the home, or in the region that is the home. The first one is where regions are not known. */
static bool is_at(const struct reach_peers *peers, uint32_t peer, struct bytes home)
{
    if (!peers->regions)
        return peer == 0;
    const struct bytes region = bytes_of(peers->regions[peer]);
    if (!home_is_daemon(home))
        return bytes_equal(region, home);
    return limit_home_of_daemon(region, bytes_of(peers->names[peer])) == limit_home_named(home);
}

/* As if the region of the peer, or the peer alone, were the home. */
static void ask_home(struct inquiry *inquiry, uint32_t peer, bool is_daemon)
{
    uint64_t shares[REACH_PEERS_MAX];
    const struct reach_peers *all = inquiry->peers;
    const struct reach_peers these =
        is_daemon ? peers_of_daemon(all, peer, shares) : peers_at_home(all, peer, shares);
    inquiry->peers = &these;
    ask_amounts(inquiry);
    inquiry->peers = all;
}

static enum rule_reach ask_regions(struct inquiry *inquiry)
{
    for (uint32_t i = 0; i < inquiry->peers->count; i++)
        if (is_first_of_region(inquiry->peers, i))
            ask_home(inquiry, i, false);
    return inquiry->reach;
}

/* Of the home, or of each one of a list; daemons are all alike. */
static enum rule_reach ask_homes(struct inquiry *inquiry)
{
    const struct rule *rule = inquiry->rule;
    struct bytes rest = rule->home, home;
    bool asked_daemon = false;
    while (home_next(&rest, &home)) {
        uint32_t peer = 0;
        while (peer < inquiry->peers->count && !is_at(inquiry->peers, peer, home))
            peer++;
        if (peer < inquiry->peers->count) {
            if (!home_is_daemon(home) || !asked_daemon)
                ask_home(inquiry, peer, home_is_daemon(home));
            asked_daemon |= home_is_daemon(home);
            continue;
        }
        (void)error_set(inquiry->sentence, EX_DATAERR,
                        "rule %s/%s: home is '%.*s', %s: expected the region of a daemon, a daemon as REGION/NAME, "
                        "or by_key",
                        rule->service.data, rule->id.data, (int)home.size, home.data,
                        home_is_daemon(home) ? "which no daemon is" : "where no daemon is");
        return RULE_NOWHERE;
    }
    return inquiry->reach;
}

/* ---- weights ---- */

static uint32_t peers_in(const struct reach_peers *peers, struct bytes region)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < peers->count; i++)
        count += bytes_equal(bytes_of(peers->regions[i]), region);
    return count;
}

struct reach_peers rule_weighted_peers(const struct rule *rule, const struct reach_peers *peers,
                                       uint64_t shares[REACH_PEERS_MAX])
{
    struct reach_peers these = *peers;
    these.shares = shares;
    if (!peers->regions && peers->count > 1 && peers->count < rule->weights_count)
        these.count = rule->weights_count;
    for (uint32_t i = 0; i < these.count; i++)
        shares[i] = 0;
    for (uint32_t w = 0; w < rule->weights_count; w++) {
        const struct limit_weight *weight = &rule->weights[w];
        const uint64_t share = (weight->billionths << 32) / LIMIT_WEIGHTS_WHOLE;
        const uint32_t together = peers->regions ? peers_in(peers, weight->region) : 1;
        for (uint32_t i = 0; i < these.count && together > 0; i++)
            if (peers->regions ? bytes_equal(bytes_of(peers->regions[i]), weight->region) : i == w)
                shares[i] = share / together;
    }
    return these;
}

/* A part that nobody has is no mistake: a daemon may start there. */
static void ask_deserted(struct inquiry *inquiry)
{
    const struct rule *rule = inquiry->rule;
    char text[RULE_WEIGHT_TEXT_BYTES];
    for (uint32_t w = 0; w < rule->weights_count && inquiry->peers->regions; w++) {
        const struct limit_weight *weight = &rule->weights[w];
        if (inquiry->reach != RULE_REACHES || peers_in(inquiry->peers, weight->region) > 0)
            continue;
        inquiry->reach = RULE_FALLS_SHORT;
        (void)
            error_set(inquiry->sentence, EX_DATAERR,
                      "rule %s/%s: weights gives %s of the limit to region '%s', where no daemon is: nobody has it "
                      "before one runs there",
                      rule->service.data, rule->id.data, rule_weight_text(weight->billionths, text, sizeof text),
                      weight->region.data);
    }
}

static enum rule_reach ask_by_weights(struct inquiry *inquiry)
{
    uint64_t shares[REACH_PEERS_MAX];
    const struct reach_peers *all = inquiry->peers, these = rule_weighted_peers(inquiry->rule, all, shares);
    inquiry->peers = &these;
    ask_amounts(inquiry);
    inquiry->peers = all;
    ask_deserted(inquiry);
    return inquiry->reach;
}

enum rule_reach rule_reach(const struct rule *rule, const struct reach_peers *peers, struct error *sentence)
{
    struct inquiry inquiry = {.rule = rule, .peers = peers, .reach = RULE_REACHES, .sentence = sentence};
    assert(peers->count <= REACH_PEERS_MAX);
    if (rule->mode == RULE_OFF || rule->sync == RULE_CENTRAL || peers->count == 0)
        return RULE_REACHES;
    if (home_is_by_key(rule->home))
        return ask_regions(&inquiry);
    if (rule->home.size > 0)
        return ask_homes(&inquiry);
    if (rule->weights_count > 0)
        return ask_by_weights(&inquiry);
    ask_amounts(&inquiry);
    return inquiry.reach;
}
