/*
 * Asks limit/reach.h about each amount of a rule: at full scale for each priority, and at the
 * smallest scale of an adaptive rule. Keeps the sentence about the worst answer.
 */
#include "rules/rule_reach.h"

#include "rules/rule_value.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

enum { SENTENCE_BYTES = 320, WHAT_BYTES = 256 };

void reach_sentence(const struct limit_terms *terms, uint32_t floor_millionths, const struct reach_peers *peers,
                    uint32_t can, char *out, size_t room)
{
    const uint64_t overshoot = reach_overshoot(terms, floor_millionths, peers);
    const uint64_t capacity = reach_capacity(terms, floor_millionths, peers);
    const char *limit = terms->kind == LIMIT_BUCKET ? "capacity or burst" : "limit";
    char where[64], instead[96];
    if (terms->home != 0 && can > 0 && overshoot == 0 && capacity == 0) {
        (void)snprintf(out, room,
                       "a request is admitted at %u of %u daemons only, at home, since no others can ask for such "
                       "tokens: expected fixed_window, quota or a bucket, or no home",
                       can, peers->count);
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
    if (floor > 0)
        (void)snprintf(level, sizeof level, " with priority %s", rule_priority_name(priority));
    (void)error_set(inquiry->sentence, EX_DATAERR, "rule %s/%s: under %s%s%s %s", rule->service.data, rule->id.data,
                    what, scale < RULE_SCALE_ONE ? ", when its service is unwell," : "", level, sentence);
}

static void ask_amount(struct inquiry *inquiry, const char *field, const char *of, const struct rule_amount *amount)
{
    const struct rule *rule = inquiry->rule;
    char text[RULE_AMOUNT_TEXT_BYTES], what[WHAT_BYTES];
    if (!rule_amount_counts(amount))
        return;
    (void)snprintf(what, sizeof what, "%s%.64s (%s)", field, of,
                   rule_amount_text(rule->algorithm, amount, amount, text, sizeof text));
    ask(inquiry, what, amount, RULE_SCALE_ONE, RULE_PRIORITY_CRITICAL);
    for (int level = RULE_PRIORITY_LOW; level < RULE_PRIORITY_CRITICAL; level++)
        if (rule->priority_floor[level] > 0)
            ask(inquiry, what, amount, RULE_SCALE_ONE, (enum rule_priority)level);
    if (rule->adaptive_floor > 0)
        ask(inquiry, what, amount, rule_scale(rule->adaptive_floor, 1), RULE_PRIORITY_CRITICAL);
}

static bool is_at_home(const struct rule *rule, const struct reach_peers *peers, uint32_t peer)
{
    return peers->regions ? bytes_equal(bytes_of(peers->regions[peer]), rule->home) : peer == 0;
}

/* False: the home is no peer's region. */
static bool share_at_home(const struct rule *rule, const struct reach_peers *peers, uint64_t *shares)
{
    uint32_t at_home = 0;
    for (uint32_t i = 0; i < peers->count; i++)
        at_home += is_at_home(rule, peers, i);
    for (uint32_t i = 0; i < peers->count; i++)
        shares[i] = is_at_home(rule, peers, i) ? SHARE_ONE / at_home : 0;
    return at_home > 0;
}

enum rule_reach rule_reach(const struct rule *rule, const struct reach_peers *peers, struct error *sentence)
{
    uint64_t shares[REACH_PEERS_MAX];
    struct reach_peers these = *peers;
    assert(peers->count <= REACH_PEERS_MAX);
    struct inquiry inquiry = {.rule = rule, .peers = &these, .reach = RULE_REACHES, .sentence = sentence};
    if (rule->mode == RULE_OFF || rule->sync == RULE_CENTRAL || peers->count == 0)
        return RULE_REACHES;
    if (rule->home.size > 0) {
        if (!share_at_home(rule, peers, shares)) {
            (void)error_set(sentence, EX_DATAERR,
                            "rule %s/%s: home is '%s', where no daemon is: expected the region of a daemon",
                            rule->service.data, rule->id.data, rule->home.data);
            return RULE_NOWHERE;
        }
        these.shares = shares;
    }
    ask_amount(&inquiry, rule_is_bucket(rule->algorithm) ? "rate" : "limit", "", &rule->amount);
    for (size_t i = 0; i < rule->tier_count; i++)
        ask_amount(&inquiry, "tiers.", rule->tiers[i].name.data, &rule->tiers[i].amount);
    for (size_t i = 0; i < rule->override_count; i++)
        ask_amount(&inquiry, "the override of ", rule->overrides[i].value.data, &rule->overrides[i].amount);
    return inquiry.reach;
}
