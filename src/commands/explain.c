/*
 * Answers EXPLAIN: tells people why this node allows or refuses a request.
 */
#include "base/units.h"
#include "commands/call.h"
#include "commands/elsewhere.h"
#include "edge/central/central.h"
#include "limit/kind.h"
#include "rules/homes.h"

#include <inttypes.h>

enum { CHARGE_WORK = 30 }; /* units of command.h that each further limit costs, without the bytes of its text */

static void print_ms(struct output *output, const char *label, uint64_t ns)
{
    if (ns == UINT64_MAX)
        output_print(output, "%snever\n", label);
    else
        output_print(output, "%s%lld ms\n", label, (long long)call_ms(ns));
}

/* Prints "allowed", or "refused (share): tokens are left, ...". */
static void print_reason(struct output *output, enum verdict_reason reason)
{
    if (reason != VERDICT_ALLOWED)
        output_print(output, "refused (%s): ", verdict_reason_name(reason));
    output_print(output, "%s", verdict_reason_sentence(reason));
}

/* Prints "user=alice ip=1.2.3.4", as many ids as fit a line. */
static void print_ids(struct output *output, const struct command_query *query)
{
    for (uint32_t i = 0; i < query->id_count; i++)
        output_print(output, "%s%.*s=%.*s", i > 0 ? " " : "", (int)query->id[i].dimension.size,
                     query->id[i].dimension.data, (int)query->id[i].value.size, query->id[i].value.data);
}

static void print_terms(struct output *output, const struct limit *limit)
{
    char rate[UNITS_TEXT_BYTES];
    output_print(output, "capacity %llu", (unsigned long long)limit->capacity);
    switch ((enum limit_kind)limit->kind) {
    case LIMIT_BUCKET:
        output_print(output, ", rate %s\n", units_format_rate(rate, sizeof rate, limit->rate, limit->period_ns));
        break;
    case LIMIT_CELL:
        output_print(output, " in each window\n");
        break;
    case LIMIT_LOG:
        output_print(output, ", a spend counts for %.3f s\n", (double)limit->period_ns / 1e9);
        break;
    case LIMIT_KINDS:
        break;
    }
    if ((limit->flags & LIMIT_SPLIT) != 0)
        output_print(output, "shared            by a static split: each peer has its part and no more\n");
}

/* Prints "user=alice under rule login of shop: ". */
static void print_rule(struct output *output, const struct command_query *query, const struct matched *matched)
{
    const struct ruled *rule = matched->rule;
    print_ids(output, query);
    if (matched->why == WHY_CONFIG)
        output_print(output, " under limit %.*s: ", (int)rule->id.size, rule->id.data);
    else
        output_print(output, " under rule %.*s of %.*s: ", (int)rule->id.size, rule->id.data,
                     (int)rule->service.size, rule->service.data);
}

static void print_version(struct output *output, const struct matched *matched)
{
    const struct ruled_version *version = matched->version;
    if (matched->why == WHY_CONFIG)
        return;
    output_print(output, "rule              %s%s by %.*s, endpoint %.*s, %s%.*s%s%s%s; amount of the %s\n",
                 rule_algorithm_name(version->algorithm), version->from_first ? " from the first request" : "",
                 (int)version->by.size, version->by.data, (int)version->endpoint.size, version->endpoint.data,
                 version->counts.size > 0 ? "counts " : "", (int)version->counts.size, version->counts.data,
                 version->counts.size > 0 ? ", " : "", rule_mode_name(version->mode),
                 matched->candidate ? " (canary)" : "", match_why_name((enum match_why)matched->why));
}

/* Which of the rule's homes the limit has. One that the config does not know is named as the rule does. */
static struct bytes home_at(const struct node *node, struct bytes home, uint16_t limit)
{
    const char *known = node_home(node, limit);
    struct bytes rest = home, place;
    while (home_next(&rest, &place))
        if (limit_home_named(place) == node_limit(node, limit)->home)
            return place;
    return known ? bytes_of(known) : home;
}

static void print_home(struct call *call, struct bytes home, uint16_t limit)
{
    struct output *output = call->answer.output;
    const struct bytes place = home_at(call->commands->node, home, limit);
    if (home.size > 0)
        output_print(output, "home              %.*s has the whole limit%s%s\n", (int)place.size, place.data,
                     home_is_of_keys(home) ? " of this key" : "",
                     node_is_home(call->commands->node, limit)
                         ? ""
                         : ": this daemon asks there for what its clients want, a round trip before it is here");
}

/* `weights`: regions and their weights, as "eu-west 0.1, us-east 0.9". */
static bool has_weight(struct bytes weights, struct bytes region)
{
    while (weights.size > region.size) {
        if (memcmp(weights.data, region.data, region.size) == 0 && weights.data[region.size] == ' ')
            return true;
        const char *comma = memchr(weights.data, ',', weights.size);
        const size_t past = comma ? (size_t)(comma - weights.data) + 2 : weights.size;
        weights = (struct bytes){weights.data + past, weights.size - past};
    }
    return false;
}

static void print_weights(struct call *call, struct bytes weights, uint16_t index)
{
    const struct limit *limit = node_limit(call->commands->node, index);
    const bool asks = !kind_lists(limit->kind) && (limit->flags & LIMIT_SPLIT) == 0;
    if (weights.size > 0)
        output_print(call->answer.output, "weights           %.*s, of this rule alone%s\n", (int)weights.size,
                     weights.data,
                     has_weight(weights, bytes_of(call->commands->region)) ? ""
                     : asks ? ": this daemon has no part, and asks the others for what its clients want"
                            : ": this daemon has no part");
}

static void print_charge(struct call *call, const struct charge *charge, const struct verdict *verdict)
{
    struct output *output = call->answer.output;
    struct explanation seen;
    node_explain(call->commands->node, charge->id, charge->limit, call->now_ns, &seen);
    if (charge->central != CENTRAL_NOT)
        output_print(
            output,
            "decided by        the central store, which %s; what follows is this daemon's own counting, for "
            "when it is down\n",
            call->commands->central == NULL          ? "this daemon's config does not have"
            : central_is_up(call->commands->central) ? "answers"
                                                     : "is down");
    output_print(output, "asked of          %s (%s), which holds %.2f%% of the limit\n", call->commands->name,
                 call->commands->region, seen.share * 100);
    output_print(output, "one more now      ");
    print_reason(output, verdict->reason);
    output_print(output, "\n");
    if (!verdict->allowed)
        print_ms(output, "retry after       ", verdict->retry_after_ns);
    output_print(output, "remaining         %llu tokens of the whole limit, as far as is known here\n",
                 (unsigned long long)verdict->remaining_tokens);
    output_print(output, "available now     %llu tokens, which may be admitted here at once\n",
                 (unsigned long long)verdict->available_tokens);
    output_print(output, "settled           %.3f tokens left, by the spends that everybody knows of\n",
                 seen.settled_tokens);
    output_print(output, "unsettled         %.3f tokens spent here that somebody may not know of yet\n",
                 seen.unsettled_tokens);
    output_print(output, "allowance         %.3f tokens may be unsettled here at most\n", seen.allowance_tokens);
    if (seen.voucher_tokens > 0)
        output_print(output, "granted by peers  %" PRIu64 " tokens may be admitted beyond that\n",
                     seen.voucher_tokens);
    if (charge->patience_ms > 0)
        output_print(output, "patience          %u ms: so long a request may wait that only the share refuses\n",
                     (unsigned)charge->patience_ms);
    print_ms(output, "full again after  ", verdict->reset_after_ns);
    output_print(output, "overshoot         at most %.3f tokens: declared %llu, in flight between peers %.3f\n",
                 seen.overshoot_bound_tokens, (unsigned long long)seen.overshoot_tokens,
                 seen.in_flight_bound_tokens);
    output_print(output, "worst debt seen   %.3f tokens, of any key of this limit\n", seen.worst_debt_tokens);
    output_print(output, "last spender      %s%s\n",
                 seen.last_spender[0] != '\0' ? seen.last_spender : "nobody known",
                 seen.tracked ? "" : " (nothing is owed: the key is full and takes no memory)");
}

static const char *denial_text(const struct match *match)
{
    const bool zero = match->status == MATCH_DENIED && match->passed[match->denied_by].why == WHY_ZERO;
    return zero ? "refused by a limit of 0" : "refused by a list";
}

static void print_explanation(struct call *call, const struct question *question)
{
    struct output *output = call->answer.output;
    const struct match *match = &question->match;
    struct decision decision;
    call_decide(call->commands, match, NULL, call->now_ns, &decision);
    int decider = decision_of(match, decision.allowed, decision.verdict);
    if (match->count + match->passed_count != 1) {
        print_ids(output, &question->query);
        if (decider >= 0)
            output_print(output, ": %s by %.*s\n\n", decision.allowed ? "allowed, most narrowly" : "refused",
                         (int)match->rule[decider].rule->id.size, match->rule[decider].rule->id.data);
        else
            output_print(output, ": %s\n\n", decision.allowed ? "allowed: nothing counts it" : denial_text(match));
    }
    for (uint32_t i = 0; i < match->count && match->status == MATCH_CHARGES; i++) {
        print_rule(output, &question->query, &match->rule[i]);
        print_terms(output, node_limit(call->commands->node, match->charge[i].limit));
        print_version(output, &match->rule[i]);
        print_home(call, match->rule[i].version->home, match->charge[i].limit);
        print_weights(call, match->rule[i].version->weights, match->charge[i].limit);
        print_charge(call, &match->charge[i], &decision.verdict[i]);
        call->work += i > 0 ? CHARGE_WORK : 0;
        output_print(output, "%s", i + 1 < match->count + match->passed_count ? "\n" : "");
    }
    for (uint32_t i = 0; i < match->passed_count; i++) {
        print_rule(output, &question->query, &match->passed[i]);
        output_print(output, "%s: %s\n", match_why_denies(match->passed[i].why) ? "denied" : "not counted",
                     match_why_name((enum match_why)match->passed[i].why));
    }
}

/* ---- elsewhere: rules of other services, or for other endpoints, that count the same identifiers ---- */

enum { ELSEWHERE_LINES_MAX = 16 };

struct elsewhere_lines {
    struct call *call;
    uint32_t count;
};

static void print_elsewhere(struct output *output, const struct ruled *rule, const struct ruled_version *version)
{
    output_print(output, "elsewhere         rule %.*s of %.*s, endpoint %.*s%s: ", (int)rule->id.size,
                 rule->id.data, (int)rule->service.size, rule->service.data, (int)version->endpoint.size,
                 version->endpoint.data,
                 version->mode == RULE_SHADOW ? " (shadow)"
                 : version->mode == RULE_SOFT ? " (soft)"
                                              : "");
}

static void print_line(void *context, const struct elsewhere *elsewhere)
{
    struct elsewhere_lines *lines = context;
    struct output *output = lines->call->answer.output;
    const struct verdict *verdict = &elsewhere->verdict;
    if (lines->count++ >= ELSEWHERE_LINES_MAX)
        return;
    print_elsewhere(output, elsewhere->rule, elsewhere->version);
    print_reason(output, elsewhere->denied ? match_denial((uint8_t)elsewhere->why) : verdict->reason);
    if (elsewhere->denied)
        output_print(output, "\n");
    else if (verdict->allowed)
        output_print(output, ", %llu tokens available now\n", (unsigned long long)verdict->available_tokens);
    else if (verdict->retry_after_ns == UINT64_MAX)
        output_print(output, ", at any time\n");
    else
        output_print(output, ", retry after %lld ms\n", (long long)call_ms(verdict->retry_after_ns));
}

static void explain_elsewhere(struct call *call, const struct question *question)
{
    struct output *output = call->answer.output;
    struct elsewhere_lines lines = {.call = call};
    const struct turn turn = {.now_ns = call->now_ns, .wall_ns = call->wall_ns};
    output_print(output, "\n");
    const struct elsewhere_sum sum = ask_elsewhere(call->commands, question, turn, print_line, &lines);
    if (lines.count > ELSEWHERE_LINES_MAX)
        output_print(output, "elsewhere         and %u rules more\n", lines.count - ELSEWHERE_LINES_MAX);
    output_print(output,
                 "looked at         %s%.*s: %zu of %zu rules; further ones that count this: %u, in use: %u\n",
                 sum.service.size > 0 ? "service " : "all services", (int)sum.service.size, sum.service.data,
                 sum.looked, sum.rules, sum.concerned, lines.count);
    call->work += sum.work;
}

void call_explain(struct call *call)
{
    struct question question;
    if (!call_question(call, 0, &question))
        return;
    size_t begun = answer_bulk_begin(&call->answer);
    print_explanation(call, &question);
    if (question.query.rule.size == 0)
        explain_elsewhere(call, &question);
    answer_bulk_end(&call->answer, begun);
}
