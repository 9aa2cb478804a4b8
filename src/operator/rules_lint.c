/*
 * headgate rules lint: rules that are right and will surprise all the same, because several daemons share their limits.
 *
 * Three things surprise: a limit so small that a daemon's part of it is less than a burst, an overshoot so large that
 * the worst moment is far beyond the limit, and names that gateways do not say: an endpoint that no path of theirs is
 * spelled like, a dimension that is none for them. The shares are even and daemons grant, since no daemon is asked.
 */
#include "base/number.h"
#include "edge/process/clock.h"
#include "limit/kind.h"
#include "limit/limit.h"
#include "limit/limit_span.h"
#include "operator/json.h"
#include "operator/rules.h"
#include "rules/homes.h"
#include "rules/rule_ended.h"
#include "rules/rule_home.h"
#include "rules/rule_reach.h"
#include "rules/rule_value.h"
#include "wire/path.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sysexits.h>

enum {
    SAYS_BYTES = 512,
    OVERRIDES_TOLD = 5, /* of a rule; further ones, of which there may be thousands, are counted */
    SMALL_LIMIT = 100,  /* up to here the overshoot that a rule has unless it says one is worth a word */
};

#define ROUND_TRIP_NS UINT64_C(100000000) /* between regions, about */
#define SECOND_NS UINT64_C(1000000000)

struct lint {
    struct reach_peers peers;
    uint64_t shares[RULES_DAEMONS_MAX];
    uint64_t least_billionths; /* the least weight of the rule that is looked at; 0: it has no weights */
    uint64_t now_s;
    struct json *json; /* NULL: sentences */
    uint64_t warnings;
    bool hushes; /* what would be said is counted in `hushed` instead */
    uint64_t hushed;
};

static void say(struct lint *lint, const struct rule *rule, const char *amount, const char *says)
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
    char says[SAYS_BYTES];
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
    say(lint, rule, amount, says);
}

static void lint_part(struct lint *lint, const struct rule *rule, const char *amount,
                      const struct limit_terms *terms)
{
    const uint64_t part = part_of(lint, terms);
    char says[SAYS_BYTES];
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
    say(lint, rule, amount, says);
}

/* A rule with a home has no parts of daemons; what it costs others to ask there may surprise. */
static void lint_home(struct lint *lint, const struct rule *rule, const char *amount,
                      const struct limit_terms *terms)
{
    char says[SAYS_BYTES];
    const char *home = home_is_of_keys(rule->home) ? "the home of its key" : rule->home.data;
    struct limit limit;
    struct error error;
    if (rule->patience_ns == 0) {
        (void)snprintf(says, sizeof says,
                       "the first request elsewhere than at %s is refused, since it has to ask there: with "
                       "patience it waits for the answer",
                       home);
        say(lint, rule, amount, says);
    }
    const bool is_bucket = kind_refills(terms->kind) && limit_init(&limit, terms, &error);
    if (is_bucket && limit_refill_ns(&limit, limit.units_per_token) < ROUND_TRIP_NS) {
        (void)
            snprintf(says, sizeof says,
                     "each time that another daemon asks %s, as much is lost as refills until the answer is there, "
                     "and this refills fast: expected no home, or algorithm: fixed_window",
                     home);
        say(lint, rule, amount, says);
    }
}

static void lint_amount(struct lint *lint, const struct rule *rule, const char *field, const char *of,
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

/* Of a prefix up to its last slash: what follows may be part of anything. */
static struct bytes whole_segments(struct bytes endpoint)
{
    if (endpoint.size > 0 && endpoint.data[endpoint.size - 1] == '*')
        while (endpoint.size > 0 && endpoint.data[endpoint.size - 1] != '/')
            endpoint.size--;
    return endpoint;
}

static void lint_endpoint(struct lint *lint, const struct rule *rule)
{
    char room[PATH_ROOM_BYTES], says[2 * SAYS_BYTES];
    const struct bytes written = whole_segments(rule->endpoint);
    if (written.size == 0 || written.data[0] != '/')
        return;
    const struct bytes path = path_spell(written, PATH_MERGE_SLASHES, room);
    if (bytes_equal(path, written))
        return;
    (void)snprintf(says, sizeof says,
                   "endpoint begins with %.*s: a path of a gateway has another spelling, unless endpoint_spelling "
                   "says so: expected %.*s",
                   (int)written.size, written.data, (int)path.size, path.data);
    say(lint, rule, "", says);
}

/* What /check and gRPC say as something else is no identifier there. */
static void lint_dimensions(struct lint *lint, const struct rule *rule)
{
    static const char *const others[] = {"endpoint", "tier", "priority", "rule", "service_id", "cost"};
    char says[SAYS_BYTES];
    for (size_t i = 0; i < rule->by_count; i++)
        for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
            if (!bytes_equal(rule->by[i], bytes_of(others[k])))
                continue;
            (void)snprintf(says, sizeof says,
                           "by names %s, which is no identifier in a request of a gateway, so none of them counts: "
                           "expected another name, such as %s",
                           others[k], k == 0 ? "path" : "plan");
            say(lint, rule, "", says);
        }
}

/* A sheet's overrides are those of its rule, if that is in the files. NULL: it is no sheet, or of none of these. */
static const struct rule *base_of(const struct rule_list *list, const struct rule *rule, struct rule *joined)
{
    for (size_t i = 0; rule->overrides_of.size > 0 && i < list->count; i++)
        if (rule_of_sheet(rule, list->rule[i], joined))
            return list->rule[i];
    return NULL;
}

/* 0: the rule has no weights. */
static uint64_t least_weight(const struct rule *rule)
{
    uint64_t least = 0;
    for (uint16_t i = 0; i < rule->weights_count; i++)
        least = least == 0 || rule->weights[i].billionths < least ? rule->weights[i].billionths : least;
    return least;
}

static bool gets_home(const struct lint *lint, const struct rule_list *list, const struct rule *rule)
{
    return rule_wants_home(rule, &lint->peers) == HOME_OF_REGIONS &&
           rule_home_suits_sheets(rule, list, &lint->peers);
}

/* Index 0: the rule's own amount; else that of a tier. */
static const struct rule_amount *amount_of_tier(const struct rule *rule, size_t index)
{
    return index == 0 ? &rule->amount : &rule->tiers[index - 1].amount;
}

/* A bucket counts in units, so many to a token that it is exact: the slower it is, the fewer tokens it can owe. */
static void lint_debt(struct lint *lint, const struct rule *rule, const char *tier, const struct limit_span *span,
                      const struct limit_terms *terms)
{
    char says[SAYS_BYTES], what[96];
    struct limit limit;
    struct error error;
    if (!kind_refills(terms->kind) || !limit_init(&limit, terms, &error))
        return;
    limit_span_note(span, &limit);
    const uint64_t owes = (uint64_t)(limit.debt_units / limit.units_per_token);
    if (owes >= span->all - terms->capacity)
        return;
    (void)snprintf(what, sizeof what, "%s%.64s", tier[0] ? "tier " : "", tier);
    (void)snprintf(says, sizeof says,
                   "it refills so slowly that a key can owe no more than %" PRIu64
                   " tokens, where a wider tier may use "
                   "%" PRIu64 ": more may be admitted where requests of one key have several tiers: expected "
                   "algorithm: fixed_window",
                   owes, span->all);
    say(lint, rule, what, says);
}

static void lint_tiers(struct lint *lint, const struct rule *rule)
{
    struct limit_span span = {0};
    struct limit_terms terms;
    const size_t amounts = 1 + (size_t)rule->tier_count;
    for (size_t i = 0; i < amounts && amounts > 1; i++)
        if (rule_amount_counts(amount_of_tier(rule, i))) {
            rule_terms(rule, amount_of_tier(rule, i), RULE_SCALE_ONE, &terms);
            limit_span_add(&span, &terms);
        }
    for (size_t i = 0; i < amounts && amounts > 1; i++)
        if (rule_amount_counts(amount_of_tier(rule, i))) {
            rule_terms(rule, amount_of_tier(rule, i), RULE_SCALE_ONE, &terms);
            lint_debt(lint, rule, i > 0 ? rule->tiers[i - 1].name.data : "", &span, &terms);
        }
}

/* The overrides of a rule that were told. */
struct told {
    struct rule_amount amount[OVERRIDES_TOLD];
    uint32_t count;
    uint64_t likewise;
};

static bool are_equal(const struct rule_amount *a, const struct rule_amount *b)
{
    return a->unlimited == b->unlimited && a->limit == b->limit && a->rate == b->rate &&
           a->period_ns == b->period_ns && a->unit == b->unit;
}

static bool is_told(const struct told *told, const struct rule_amount *amount)
{
    for (uint32_t i = 0; i < told->count; i++)
        if (are_equal(&told->amount[i], amount))
            return true;
    return told->count == OVERRIDES_TOLD;
}

static void lint_overrides(struct lint *lint, const struct rule *rule, struct told *told)
{
    for (size_t i = 0; i < rule->override_count; i++) {
        const struct rule_override *override = &rule->overrides[i];
        const uint64_t before = lint->warnings, hushed = lint->hushed;
        if (rule_override_has_ended(override, lint->now_s))
            continue;
        lint->hushes = is_told(told, &override->amount);
        lint_amount(lint, rule, "override of ", override->value.data, &override->amount);
        told->likewise += lint->hushed > hushed;
        if (lint->warnings > before)
            told->amount[told->count++] = override->amount;
        lint->hushes = false;
    }
}

/* Those of the rule, and those of its sheets as if they stood in it. */
static void lint_all_overrides(struct lint *lint, const struct rule_list *list, const struct rule *rule)
{
    struct told told = {.count = 0};
    struct rule joined;
    char says[SAYS_BYTES];
    lint_overrides(lint, rule, &told);
    for (size_t i = 0; i < list->count && rule->overrides_of.size == 0; i++) {
        if (!rule_of_sheet(list->rule[i], rule, &joined))
            continue;
        joined.id = rule->id;
        lint_overrides(lint, &joined, &told);
    }
    if (told.likewise == 0)
        return;
    (void)snprintf(says, sizeof says, "%" PRIu64 " more of its overrides may surprise likewise", told.likewise);
    say(lint, rule, "", says);
}

static void lint_rule(struct lint *lint, const struct rule_list *list, const struct rule *rule)
{
    struct error sentence;
    struct rule joined, given;
    const struct rule *base = base_of(list, rule, &joined);
    if (base)
        rule = &joined;
    if (rule->mode == RULE_OFF || rule->mode == RULE_SHADOW)
        return;
    if (!base) { /* else it is said of the rule */
        lint_endpoint(lint, rule);
        lint_dimensions(lint, rule);
        lint_tiers(lint, rule);
    }
    if (gets_home(lint, list, base ? base : rule)) {
        if (!base) {
            rule_home_sentence(rule, HOME_OF_REGIONS, &lint->peers, &sentence);
            say(lint, rule, "", sentence.text);
        }
        given = *rule;
        given.home = bytes_of(HOME_BY_KEY);
        rule = &given;
    } else if (rule_reach(rule, &lint->peers, &sentence) != RULE_REACHES) {
        say(lint, rule, "", sentence.text);
    }
    uint64_t shares[REACH_PEERS_MAX];
    const struct reach_peers even = lint->peers;
    if (rule->weights_count > 0)
        lint->peers = rule_weighted_peers(rule, &even, shares);
    lint->least_billionths = least_weight(rule);
    lint_amount(lint, rule, "", "", &rule->amount);
    for (size_t i = 0; i < rule->tier_count; i++)
        lint_amount(lint, rule, "tier ", rule->tiers[i].name.data, &rule->tiers[i].amount);
    if (!base)
        lint_all_overrides(lint, list, rule);
    lint->peers = even;
}

int rules_lint(struct rules_invocation *invocation)
{
    struct lint lint =
        {.peers = {.count = invocation->daemons, .shares = lint.shares, .grants = true, .homes = true},
         .now_s = clock_wall_ns() / SECOND_NS};
    struct rule_list list = {0};
    struct json json;
    const int status = rules_read_files(invocation, &list);
    for (uint32_t i = 0; i < lint.peers.count; i++)
        lint.shares[i] = SHARE_ONE / lint.peers.count;
    if (status == EX_OK && invocation->json) {
        json_begin(&json, stdout, '{');
        lint.json = &json;
        json_open(&json, "warnings", '[');
    }
    for (size_t i = 0; i < list.count && status == EX_OK; i++)
        lint_rule(&lint, &list, list.rule[i]);
    if (lint.json) {
        json_close(&json, ']');
        json_count(&json, "rules", list.count);
        json_count(&json, "daemons", lint.peers.count);
        json_close(&json, '}');
    } else if (status == EX_OK) {
        printf("%zu rule%s, %" PRIu64 " warning%s for %u daemon%s of even shares\n", list.count,
               list.count == 1 ? "" : "s", lint.warnings, lint.warnings == 1 ? "" : "s", lint.peers.count,
               lint.peers.count == 1 ? "" : "s");
    }
    rules_close(&list);
    return status != EX_OK ? status : lint.warnings > 0 ? EXIT_FAILURE : EX_OK;
}
