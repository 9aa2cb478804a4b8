/*
 * Says what surprises, and finds it in one amount of a rule: a limit so small that a daemon's part of it is less than
 * a burst, an overshoot so large that the worst moment is far beyond the limit, and what asking at a home costs.
 */
#include "operator/rules_lint.h"

#include "limit/kind.h"
#include "limit/limit.h"
#include "rules/homes.h"
#include "rules/rule_value.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum { SMALL_LIMIT = 100 /* up to here the overshoot that a rule has unless it says one is worth a word */ };

#define ROUND_TRIP_NS UINT64_C(100000000) /* between regions, about */

void lint_say(struct lint *lint, const struct rule *rule, const char *amount, const char *says)
{
    if (lint->hushes) {
        lint->hushed++;
        return;
    }
    lint->warnings++;
    if (!lint->json) {
        printf("%s/%s%s%s: %s\n", rule->service.data, rule->id.data, amount[0] ? ", " : "", amount, says);
        return;
    }
    json_open(lint->json, NULL, '{');
    json_string(lint->json, "service", rule->service.data);
    json_string(lint->json, "rule", rule->id.data);
    json_string(lint->json, "amount", amount);
    json_string(lint->json, "says", says);
    json_close(lint->json, '}');
}

/* Tokens that a daemon may have spent that others have not heard of: docs/rules.md, "Many daemons". */
static uint64_t part_of(const struct lint *lint, const struct limit_terms *terms)
{
    assert(lint->peers.count > 0);
    const uint64_t sixteenths = terms->flags & LIMIT_SPLIT ? 16 : 15;
    const uint64_t whole = terms->capacity * sixteenths + terms->overshoot * 16;
    if (lint->least_billionths > 0)
        return (uint64_t)((uint128)whole * lint->least_billionths / (16 * LIMIT_WEIGHTS_WHOLE));
    return whole / (16 * (uint64_t)lint->peers.count);
}

/* A tenth of the limit, or as much as it takes for each daemon to admit two at once, or at least one. */
static uint64_t better_overshoot(const struct lint *lint, const struct limit_terms *terms)
{
    struct limit_terms better = *terms;
    better.overshoot = 0;
    const uint64_t tenth = (terms->capacity + 9) / 10;
    const uint64_t least =
        reach_count(&better, 0, &lint->peers) < lint->peers.count ? reach_overshoot(&better, 0, &lint->peers) : 0;
    better.overshoot = tenth > least ? tenth : least;
    while (better.overshoot < terms->capacity && part_of(lint, &better) < 2)
        better.overshoot += 1 + terms->capacity / 1000;
    return better.overshoot;
}

static void lint_overshoot(struct lint *lint, const struct rule *rule, const char *amount,
                           const struct limit_terms *terms)
{
    const bool is_unsaid = rule->overshoot_relative && rule->overshoot == RULE_OVERSHOOT_DEFAULT;
    const uint64_t better = better_overshoot(lint, terms);
    char says[LINT_SAYS_BYTES];
    if (terms->overshoot <= terms->capacity && !(is_unsaid && terms->capacity <= SMALL_LIMIT))
        return;
    if (better >= terms->overshoot) /* so small a limit needs it */
        (void)snprintf(says, sizeof says,
                       "up to %" PRIu64 " may be admitted at the worst moment, where the limit is %" PRIu64
                       ": expected a larger limit, or fewer daemons than %u",
                       terms->capacity + terms->overshoot, terms->capacity, lint->peers.count);
    else
        (void)snprintf(says, sizeof says,
                       "up to %" PRIu64 " may be admitted at the worst moment, where the limit is %" PRIu64
                       ": with overshoot: %" PRIu64 " up to %" PRIu64,
                       terms->capacity + terms->overshoot, terms->capacity, better, terms->capacity + better);
    lint_say(lint, rule, amount, says);
}

static void lint_part(struct lint *lint, const struct rule *rule, const char *amount,
                      const struct limit_terms *terms)
{
    const uint64_t part = part_of(lint, terms);
    char says[LINT_SAYS_BYTES];
    if (part >= 2 || terms->capacity < 2 || (rule->sync == RULE_CENTRAL && rule->when_down != ISOLATION_BUDGET))
        return;
    const char *when =
        rule->sync == RULE_CENTRAL ? " while the central store is down"
        : terms->flags & LIMIT_SPLIT
            ? ", and no more: without sync: budget it may use what the others leave"
            : " at once, and then waits until the others have heard of it: with more overshoot it may more";
    char weight[RULE_WEIGHT_TEXT_BYTES], who[80];
    if (lint->least_billionths > 0)
        (void)snprintf(who, sizeof who, "a daemon alone in a region of weight %s",
                       rule_weight_text(lint->least_billionths, weight, sizeof weight));
    else
        (void)snprintf(who, sizeof who, "each of %u daemons", lint->peers.count);
    (void)snprintf(says, sizeof says, "%s may admit %" PRIu64 " of the %" PRIu64 "%s", who, part, terms->capacity,
                   when);
    lint_say(lint, rule, amount, says);
}

/* A rule with a home has no parts of daemons; what it costs others to ask there may surprise. */
static void lint_home(struct lint *lint, const struct rule *rule, const char *amount,
                      const struct limit_terms *terms)
{
    char says[LINT_SAYS_BYTES];
    const char *home = home_is_of_keys(rule->home) ? "the home of its key" : rule->home.data;
    struct limit limit;
    struct error error;
    if (rule->patience_ns == 0) {
        (void)snprintf(says, sizeof says,
                       "the first request elsewhere than at %s is refused, since it has to ask there: with "
                       "patience it waits for the answer",
                       home);
        lint_say(lint, rule, amount, says);
    }
    const bool is_bucket = kind_refills(terms->kind) && limit_init(&limit, terms, &error);
    if (is_bucket && limit_refill_ns(&limit, limit.units_per_token) < ROUND_TRIP_NS) {
        (void)
            snprintf(says, sizeof says,
                     "each time that another daemon asks %s, as much is lost as refills until the answer is there, "
                     "and this refills fast: expected no home, or algorithm: fixed_window",
                     home);
        lint_say(lint, rule, amount, says);
    }
}

void lint_amount(struct lint *lint, const struct rule *rule, const char *field, const char *of,
                 const struct rule_amount *amount)
{
    char what[96];
    struct limit_terms terms;
    if (!rule_amount_counts(amount))
        return;
    (void)snprintf(what, sizeof what, "%s%.64s", field, of);
    rule_terms(rule, amount, RULE_SCALE_ONE, &terms);
    if (rule->home.size > 0) {
        if (lint->peers.count > 1)
            lint_home(lint, rule, what, &terms);
        return;
    }
    if (lint->peers.count == 1 || reach_count(&terms, 0, &lint->peers) < lint->peers.count)
        return; /* a daemon that is alone is exact; of the others rule_reach has a sentence */
    lint_overshoot(lint, rule, what, &terms);
    lint_part(lint, rule, what, &terms);
}
