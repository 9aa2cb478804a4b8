/*
 * headgate rules lint: rules that are right and will surprise all the same, because several daemons share their limits.
 *
 * Three things surprise: amounts (rules_lint_amount.c), tiers that are so far from each other that a key cannot owe
 * what it got under another one, and names that gateways do not say: an endpoint that no path of theirs is spelled
 * like, a dimension that is none for them. The shares are even and daemons grant, since no daemon is asked.
 */
#include "operator/rules_lint.h"

#include "edge/process/clock.h"
#include "limit/kind.h"
#include "limit/limit.h"
#include "limit/limit_span.h"
#include "rules/homes.h"
#include "rules/rule_ended.h"
#include "rules/rule_home.h"
#include "rules/rule_value.h"
#include "wire/path.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

enum { OVERRIDES_TOLD = 5 /* of a rule; further ones, of which there may be thousands, are counted */ };

#define SECOND_NS UINT64_C(1000000000)

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
    char room[PATH_ROOM_BYTES], says[2 * LINT_SAYS_BYTES];
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
    lint_say(lint, rule, "", says);
}

/* What /check and gRPC say as something else is no identifier there. */
static void lint_dimensions(struct lint *lint, const struct rule *rule)
{
    static const char *const others[] = {"endpoint", "tier", "priority", "rule", "service_id", "cost"};
    char says[LINT_SAYS_BYTES];
    for (size_t i = 0; i < rule->by_count; i++)
        for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
            if (!bytes_equal(rule->by[i], bytes_of(others[k])))
                continue;
            (void)snprintf(says, sizeof says,
                           "by names %s, which is no identifier in a request of a gateway, so none of them counts: "
                           "expected another name, such as %s",
                           others[k], k == 0 ? "path" : "plan");
            lint_say(lint, rule, "", says);
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
    char says[LINT_SAYS_BYTES], what[96];
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
    lint_say(lint, rule, what, says);
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
    char says[LINT_SAYS_BYTES];
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
    lint_say(lint, rule, "", says);
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
            lint_say(lint, rule, "", sentence.text);
        }
        given = *rule;
        given.home = bytes_of(HOME_BY_KEY);
        rule = &given;
    } else if (rule_reach(rule, &lint->peers, &sentence) != RULE_REACHES) {
        lint_say(lint, rule, "", sentence.text);
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
