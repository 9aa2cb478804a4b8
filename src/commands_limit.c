/*
 * What the server is for: CAN_ACCESS, CHECK, PEEK and EXPLAIN.
 */
#include "base/units.h"
#include "command_call.h"
#include "limit/key.h"

/* A question about one key, resolved. */
struct question {
    struct command_id_words words;
    struct key_id id;
    uint16_t named; /* which limit of the config; */
    uint16_t limit; /* how the node knows it */
    uint64_t cost;
};

static struct key_id id_of(const struct call *call, uint16_t named, const struct command_id_words *words)
{
    const struct commands *commands = call->commands;
    return key_id_of(&commands->hash_key, commands->limits->limit[named].id, words->dimension, words->value);
}

void call_can_access(struct call *call)
{
    char error[COMMAND_ERROR_BYTES];
    struct command_id_words words = {.dimension = bytes_of("user")};
    uint16_t named = call->commands->limits->by_default, limit = call->commands->limit_index[named];
    uint64_t cost;
    if (!command_parse_can_access(call->words, &words.value, &cost, error)) {
        answer_error(&call->answer, "ERR %s", error);
        return;
    }
    bool allowed = node_can_access(call->commands->node, id_of(call, named, &words), limit, cost, call->now_ns);
    answer_integer(&call->answer, allowed ? 1 : 0);
}

static bool resolve(struct call *call, bool takes_cost, struct question *question)
{
    char error[COMMAND_ERROR_BYTES];
    struct command_query check;
    const struct named_limits *limits = call->commands->limits;
    if (!command_parse_query(call->words, takes_cost ? QUERY_COST : 0, &check, error)) {
        answer_error(&call->answer, "ERR %s", error);
        return false;
    }
    question->named = limits->by_default;
    if (check.rule.size > 0) {
        int found = named_limit_find(limits, check.rule);
        if (found < 0) {
            answer_error(&call->answer, "ERR unknown rule '%.*s': INFO limits names them all",
                         call_shown(check.rule), check.rule.data);
            return false;
        }
        question->named = (uint16_t)found;
    }
    question->limit = call->commands->limit_index[question->named];
    question->words = check.id[0];
    question->id = id_of(call, question->named, &check.id[0]);
    question->cost = check.cost;
    return true;
}

static void answer_verdict(struct call *call, const struct question *question, const struct verdict *verdict)
{
    struct answer *answer = &call->answer;
    answer_array(answer, 6);
    answer_integer(answer, verdict->allowed ? 1 : 0);
    answer_integer(answer, (int64_t)verdict->limit_tokens);
    answer_integer(answer, (int64_t)verdict->remaining_tokens);
    answer_integer(answer, verdict->allowed ? 0 : call_ms(verdict->retry_after_ns));
    answer_integer(answer, call_ms(verdict->reset_after_ns));
    answer_text(answer, call->commands->limits->limit[question->named].name);
}

void call_check(struct call *call)
{
    struct question question;
    if (!resolve(call, true, &question))
        return;
    struct verdict verdict =
        node_admit(call->commands->node, question.id, question.limit, question.cost, call->now_ns);
    answer_verdict(call, &question, &verdict);
}

void call_peek(struct call *call)
{
    struct question question;
    if (!resolve(call, true, &question))
        return;
    struct verdict verdict =
        node_peek(call->commands->node, question.id, question.limit, question.cost, call->now_ns);
    answer_verdict(call, &question, &verdict);
}

/* ---- EXPLAIN ---- */

static const char *reason_text(enum verdict_reason reason)
{
    switch (reason) {
    case VERDICT_ALLOWED:
        return "allowed";
    case VERDICT_NO_TOKENS:
        return "refused: the whole limit is spent, as far as this node knows";
    case VERDICT_NO_SHARE:
        return "refused: tokens are left, but not for this node until others have heard of its spends";
    case VERDICT_TOO_LARGE:
        return "refused: the cost is more than can ever be allowed here";
    case VERDICT_JOINING:
        return "refused: this node has no share yet";
    case VERDICT_OVERLOAD:
        return "refused: too many spends here that others have not acknowledged";
    }
    return "?";
}

static void print_ms(struct output *output, const char *label, uint64_t ns)
{
    if (ns == UINT64_MAX)
        output_print(output, "%snever\n", label);
    else
        output_print(output, "%s%lld ms\n", label, (long long)call_ms(ns));
}

static void print_explanation(struct call *call, const struct question *question, const struct explanation *seen)
{
    struct output *output = call->answer.output;
    const struct named_limit *limit = &call->commands->limits->limit[question->named];
    struct verdict verdict =
        node_peek(call->commands->node, question->id, question->limit, question->cost, call->now_ns);
    char rate[UNITS_TEXT_BYTES];
    output_print(output, "%.*s=%.*s under limit %s: capacity %llu, rate %s\n", (int)question->words.dimension.size,
                 question->words.dimension.data, (int)question->words.value.size, question->words.value.data,
                 limit->name, (unsigned long long)limit->terms.capacity,
                 units_format_rate(rate, sizeof rate, limit->terms.rate, limit->terms.period_ns));
    output_print(output, "asked of          %s (%s), which holds %.2f%% of the limit\n", call->commands->name,
                 call->commands->region, seen->share * 100);
    output_print(output, "one more now      %s\n", reason_text(verdict.reason));
    if (!verdict.allowed)
        print_ms(output, "retry after       ", verdict.retry_after_ns);
    output_print(output, "remaining here    %llu tokens\n", (unsigned long long)verdict.remaining_tokens);
    output_print(output, "settled           %.3f tokens left, by the spends that everybody knows of\n",
                 seen->settled_tokens);
    output_print(output, "unsettled         %.3f tokens spent here that somebody may not know of yet\n",
                 seen->unsettled_tokens);
    output_print(output, "allowance         %.3f tokens may be unsettled here at most\n", seen->allowance_tokens);
    print_ms(output, "full again after  ", verdict.reset_after_ns);
    output_print(output, "overshoot         at most %.3f tokens: declared %llu, in flight between peers %.3f\n",
                 seen->overshoot_bound_tokens, (unsigned long long)seen->overshoot_tokens,
                 seen->in_flight_bound_tokens);
    output_print(output, "worst debt seen   %.3f tokens, of any key of this limit\n", seen->worst_debt_tokens);
    output_print(output, "last spender      %s%s\n",
                 seen->last_spender[0] != '\0' ? seen->last_spender : "nobody known",
                 seen->tracked ? "" : " (nothing is owed: the key is full and takes no memory)");
}

void call_explain(struct call *call)
{
    struct question question;
    struct explanation seen;
    if (!resolve(call, false, &question))
        return;
    node_explain(call->commands->node, question.id, question.limit, call->now_ns, &seen);
    size_t begun = answer_bulk_begin(&call->answer);
    print_explanation(call, &question, &seen);
    answer_bulk_end(&call->answer, begun);
}
