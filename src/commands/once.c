/*
 * CHECK with IDEMPOTENCY_KEY: a request that comes again is charged once, and answered as it was.
 *
 * The one idea: what a key stands for is the business of replay.h, and the same in every protocol: a request that came
 * over HTTP is known when it comes again here. Such a request is decided alone, after what came before it. Where it has
 * to wait, its key stands for nothing yet, and it is asked again as a whole.
 */
#include "base/number.h"
#include "commands/call.h"
#include "commands/centrally.h"
#include "commands/patient.h"
#include "commands/replay.h"

/* The answer of a request that was allowed. */
static void note(const struct commands *commands, const struct match *match, const struct decision *decision,
                 struct replay_answer *answer)
{
    const int decider = decision_of(match, true, decision->verdict);
    *answer = (struct replay_answer){.figures = {-1, -1, -1, 0, 0},
                                     .window_ms = -1,
                                     .over_limit = decision_is_over(match, true, decision->verdict)};
    const struct matched *denier = decision_denier(match, true);
    if (denier != NULL) {
        memcpy(answer->rule, denier->rule->id.data, number_least(denier->rule->id.size, sizeof answer->rule - 1));
        answer->figures = (struct verdict_figures){0, 0, 0, 0, 0};
    }
    if (decider < 0 || denier != NULL)
        return;
    const struct bytes rule = match->rule[decider].rule->id;
    memcpy(answer->rule, rule.data, number_least(rule.size, sizeof answer->rule - 1));
    answer->figures = verdict_figures(&decision->verdict[decider]);
    answer->figures.retry_after_ms = 0; /* of a soft rule as well */
    answer->window_ms = call_ms(call_window_ns(commands, &match->charge[decider]));
}

/* Decides; in a transaction at once. False: the call is answered, or has to wait. */
static bool decide(struct call *call, struct question *question, struct decision *decision)
{
    char error[COMMAND_ERROR_BYTES];
    struct session *session = call->session;
    struct match *match = &question->match;
    const struct asker asker = {.query = &question->query};
    if (!session->transaction.runs) {
        patient_say(match, question->query.patience_ms);
        call->holds =
            !call_decide_patiently(call->commands, match, &asker, &session->waiting, call->now_ns, decision);
        return !call->holds;
    }
    if (!centrally_spares(match, "MULTI", error)) {
        answer_error(&call->answer, "%s", error);
        return false;
    }
    call_decide(call->commands, match, &asker, call->now_ns, decision);
    return true;
}

static void answer(struct call *call, const struct replay_answer *said)
{
    call_answer_again(&call->answer, &said->figures, bytes_of(said->rule), said->over_limit);
}

/* Decides a request for the first time. `replay`: NULL: nothing is remembered. */
static void decide_first(struct call *call, struct question *question, struct replay *replay)
{
    struct decision decision;
    struct replay_answer said;
    const bool decided = decide(call, question, &decision), allowed = decided && decision.allowed;
    if (allowed)
        note(call->commands, &question->match, &decision, &said);
    if (replay != NULL && replay_close(replay, allowed ? &said : NULL, call->now_ns))
        call->commands->stats.forgotten_answers++;
    if (allowed)
        answer(call, &said);
    else if (decided)
        call_answer_any_verdict(&call->answer, 0, &question->match, false, decision.verdict,
                                decision_of(&question->match, false, decision.verdict));
}

/* What an answer that is remembered does not have. NULL: nothing of it is asked for. */
static const char *beyond_figures(const struct command_query *query)
{
    return query->drain ? "DRAIN" : query->verbose ? "VERBOSE" : query->wait ? "WAIT" : NULL;
}

void call_check_once(struct call *call, struct question *question)
{
    char error[COMMAND_ERROR_BYTES];
    struct commands *commands = call->commands;
    const struct bytes key = question->query.idempotency_key;
    const struct turn turn = {.now_ns = call->now_ns, .wall_ns = call->wall_ns};
    const struct user *user = commands->caller != NULL ? commands->caller : &user_default;
    const char *beyond = beyond_figures(&question->query);
    struct replay replay;
    struct replay_answer said;
    if (!replay_is_key(key)) {
        answer_error(&call->answer, "ERR IDEMPOTENCY_KEY of %zu bytes: " REPLAY_KEY_EXPECTED, key.size);
        return;
    }
    if (beyond != NULL) {
        answer_error(&call->answer, "ERR %s with IDEMPOTENCY_KEY: expected one of the two", beyond);
        return;
    }
    if (!ask_match(commands, question, turn, error)) {
        answer_error(&call->answer, "%s", error);
        return;
    }
    call->work += ask_work_of_keys(question->match.count);
    if (commands->replays == NULL) {
        decide_first(call, question, NULL);
        return;
    }
    switch (replay_open(&replay, commands->replays, user, key,
                        replay_request(&commands->hash_key, "check", &question->query), call->now_ns, &said)) {
    case REPLAY_NEW:
        decide_first(call, question, &replay);
        break;
    case REPLAY_KNOWN:
        commands->stats.replayed_answers++;
        answer(call, &said);
        break;
    case REPLAY_OTHER:
        answer_error(&call->answer, "ERR IDEMPOTENCY_KEY " REPLAY_OTHER_KEY);
        break;
    }
}
