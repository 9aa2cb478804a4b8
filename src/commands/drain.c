/*
 * DRAIN: a request takes what is left, up to its cost.
 *
 * Nothing is decided here: a request is looked at, and then checked as any other with the cost that would be admitted.
 * So the bound and all that is exact of a check holds. Where another thread takes tokens in between, the check may be
 * refused; it is then tried with what that one left.
 */
#include "base/number.h"
#include "commands/call.h"
#include "commands/centrally.h"

enum { TRIES = 3 };

/* The node refused without a look at the key: it is not ready, or full. */
static bool is_undecided(enum verdict_reason reason)
{
    return reason == VERDICT_NOT_READY || reason == VERDICT_CONFIG_DIFFERS || reason == VERDICT_LOG_FULL ||
           reason == VERDICT_KEYS_FULL;
}

/* The largest cost that would be admitted, at most `cost`; 0: none. */
static uint64_t admissible(const struct match *match, const uint64_t *paid, const struct decision *decision,
                           uint64_t cost)
{
    uint64_t least = cost;
    for (uint32_t i = 0; i < match->count; i++) {
        const struct verdict *verdict = &decision->verdict[i];
        const struct charge *charge = &match->charge[i];
        if (charge->shadow || verdict->allowed)
            continue;
        if (charge->lease || is_undecided(verdict->reason))
            return 0;
        least = number_least(least, number_sum(verdict->available_tokens, paid ? paid[i] : 0));
    }
    return least;
}

/* A lease is one place, whatever the cost. */
static void set_cost(struct match *match, const uint64_t *paid, uint64_t cost)
{
    for (uint32_t i = 0; i < match->count; i++)
        if (!match->charge[i].lease)
            match->charge[i].cost = paid ? cost - number_least(cost, paid[i]) : cost;
}

/* Some rule that refuses would refuse this cost however long the client waits. */
static bool is_too_much(const struct match *match, const struct decision *decision)
{
    for (uint32_t i = 0; i < match->count; i++)
        if (!match->charge[i].shadow && !decision->verdict[i].allowed &&
            decision->verdict[i].retry_after_ns == UINT64_MAX)
            return true;
    return false;
}

static void ask_for_one(struct match *match)
{
    for (uint32_t i = 0; i < match->count; i++)
        match->charge[i].cost = number_least(match->charge[i].cost, 1);
}

/*
 * Nothing is left. A token is what the client has to wait for, so the figures are those of the refusal of one. The
 * whole cost is what is refused nevertheless, so that peers are asked for all of it, unless it is too much for ever.
 * Returns what was taken after all.
 */
static uint64_t refuse(struct commands *commands, struct match *match, uint64_t cost, bool too_much,
                       const struct asker *asker, uint64_t now_ns, struct decision *decision)
{
    struct decision one;
    if (too_much)
        ask_for_one(match);
    call_decide(commands, match, asker, now_ns, decision);
    if (decision->allowed)
        return too_much ? 1 : cost;
    ask_for_one(match);
    call_decide(commands, match, NULL, now_ns, &one);
    if (!one.allowed)
        *decision = one;
    return 0;
}

void ask_drain(struct commands *commands, struct question *question, const uint64_t *paid,
               const struct asker *asker, uint64_t now_ns, struct decision *decision, uint64_t *taken)
{
    struct match *match = &question->match;
    const uint64_t asked = question->query.cost;
    uint64_t cost = asked;
    bool too_much = false;
    for (int i = 0; i < TRIES && cost > 0 && match->status == MATCH_CHARGES; i++) {
        set_cost(match, paid, cost);
        call_decide(commands, match, NULL, now_ns, decision);
        if (decision->allowed)
            break;
        too_much |= is_too_much(match, decision);
        cost = admissible(match, paid, decision, cost);
    }
    set_cost(match, paid, cost > 0 ? cost : asked);
    if (cost == 0 && asked > 0) {
        *taken = refuse(commands, match, asked, too_much, asker, now_ns, decision);
        return;
    }
    call_decide(commands, match, asker, now_ns, decision);
    *taken = decision->allowed ? cost : 0;
}

static void answer_drained(struct call *call, const struct question *question, const struct decision *decision,
                           uint64_t taken)
{
    const struct command_query *query = &question->query;
    struct answer *answer = &call->answer;
    const struct verdict_report report = verdict_report_of(&question->match, decision->allowed, decision->verdict);
    call_answer_report(answer, 1 + (size_t)query->wait + query->verbose, &report);
    call_answer_next(answer, "taken");
    answer_integer(answer, (int64_t)taken);
    if (query->wait)
        call_answer_wait(answer, call->commands->node, &question->match, decision->allowed, decision->verdict);
    if (query->verbose)
        call_answer_rules(answer, &question->match, decision->verdict);
}

void call_check(struct call *call)
{
    char error[COMMAND_ERROR_BYTES];
    const unsigned takes =
        QUERY_COST | QUERY_COSTS | QUERY_WAIT | QUERY_VERBOSE | QUERY_DRAIN | QUERY_PATIENCE | QUERY_KEY;
    struct question question;
    struct decision decision;
    uint64_t taken;
    const bool parsed = command_parse_query(call->words, takes, &question.query, error);
    if (parsed && question.query.idempotency_key.data != NULL) {
        call_check_once(call, &question);
        return;
    }
    if (!parsed || !question.query.drain) {
        call_refused(call);
        return;
    }
    if (question.query.patience_ms != COMMAND_PATIENCE_NONE) {
        answer_error(&call->answer, "ERR PATIENCE with DRAIN, which waits for nothing: expected one of the two");
        return;
    }
    if (question.query.cost_count > 0) {
        answer_error(&call->answer,
                     "ERR DRAIN with COST name=n: expected a plain COST, of which a part may be taken");
        return;
    }
    if (!call_question(call, takes, &question))
        return;
    if (!centrally_spares(&question.match, "DRAIN", error)) {
        answer_error(&call->answer, "%s", error);
        return;
    }
    const struct asker asker = {.query = &question.query};
    ask_drain(call->commands, &question, NULL, &asker, call->now_ns, &decision, &taken);
    answer_drained(call, &question, &decision, taken);
}
