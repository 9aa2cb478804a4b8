/*
 * Decides single requests, for other protocols and for EXPLAIN. Gives tokens back: REFUND and
 * RESET.
 */
#include "commands/call.h"
#include "commands/centrally.h"
#include "commands/patient.h"

static void note(struct commands *commands, const struct match *match, bool allowed, const struct verdict *verdicts,
                 const struct key_id *ids, const struct asker *asker, uint64_t now_ns)
{
    const struct observed observed = {match, ids, verdicts, 1, allowed};
    observe_count(&commands->observer, match, ruleset_note(match, verdicts), 1, allowed);
    if (observe_is_due(&commands->observer, 1, allowed))
        observe(commands, &observed, asker, now_ns);
    if (decision_is_over(match, allowed, verdicts))
        observe_soft(commands, &observed, asker, now_ns);
}

/* `patient`: NULL: the request does not wait. *held: it has to wait, and is not decided. */
static bool decide(struct commands *commands, const struct match *match, const struct asker *asker,
                   struct hold *hold, struct patient *patient, uint64_t now_ns, struct verdict *verdicts,
                   bool *held)
{
    const bool take = asker != NULL;
    struct key_id ids[CHARGES_MAX];
    struct run run = {.charge = match->charge,
                      .charge_count = match->count,
                      .request_count = 1,
                      .take = take,
                      .verdicts = verdicts,
                      .hold = hold,
                      .await = patient ? &patient->await : NULL,
                      .allowed = match->status == MATCH_CHARGES};
    for (uint32_t i = 0; i < match->count; i++)
        ids[i] = match->charge[i].id;
    if (match->status == MATCH_CHARGES)
        node_decide(commands->node, &run, 1, ids, now_ns);
    *held = patient && patient_end(commands, patient, run.allowed != 0, verdicts, match->count, now_ns);
    if (*held)
        return false;
    if (take && (!hold || hold->room == RESERVATIONS_ROOM))
        note(commands, match, run.allowed != 0, verdicts, ids, asker, now_ns);
    return run.allowed != 0;
}

bool ask_decide(struct commands *commands, const struct match *match, const struct asker *asker, uint64_t now_ns,
                struct verdict *verdicts)
{
    bool held;
    return decide(commands, match, asker, NULL, NULL, now_ns, verdicts, &held);
}

/* The same for a request of which the central store decides a part. */
static bool decide_centrally(struct commands *commands, const struct match *match, const struct asker *asker,
                             uint32_t *ticket, uint64_t now_ns, struct decision *decision)
{
    struct key_id ids[CHARGES_MAX];
    if (!centrally_decide(commands, match->charge, match->count, asker != NULL, ticket, now_ns, decision->verdict,
                          &decision->allowed))
        return false;
    for (uint32_t i = 0; i < match->count; i++)
        ids[i] = match->charge[i].id;
    if (asker != NULL)
        note(commands, match, decision->allowed, decision->verdict, ids, asker, now_ns);
    return true;
}

bool call_hold_patiently(struct commands *commands, const struct match *match, const struct asker *asker,
                         struct hold *hold, uint32_t *ticket, uint64_t now_ns, struct decision *decision)
{
    struct patient patient;
    bool held;
    const bool may_wait = asker != NULL && patient_is(match);
    if (may_wait)
        patient_begin(commands, &patient, ticket, match->charge, match->count, now_ns);
    else
        patient_leave(commands, ticket);
    decision->allowed =
        decide(commands, match, asker, hold, may_wait ? &patient : NULL, now_ns, decision->verdict, &held);
    return !held;
}

bool call_decide_patiently(struct commands *commands, const struct match *match, const struct asker *asker,
                           uint32_t *ticket, uint64_t now_ns, struct decision *decision)
{
    if (centrally_is(match))
        return decide_centrally(commands, match, asker, ticket, now_ns, decision);
    return call_hold_patiently(commands, match, asker, NULL, ticket, now_ns, decision);
}

void call_decide(struct commands *commands, const struct match *match, const struct asker *asker, uint64_t now_ns,
                 struct decision *decision)
{
    decision->allowed = ask_decide(commands, match, asker, now_ns, decision->verdict);
}

uint64_t ask_refund(struct commands *commands, const struct question *question, uint64_t now_ns)
{
    const struct match *match = &question->match;
    if (match->status != MATCH_CHARGES || match->count == 0)
        return 0;
    /* No charge is given back more than its own cost. */
    return node_return(commands->node, match->charge, match->count, UINT64_MAX, now_ns);
}

/* False: the call has answered an error. */
static bool is_spared(struct call *call, const struct question *question, const char *what)
{
    char error[COMMAND_ERROR_BYTES];
    if (centrally_spares(&question->match, what, error))
        return true;
    answer_error(&call->answer, "%s", error);
    return false;
}

void call_refund(struct call *call)
{
    struct question question;
    if (call_question(call, QUERY_COST | QUERY_COSTS, &question) && is_spared(call, &question, "REFUND"))
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
    if (call_question(call, 0, &question) && is_spared(call, &question, "RESET"))
        answer_integer(&call->answer, ask_reset(call->commands, &question, call->now_ns));
}
