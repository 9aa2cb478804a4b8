/*
 * CHECK with IDEMPOTENCY_KEY: a request that comes again is charged once, and answered as it was.
 *
 * The one idea: what a key stands for is the business of replay.h, and the same in every protocol: a request that came
 * over HTTP is known when it comes again here. Such a request is decided alone, after what came before it. Where it has
 * to wait, its key stands for nothing yet, and it is asked again as a whole.
 */
#include "commands/call.h"
#include "commands/centrally.h"
#include "commands/patient.h"
#include "commands/replay.h"

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

/* Decides a request for the first time. `replay`: NULL: nothing is remembered. */
static void decide_first(struct call *call, struct question *question, struct replay *replay)
{
    struct decision decision;
    struct verdict_report report;
    struct replay_answer said = {.number = 0};
    const bool decided = decide(call, question, &decision);
    if (decided) {
        report = verdict_report_of(&question->match, decision.allowed, decision.verdict);
        report.window_ms = verdict_window_ms(call->commands, &question->match, report.decider);
        call_answer_report(&call->answer, 0, &report);
        replay_note(&said, &report);
    }
    if (replay != NULL && replay_close(replay, decided && report.allowed ? &said : NULL, call->now_ns))
        call->commands->stats.forgotten_answers++;
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
    struct verdict_report report;
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
        report = replay_report(&said);
        call_answer_report(&call->answer, 0, &report);
        break;
    case REPLAY_OTHER:
        answer_error(&call->answer, "ERR IDEMPOTENCY_KEY " REPLAY_OTHER_KEY);
        break;
    }
}
