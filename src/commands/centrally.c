/*
 * Order of a request: what this node would decide of its own charges; then the store; then this node's charges in
 * earnest. So the store is not asked for what is refused anyway, and no refusal of the store must be made good here.
 */
#include "commands/centrally.h"

#include "base/number.h"
#include "commands/call.h"
#include "commands/patient.h"
#include "edge/central/central.h"

#include <assert.h>
#include <stdio.h>

bool centrally_is(const struct match *match)
{
    for (uint32_t i = 0; i < match->count; i++)
        if (match->charge[i].central != CENTRAL_NOT)
            return true;
    return false;
}

bool centrally_spares(const struct match *match, const char *what, char *error)
{
    for (uint32_t i = 0; i < match->count; i++) {
        const struct ruled *rule = match->rule[i].rule;
        if (match->charge[i].central == CENTRAL_NOT)
            continue;
        (void)snprintf(
            error, COMMAND_ERROR_BYTES,
            "ERR rule '%.*s' of service '%.*s' is decided by the central store, for which %s does not wait",
            call_shown(rule->id), rule->id.data, call_shown(rule->service), rule->service.data, what);
        return false;
    }
    return true;
}

/* ---- the charges of this node, and of the store ---- */

struct parts {
    uint32_t local_count, asked_count;
    uint8_t local_at[CHARGES_MAX], asked_at[CHARGES_MAX]; /* where they stand in the request */
    struct charge local[CHARGES_MAX];
    struct central_charge asked[CHARGES_MAX];
    bool unasked; /* some charge cannot be asked of a store */
};

static void add_local(struct parts *parts, const struct charge *charges, uint32_t at)
{
    parts->local_at[parts->local_count] = (uint8_t)at;
    parts->local[parts->local_count++] = charges[at];
}

static void add_asked(const struct node *node, struct parts *parts, const struct charge *charges, uint32_t at)
{
    const struct charge *charge = &charges[at];
    const struct limit *limit = node_limit(node, charge->limit);
    const bool is_window = charge->window_ns > 0;
    struct central_charge *asked = &parts->asked[parts->asked_count];
    parts->asked_at[parts->asked_count++] = (uint8_t)at;
    *asked = (struct central_charge){.id = is_window ? charge->previous : charge->id,
                                     .cost = charge->cost,
                                     .floor_tokens = number_least(charge->floor_tokens, limit->capacity),
                                     .capacity = limit->capacity,
                                     .window_us = charge->window_ns / 1000,
                                     .from_first = charge_begins_with_spend(charge)};
    parts->unasked |= !is_window && !coarse_units(limit, &asked->coarse);
}

static void split(const struct node *node, const struct charge *charges, uint32_t count, struct parts *parts)
{
    parts->local_count = parts->asked_count = 0;
    parts->unasked = false;
    for (uint32_t i = 0; i < count; i++) {
        if (charges[i].central == CENTRAL_NOT)
            add_local(parts, charges, i);
        else
            add_asked(node, parts, charges, i);
    }
}

/* ---- verdicts ---- */

static struct verdict verdict_of(const struct central_charge *asked, const struct central_figures *figures)
{
    struct verdict verdict = {.allowed = figures->allowed,
                              .reason = VERDICT_ALLOWED,
                              .limit_tokens = asked->capacity,
                              .remaining_tokens = figures->remaining_tokens,
                              .available_tokens = figures->remaining_tokens,
                              .reset_after_ns = figures->reset_after_us * 1000};
    if (figures->allowed)
        return verdict;
    const bool never = figures->retry_after_us == UINT64_MAX;
    verdict.reason = never ? VERDICT_TOO_LARGE : VERDICT_CAPACITY;
    verdict.retry_after_ns = never ? UINT64_MAX : figures->retry_after_us * 1000;
    return verdict;
}

/* What the store has used is not known. */
static struct verdict verdict_without(const struct node *node, const struct charge *charge, bool allowed)
{
    const uint64_t capacity = node_limit(node, charge->limit)->capacity;
    return (struct verdict){.allowed = allowed,
                            .reason = allowed ? VERDICT_ALLOWED : VERDICT_CENTRAL_DOWN,
                            .limit_tokens = capacity,
                            .remaining_tokens = capacity,
                            .available_tokens = allowed ? capacity : 0,
                            .retry_after_ns = allowed ? 0 : CENTRAL_HEALTH_MS * UINT64_C(1000000)};
}

/* Writes the verdicts of the store's charges. NULL: it was not asked. */
static void put_central(const struct node *node, const struct charge *charges, const struct parts *parts,
                        const struct central_answer *answer, struct verdict *verdicts)
{
    for (uint32_t i = 0; i < parts->asked_count; i++) {
        const uint32_t at = parts->asked_at[i];
        verdicts[at] =
            answer ? verdict_of(&parts->asked[i], &answer->figures[i]) : verdict_without(node, &charges[at], true);
    }
}

static bool decide_local(struct commands *commands, const struct parts *parts, bool take, uint64_t now_ns,
                         struct verdict *verdicts)
{
    struct key_id ids[CHARGES_MAX];
    struct verdict own[CHARGES_MAX] = {{.allowed = true}};
    struct run run = {.charge = parts->local,
                      .charge_count = parts->local_count,
                      .request_count = 1,
                      .take = take,
                      .verdicts = own,
                      .allowed = 1};
    for (uint32_t i = 0; i < parts->local_count; i++)
        ids[i] = parts->local[i].id;
    if (parts->local_count > 0)
        node_decide(commands->node, &run, 1, ids, now_ns);
    for (uint32_t i = 0; i < parts->local_count; i++)
        verdicts[parts->local_at[i]] = own[i];
    return run.allowed != 0;
}

/* A request that the node has not counted. */
static void count_request(struct commands *commands, const struct charge *charges, uint32_t count,
                          const struct verdict *verdicts)
{
    const struct verdict *worst = NULL;
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!charges[i].shadow && !verdicts[i].allowed && (!worst || verdict_decides_before(&verdicts[i], worst)))
            worst = &verdicts[i];
        tokens += charges[i].central != CENTRAL_NOT ? charges[i].cost : 0;
    }
    node_count_request(commands->node, worst ? worst->reason : VERDICT_ALLOWED, tokens);
}

/* ---- outcomes ---- */

static bool refuse(struct commands *commands, const struct charge *charges, uint32_t count,
                   const struct parts *parts, bool take, uint64_t now_ns, struct verdict *verdicts)
{
    (void)decide_local(commands, parts, false, now_ns, verdicts); /* for its figures */
    if (take)
        count_request(commands, charges, count, verdicts);
    return false;
}

/* The store has allowed its charges. */
static bool finish(struct commands *commands, const struct charge *charges, uint32_t count,
                   const struct parts *parts, bool take, uint64_t now_ns, struct verdict *verdicts)
{
    const bool allowed = decide_local(commands, parts, take, now_ns, verdicts);
    if (take && parts->local_count == 0)
        count_request(commands, charges, count, verdicts);
    return allowed;
}

/* Each rule says by when_down what counts. *open: some charge was let through. */
static bool decide_without(struct commands *commands, const struct charge *charges, uint32_t count, bool take,
                           uint64_t now_ns, struct verdict *verdicts, bool *open)
{
    struct parts parts = {.local_count = 0};
    bool closed = false;
    *open = false;
    commands->stats.central_without += take;
    for (uint32_t i = 0; i < count; i++) {
        switch ((enum central_or)charges[i].central) {
        case CENTRAL_NOT:
        case CENTRAL_OR_BUDGET:
            add_local(&parts, charges, i);
            break;
        case CENTRAL_OR_OPEN:
            *open = true;
            verdicts[i] = verdict_without(commands->node, &charges[i], true);
            break;
        case CENTRAL_OR_CLOSED:
            closed = true;
            verdicts[i] = verdict_without(commands->node, &charges[i], false);
            break;
        }
    }
    return closed ? refuse(commands, charges, count, &parts, take, now_ns, verdicts)
                  : finish(commands, charges, count, &parts, take, now_ns, verdicts);
}

/* ---- tickets ---- */

/* Such a ticket is of the store whose turn it was when commands->central_turn was true. */
#define TURN_TICKET ((uint32_t)1 << 29)

static uint32_t ticket_of(uint32_t ticket)
{
    return ticket & ~(CENTRALLY_TICKET | TURN_TICKET);
}

static uint32_t ticket_for(const struct commands *commands, uint32_t ticket)
{
    return ticket | CENTRALLY_TICKET | (commands->central_turn ? TURN_TICKET : 0);
}

/* The store that the ticket is of. */
static struct central *store_of(const struct commands *commands, uint32_t ticket)
{
    struct central *store =
        ((ticket & TURN_TICKET) != 0) == commands->central_turn ? commands->central : commands->central_before;
    assert(store != NULL); /* it stays until nobody has a ticket of it */
    return store;
}

/* ---- one request ---- */

/* The store has answered, or will not. */
static bool decide_answered(struct commands *commands, const struct charge *charges, uint32_t count, bool take,
                            const struct parts *parts, uint32_t *ticket, uint64_t now_ns, struct verdict *verdicts)
{
    const struct central_answer *answer;
    bool allowed, used = false;
    if (central_look(store_of(commands, *ticket), ticket_of(*ticket), &answer) == CENTRAL_FAILED) {
        allowed = decide_without(commands, charges, count, take, now_ns, verdicts, &used);
        used = used && allowed;
    } else {
        put_central(commands->node, charges, parts, answer, verdicts);
        allowed = answer->allowed ? finish(commands, charges, count, parts, take, now_ns, verdicts)
                                  : refuse(commands, charges, count, parts, take, now_ns, verdicts);
        used = allowed;
    }
    central_end(store_of(commands, *ticket), ticket_of(*ticket), used);
    *ticket = 0;
    return allowed;
}

/* True: it waits. */
static bool ask(struct commands *commands, const struct parts *parts, enum central_way way, uint32_t *ticket,
                uint64_t now_ns)
{
    if (commands->central == NULL || parts->unasked)
        return false;
    const uint32_t asked = central_ask(commands->central, way, parts->asked, parts->asked_count, now_ns);
    *ticket = asked > 0 ? ticket_for(commands, asked) : 0;
    return asked > 0;
}

/* What is in hand of a hot key decides, or a refusal a moment ago; or it waits for the call of another request. */
static enum lease_outcome decide_by_lease(struct commands *commands, const struct charge *charges, uint32_t count,
                                          struct parts *parts, bool again, uint32_t *ticket, uint64_t now_ns,
                                          struct verdict *verdicts, bool *allowed)
{
    struct central_answer answer = {.count = 1};
    uint32_t place;
    if (commands->central == NULL || parts->unasked || parts->asked_count != 1 || parts->asked[0].floor_tokens > 0)
        return LEASE_ASK;
    const enum lease_outcome outcome =
        central_decide(commands->central, &parts->asked[0], again, now_ns, &answer.figures[0], &place);
    switch (outcome) {
    case LEASE_ASK:
        break;
    case LEASE_WAIT:
        *ticket = ticket_for(commands, place);
        break;
    case LEASE_ALLOWED:
        put_central(commands->node, charges, parts, &answer, verdicts);
        *allowed = finish(commands, charges, count, parts, true, now_ns, verdicts);
        if (!*allowed)
            central_put_back(commands->central, &parts->asked[0]);
        break;
    case LEASE_REFUSED:
        put_central(commands->node, charges, parts, &answer, verdicts);
        *allowed = refuse(commands, charges, count, parts, true, now_ns, verdicts);
        break;
    }
    return outcome;
}

/*
 * Looks at a ticket from before. CENTRAL_WAITS: the request waits on. CENTRAL_OVER: it has no ticket any more, and is
 * decided as one that has waited. Otherwise *ticket says whether there is an answer, or a failure, for it.
 */
static enum central_state look(struct commands *commands, const struct parts *parts, enum central_way way,
                               uint32_t *ticket)
{
    const struct central_answer *ignored;
    enum central_state state = CENTRAL_ANSWERED;
    const bool is_lease = (*ticket & CENTRALLY_TICKET) != 0 && (*ticket & LEASE_TICKET) != 0;
    if (*ticket > 0 && !is_lease &&
        ((*ticket & CENTRALLY_TICKET) == 0 ||
         !central_is_of(store_of(commands, *ticket), ticket_of(*ticket), way, parts->asked, parts->asked_count)))
        patient_leave(commands, ticket); /* the rules have changed meanwhile */
    if (*ticket > 0)
        state = central_look(store_of(commands, *ticket), ticket_of(*ticket), &ignored);
    if (state == CENTRAL_OVER)
        patient_leave(commands, ticket);
    return state;
}

bool centrally_decide(struct commands *commands, const struct charge *charges, uint32_t count, bool take,
                      uint32_t *ticket, uint64_t now_ns, struct verdict *verdicts, bool *allowed)
{
    const enum central_way way = take ? CENTRAL_TAKE : CENTRAL_PEEK;
    struct parts parts;
    bool open;
    split(commands->node, charges, count, &parts);
    assert(parts.asked_count > 0);
    const enum central_state state = look(commands, &parts, way, ticket);
    if (*ticket > 0 && state == CENTRAL_WAITS)
        return false;
    if (*ticket > 0) {
        *allowed = decide_answered(commands, charges, count, take, &parts, ticket, now_ns, verdicts);
        return true;
    }
    if (!decide_local(commands, &parts, false, now_ns, verdicts)) {
        put_central(commands->node, charges, &parts, NULL, verdicts);
        *allowed = refuse(commands, charges, count, &parts, take, now_ns, verdicts);
        return true;
    }
    const enum lease_outcome outcome =
        take ? decide_by_lease(commands, charges, count, &parts, state == CENTRAL_OVER, ticket, now_ns, verdicts,
                               allowed)
             : LEASE_ASK;
    if (outcome != LEASE_ASK)
        return outcome != LEASE_WAIT;
    if (ask(commands, &parts, way, ticket, now_ns))
        return false;
    *allowed = decide_without(commands, charges, count, take, now_ns, verdicts, &open);
    return true;
}

bool centrally_is_due(const struct commands *commands, uint32_t ticket)
{
    const struct central_answer *ignored;
    return central_look(store_of(commands, ticket), ticket_of(ticket), &ignored) != CENTRAL_WAITS;
}

void centrally_leave(const struct commands *commands, uint32_t *ticket)
{
    central_end(store_of(commands, *ticket), ticket_of(*ticket), false);
    *ticket = 0;
}
