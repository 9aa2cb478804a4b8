/*
 * One descriptor is decided: what it takes, gives back, drains or only looks at.
 *
 * A key that several descriptors of one request name is charged once, with the most that any of them asks: gateways
 * send (address) and (address, path) together, and mean one request. So it is with what is given back, by itself.
 */
#include "base/number.h"
#include "commands/centrally.h"
#include "grpc/asking.h"

void asking_refuse_room(struct asking *asking)
{
    grpc_refuse(asking->call, GRPC_RESOURCE_EXHAUSTED, "the request needs more than %d KiB of memory to be read",
                GRPC_ARENA_BYTES >> 10);
}

/* ---- once for each key ---- */

static struct charged *find_charged(struct asking *asking, struct key_id id)
{
    for (uint32_t i = 0; i < asking->charged_count; i++)
        if (key_id_equal(asking->charged[i].id, id))
            return &asking->charged[i];
    return NULL;
}

static struct charged *charged_of(struct asking *asking, struct key_id id)
{
    struct charged *charged = find_charged(asking, id);
    if (charged == NULL) {
        charged = &asking->charged[asking->charged_count++];
        *charged = (struct charged){.id = id};
    }
    return charged;
}

static uint64_t charged_before(struct asking *asking, struct key_id id)
{
    const struct charged *charged = find_charged(asking, id);
    return charged != NULL ? charged->cost : 0;
}

static uint64_t returned_before(struct asking *asking, struct key_id id)
{
    const struct charged *charged = find_charged(asking, id);
    return charged != NULL ? charged->returned : 0;
}

/* Of each charge only what its key was not charged with yet. */
static void reduce(struct asking *asking, struct match *match)
{
    for (uint32_t i = 0; i < match->count; i++) {
        const uint64_t before = charged_before(asking, match->charge[i].id);
        uint64_t *cost = &match->charge[i].cost;
        *cost = *cost > before ? *cost - before : 0;
    }
}

static void note_charged(struct asking *asking, const struct match *match, const struct verdict *verdicts)
{
    for (uint32_t i = 0; i < match->count; i++)
        if (verdicts[i].allowed)
            charged_of(asking, match->charge[i].id)->cost += match->charge[i].cost;
}

/* ---- by rules ---- */

/* Of W3C's Trace Context. */
static struct bytes trace_of(const void *context)
{
    const struct grpc_call *call = context;
    return (struct bytes){call->trace, call->trace_bytes};
}

static void set_costs(struct match *match, uint64_t cost)
{
    for (uint32_t i = 0; i < match->count; i++)
        match->charge[i].cost = cost;
}

/* The figures of what is given back are those afterwards: nothing is refused. */
static void give_back(struct asking *asking)
{
    struct commands *commands = asking->grpc->commands;
    struct match *match = &asking->question.match;
    const uint64_t now_ns = asking->grpc->turn.now_ns;
    for (uint32_t i = 0; i < match->count && match->status == MATCH_CHARGES; i++) {
        const uint64_t before = returned_before(asking, match->charge[i].id);
        const uint64_t more = match->charge[i].cost > before ? match->charge[i].cost - before : 0;
        (void)node_return(commands->node, &match->charge[i], 1, more, now_ns);
        charged_of(asking, match->charge[i].id)->returned += more;
    }
    set_costs(match, 0);
    call_decide(commands, match, NULL, now_ns, &asking->decision);
    asking->decision.allowed = true;
}

/* False: the call is answered: the central store has a say, and the descriptor cannot wait for it. */
static bool may_be_now(struct asking *asking, const struct asked *asked, const struct match *match)
{
    char error[COMMAND_ERROR_BYTES];
    if (!asked->gives_back && !asked->query.drain && !asking->begun)
        return true;
    if (centrally_spares(match,
                         asked->gives_back    ? "what is given back"
                         : asked->query.drain ? "drain"
                                              : "any but the first descriptor",
                         error))
        return true;
    grpc_refuse(asking->call, GRPC_UNIMPLEMENTED, "descriptor %zu: %s", (size_t)(asked - asking->asked), error);
    return false;
}

/*
 * Only the first descriptor that takes something, or asks the central store, may wait. False: it has to, and nothing is
 * decided. `asker`: NULL: nothing is taken.
 */
static bool decide_now(struct asking *asking, const struct match *match, const struct asker *asker)
{
    struct commands *commands = asking->grpc->commands;
    const uint64_t now_ns = asking->grpc->turn.now_ns;
    if (asking->begun)
        call_decide(commands, match, asker, now_ns, &asking->decision);
    else
        asking->held =
            !call_decide_patiently(commands, match, asker, &asking->call->ticket, now_ns, &asking->decision);
    asking->begun = true;
    return !asking->held;
}

/* Whether one more hit would be admitted. Nothing is taken. */
static void look(struct asking *asking, struct match *match, struct asked *asked)
{
    struct commands *commands = asking->grpc->commands;
    const uint64_t now_ns = asking->grpc->turn.now_ns;
    set_costs(match, 1);
    if (centrally_is(match)) {
        (void)decide_now(asking, match, NULL);
        return;
    }
    call_decide(commands, match, NULL, now_ns, &asking->decision);
    asked->is_over = !asking->decision.allowed;
    if (asked->is_over)
        return;
    set_costs(match, 0);
    call_decide(commands, match, NULL, now_ns, &asking->decision);
}

void asking_count_looks(struct asking *asking)
{
    struct commands *commands = asking->grpc->commands;
    const uint64_t now_ns = asking->grpc->turn.now_ns;
    struct match *match = &asking->question.match;
    char error[COMMAND_ERROR_BYTES];
    for (size_t i = 0; i < asking->request->n_descriptors; i++) {
        const struct asked *asked = &asking->asked[i];
        const struct asker asker = {.query = &asked->query, .trace = trace_of, .trace_context = asking->call};
        if (!asked->is_over)
            continue;
        asking->question.query = asked->query;
        if (!ask_match(commands, &asking->question, asking->grpc->turn, error))
            continue;
        set_costs(match, 1);
        call_decide(commands, match, &asker, now_ns, &asking->decision);
        if (asking->decision.allowed) /* tokens came back in between */
            (void)node_return(commands->node, match->charge, match->count, 1, now_ns);
    }
}

/* Takes what is left, up to the hits, of each key what it was not charged with yet. */
static void drain(struct asking *asking, const struct asker *asker)
{
    struct match *match = &asking->question.match;
    uint64_t before[CHARGES_MAX], taken;
    for (uint32_t i = 0; i < match->count; i++)
        before[i] = charged_before(asking, match->charge[i].id);
    ask_drain(asking->grpc->commands, &asking->question, before, asker, asking->grpc->turn.now_ns,
              &asking->decision, &taken);
    asking->begun = true;
}

static void take(struct asking *asking, struct match *match, const struct asker *asker)
{
    reduce(asking, match);
    (void)decide_now(asking, match, asker);
}

static void decide_by_rules(struct asking *asking, struct asked *asked)
{
    struct commands *commands = asking->grpc->commands;
    struct match *match = &asking->question.match;
    const struct asker asker = {.query = &asked->query, .trace = trace_of, .trace_context = asking->call};
    char error[COMMAND_ERROR_BYTES];
    asking->question.query = asked->query;
    if (!ask_match(commands, &asking->question, asking->grpc->turn, error)) {
        commands->stats.grpc_unknown_rules += match->status == MATCH_UNKNOWN_RULE; /* else it is about others */
        grpc_reply_add_unlimited(&asking->reply);
        return;
    }
    asking->grpc->worked += ask_work_of_keys(match->count);
    if (!may_be_now(asking, asked, match))
        return;
    if (asked->gives_back) {
        asking->begun = true;
        give_back(asking);
    } else if (asked->query.drain)
        drain(asking, asked->hits > 0 ? &asker : NULL);
    else if (asked->hits == 0)
        look(asking, match, asked);
    else
        take(asking, match, &asker);
    if (asking->held)
        return;
    if (!asked->gives_back && asked->hits > 0 && asking->decision.allowed)
        note_charged(asking, match, asking->decision.verdict);
    grpc_reply_add(&asking->reply, commands, match, &asking->decision);
}

/* ---- limits that a descriptor brings ---- */

/*
 * The domain and the entries, each after its size: what is about something else has another name. They are as they are,
 * but for the endpoint, whose spelling is that of the query.
 */
static bool name_of(struct asking *asking, const struct asked *asked, struct bytes *name)
{
    const Descriptor *descriptor = asked->descriptor;
    size_t size = sizeof(uint32_t) + asking->request->domain.len;
    for (size_t i = 0; i < descriptor->n_entries; i++)
        size += 2 * sizeof(uint32_t) + descriptor->entries[i]->key.len + descriptor->entries[i]->value.len;
    char *room = grpc_arena_take(&asking->grpc->arena, size);
    if (room == NULL)
        return false;
    struct output output = output_over(room, size);
    output_append_sized(&output, bytes_in(asking->request->domain));
    for (size_t i = 0; i < descriptor->n_entries; i++) {
        const struct bytes key = bytes_in(descriptor->entries[i]->key);
        if (grpc_descriptor_is_manner(key))
            continue;
        output_append_sized(&output, key);
        output_append_sized(&output, grpc_descriptor_is_endpoint(key) ? asked->query.endpoint
                                                                      : bytes_in(descriptor->entries[i]->value));
    }
    *name = (struct bytes){output.data, output.size};
    return true;
}

static void decide_guest(struct asking *asking, const struct asked *asked, struct charge *charge)
{
    struct commands *commands = asking->grpc->commands;
    struct decision *decision = &asking->decision;
    const uint64_t now_ns = asking->grpc->turn.now_ns;
    const bool looks = asked->hits == 0 && !asked->gives_back;
    if (asked->gives_back)
        (void)node_return(commands->node, charge, 1, asked->hits, now_ns);
    if (asked->gives_back || looks)
        charge->cost = looks && !asked->query.drain ? 1 : 0;
    if (looks || asked->query.drain)
        ask_guest_decide(commands, charge, false, now_ns, decision);
    if (looks && !decision->allowed)
        return;
    if (looks)
        charge->cost = 0;
    else if (asked->query.drain && !decision->allowed && decision->verdict[0].available_tokens > 0)
        charge->cost = number_least(charge->cost, decision->verdict[0].available_tokens);
    ask_guest_decide(commands, charge, charge->cost > 0, now_ns, decision);
    if (!asked->query.drain || decision->allowed)
        return;
    struct decision one; /* who drains waits for one token */
    charge->cost = 1;
    ask_guest_decide(commands, charge, false, now_ns, &one);
    if (!one.allowed)
        *decision = one;
}

static void decide_by_itself(struct asking *asking, size_t index, const struct asked *asked)
{
    struct guest guest = {.tokens = asked->descriptor->limit->requests_per_unit,
                          .period_ns = grpc_unit_ns((int)asked->descriptor->limit->unit)};
    struct charge charge;
    char error[COMMAND_ERROR_BYTES];
    if (guest.tokens == 0 && !asked->gives_back) {
        grpc_reply_add_nothing(&asking->reply, asked->descriptor->limit);
        return;
    }
    if (guest.period_ns == 0 || guest.tokens == 0) {
        grpc_refuse(asking->call, GRPC_INVALID_ARGUMENT, "descriptor %zu: limit has no unit that is known", index);
        return;
    }
    if (!name_of(asking, asked, &guest.name)) {
        asking_refuse_room(asking);
        return;
    }
    if (!ask_guest(asking->grpc->commands, &guest, asked->hits, &charge, error)) {
        grpc_refuse(asking->call, GRPC_RESOURCE_EXHAUSTED, "descriptor %zu: %s", index, error);
        return;
    }
    asking->begun = true;
    decide_guest(asking, asked, &charge);
    grpc_reply_add_guest(&asking->reply, asked->descriptor->limit, &asking->decision);
}

void asking_decide(struct asking *asking, size_t index)
{
    struct asked *asked = &asking->asked[index];
    if (asked->descriptor->limit == NULL)
        decide_by_rules(asking, asked);
    else
        decide_by_itself(asking, index, asked);
}
