#include "commands/elsewhere.h"

#include "commands/call.h"

/* Units of command.h that a rule costs: a look, and a decision where it counts the identifiers. */
enum { RULE_WORK = 1, CONCERNED_WORK = 3 };

static bool is_explained(const struct match *match, const struct ruled *rule)
{
    for (uint32_t i = 0; i < match->count; i++)
        if (match->rule[i].rule == rule)
            return true;
    for (uint32_t i = 0; i < match->passed_count; i++)
        if (match->passed[i].rule == rule)
            return true;
    return false;
}

/* The shortest endpoint that a pattern covers; none for "*". */
static struct bytes covered(struct bytes pattern)
{
    bool is_prefix = pattern.size > 0 && pattern.data[pattern.size - 1] == '*';
    return (struct bytes){pattern.data, pattern.size - is_prefix};
}

/* Fills what one rule says. False: it does not concern the question, or (*concerned) nothing of its key is used. */
static bool look_at(struct commands *commands, const struct question *question, struct turn turn,
                    struct elsewhere *out, bool *concerned)
{
    struct node *node = commands->node;
    struct request request;
    struct match match;
    struct verdict verdict[CHARGES_MAX];
    struct explanation seen;
    call_fill_request(&request, &question->query, commands->thread);
    request.service = out->rule->service;
    request.endpoint = covered(out->version->endpoint);
    request.only_rule = out->rule->id;
    (void)ruleset_match(node_rules(node), &request, turn.now_ns, turn.wall_ns, &match);
    out->denied = match.status == MATCH_DENIED;
    if (out->denied)
        out->why = (enum match_why)match.passed[match.denied_by].why;
    *concerned = out->denied || (match.status == MATCH_CHARGES && match.count > 0);
    if (out->denied || !*concerned)
        return out->denied;
    (void)ask_decide(commands, &match, NULL, turn.now_ns, verdict);
    node_explain(node, match.charge[0].id, match.charge[0].limit, turn.now_ns, &seen);
    out->verdict = verdict[0];
    return !verdict[0].allowed || seen.tracked;
}

struct elsewhere_sum ask_elsewhere(struct commands *commands, const struct question *question, struct turn turn,
                                   void (*visit)(void *context, const struct elsewhere *elsewhere), void *context)
{
    const struct rulebook *book = node_rulebook(commands->node);
    struct elsewhere_sum sum = {.service = question->query.service, .rules = rulebook_rules(book)};
    size_t from = 0;
    /* who may not ask about all services is told of none but the one that is asked about */
    if (sum.service.size == 0 && commands->caller != NULL && commands->caller->services[0] != '\0')
        sum.service = bytes_of(RULE_DEFAULT_SERVICE);
    if (sum.service.size > 0)
        from = rulebook_service(book, sum.service, &sum.rules);
    const size_t most = sum.rules < ELSEWHERE_RULES_MAX ? sum.rules : ELSEWHERE_RULES_MAX;
    for (; sum.looked < most; sum.looked++) {
        const struct rulebook_rule *row = rulebook_at(book, from + sum.looked);
        const struct ruled *rule = ruleset_find(node_rules(commands->node), row->service, row->id);
        bool concerned;
        sum.work += RULE_WORK;
        if (!rule || is_explained(&question->match, rule))
            continue;
        struct elsewhere found = {.rule = rule, .version = rule->stable ? rule->stable : rule->candidate};
        if (look_at(commands, question, turn, &found, &concerned))
            visit(context, &found);
        sum.concerned += concerned;
        sum.work += concerned ? CONCERNED_WORK : 0;
    }
    return sum;
}
