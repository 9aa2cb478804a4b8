/*
 * What the server is for: CAN_ACCESS, CHECK and PEEK; and taking back: REFUND, RESET.
 */
#include "commands/call.h"

#include <assert.h>

/* A CAN_ACCESS that joins no group is wrong in some way. */
void call_can_access(struct call *call)
{
    char error[COMMAND_ERROR_BYTES];
    struct bytes key;
    uint64_t cost;
    bool fine = command_parse_can_access(call->words, &key, &cost, error);
    assert(!fine);
    answer_error(&call->answer, "ERR %s", error);
}

void call_decide(struct commands *commands, const struct match *match, bool take, uint64_t now_ns,
                 struct decision *decision)
{
    decision->allowed = match->status == MATCH_CHARGES;
    if (decision->allowed && match->count > 0)
        decision->allowed =
            node_decide_one(commands->node, match->charge, match->count, take, now_ns, decision->verdict);
    if (take)
        ruleset_note(match, decision->verdict);
}

/*
 * A leaky bucket lets through what fits into it and drains at its rate: whoever wants an even stream holds each
 * request until what came before it has drained. The longest of all rules; -1 if it was denied.
 */
static int64_t hold_ms(struct call *call, const struct question *question, const struct decision *decision)
{
    uint64_t longest = 0;
    if (!decision->allowed)
        return -1;
    for (uint32_t i = 0; i < question->match.count; i++) {
        const struct ruled_version *version = question->match.rule[i].version;
        const struct charge *charge = &question->match.charge[i];
        if (version->algorithm != RULE_LEAKY_BUCKET || charge->shadow)
            continue;
        const struct limit *limit = node_limit(call->commands->node, charge->limit);
        uint64_t full_ns = decision->verdict[i].reset_after_ns;
        uint64_t own_ns = limit_refill_ns(limit, (int64_t)charge->cost * limit->units_per_token);
        uint64_t hold_ns = full_ns > own_ns ? full_ns - own_ns : 0;
        longest = hold_ns > longest ? hold_ns : longest;
    }
    return call_ms(longest);
}

/* Those with WAIT or VERBOSE, whose answers are longer; others join a group. */
static void check(struct call *call, bool take)
{
    struct question question;
    struct decision decision;
    if (!call_question(call, QUERY_COST | QUERY_WAIT | QUERY_VERBOSE, &question))
        return;
    call_decide(call->commands, &question.match, take, call->now_ns, &decision);
    const struct command_query *query = &question.query;
    call_answer_verdict(&call->answer, (size_t)query->wait + (size_t)query->verbose, &question.match,
                        decision.allowed, decision.verdict);
    if (query->wait)
        answer_integer(&call->answer, hold_ms(call, &question, &decision));
    if (query->verbose)
        call_answer_rules(&call->answer, &question.match, &decision);
}

void call_check(struct call *call)
{
    check(call, true);
}

void call_peek(struct call *call)
{
    check(call, false);
}

uint64_t ask_refund(struct commands *commands, const struct question *question, uint64_t now_ns)
{
    const struct match *match = &question->match;
    if (match->status != MATCH_CHARGES || match->count == 0)
        return 0;
    return node_return(commands->node, match->charge, match->count, question->query.cost, now_ns);
}

void call_refund(struct call *call)
{
    struct question question;
    if (call_question(call, QUERY_COST, &question))
        answer_integer(&call->answer, (int64_t)ask_refund(call->commands, &question, call->now_ns));
}

uint32_t ask_reset(struct commands *commands, const struct question *question, uint64_t now_ns)
{
    const struct match *match = &question->match;
    if (match->status != MATCH_CHARGES || match->count == 0)
        return 0;
    return node_reset_key(commands->node, match->charge, match->count, now_ns);
}

void call_reset_keys(struct call *call)
{
    struct question question;
    if (!call->session->authenticated) {
        answer_error(&call->answer, "NOAUTH Authentication required.");
        return;
    }
    if (call_question(call, 0, &question))
        answer_integer(&call->answer, ask_reset(call->commands, &question, call->now_ns));
}
