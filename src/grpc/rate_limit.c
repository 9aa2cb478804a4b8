/*
 * ShouldRateLimit of Envoy: each descriptor is decided by itself, in order, by the rules of the service that has the
 * domain's name. All of the request is read before any of it is decided.
 *
 * A key that several descriptors of one request name is charged once, with the most that any of them asks: gateways
 * send (address) and (address, path) together, and mean one request.
 */
#include "commands/centrally.h"
#include "grpc/call.h"
#include "grpc/descriptor.h"
#include "grpc/reply.h"

#include <string.h>

enum {
    DESCRIPTORS_MAX = 32,
    CHARGED_MAX = DESCRIPTORS_MAX * CHARGES_MAX,
    DESCRIPTOR_WORK = 8, /* beside its decision */
};

typedef Envoy__Service__Ratelimit__V3__RateLimitRequest Request;
typedef Envoy__Extensions__Common__Ratelimit__V3__RateLimitDescriptor Descriptor;

/* One descriptor, read. */
struct asked {
    struct command_query query;
    uint64_t hits;
    bool gives_back;
    const Descriptor *descriptor;
};

/* What a key was charged with in this request, or given back. */
struct charged {
    struct key_id id;
    uint64_t cost;
};

struct asking {
    struct grpc_call *call;
    struct grpc *grpc;
    const Request *request;
    struct asked *asked;     /* one for each descriptor */
    struct charged *charged; /* room for CHARGED_MAX */
    uint32_t charged_count;
    bool begun; /* some descriptor was decided, so that the others are as well: no request is decided twice */
    bool held;  /* the request has to wait */
    struct grpc_reply reply;
    struct question question;
    struct decision decision;
};

static struct bytes bytes_in(ProtobufCBinaryData data)
{
    return (struct bytes){(const char *)data.data, data.len};
}

/* ---- reading ---- */

static bool refuse_room(struct asking *asking)
{
    grpc_refuse(asking->call, GRPC_RESOURCE_EXHAUSTED, "the request needs more than %d KiB of memory to be read",
                GRPC_ARENA_BYTES >> 10);
    return false;
}

static bool read_hits(struct asking *asking, size_t index, struct asked *asked)
{
    const uint32_t all = asking->request->hits_addend;
    const Descriptor *descriptor = asked->descriptor;
    asked->hits = descriptor->hits_addend != NULL ? descriptor->hits_addend->value : all > 0 ? all : 1;
    asked->gives_back = descriptor->is_negative_hits;
    asked->query.cost = asked->hits;
    for (uint32_t i = 0; asked->hits == 0 && i < asked->query.cost_count; i++)
        asked->query.named_cost[i].tokens = 0; /* a look is never over */
    if (asked->hits <= COMMAND_COST_MAX)
        return true;
    grpc_refuse(asking->call, GRPC_INVALID_ARGUMENT, "descriptor %zu: hits_addend is %llu: expected at most %llu",
                index, (unsigned long long)asked->hits, (unsigned long long)COMMAND_COST_MAX);
    return false;
}

static bool read_descriptor(struct asking *asking, size_t index)
{
    struct grpc *grpc = asking->grpc;
    struct asked *asked = &asking->asked[index];
    struct grpc_descriptor read;
    asked->descriptor = asking->request->descriptors[index];
    grpc_descriptor_begin(&read);
    for (size_t i = 0; i < asked->descriptor->n_entries; i++) {
        const struct bytes key = bytes_in(asked->descriptor->entries[i]->key);
        if (grpc_descriptor_add(&read, key, bytes_in(asked->descriptor->entries[i]->value),
                                &grpc->commands->hash_key, &grpc->arena))
            continue;
        if (grpc->arena.exhausted)
            return refuse_room(asking);
        grpc_refuse(asking->call, GRPC_INVALID_ARGUMENT, "descriptor %zu, entry %.*s: %s", index,
                    (int)(key.size < 60 ? key.size : 60), key.data, read.error);
        return false;
    }
    grpc_descriptor_end(&read);
    asked->query = read.query;
    asked->query.service = bytes_in(asking->request->domain);
    return read_hits(asking, index, asked);
}

/* NULL: the call is answered. */
static const Request *unpack(struct asking *asking)
{
    struct grpc_call *call = asking->call;
    struct grpc_arena *arena = &asking->grpc->arena;
    grpc_arena_begin(arena);
    const Request *request =
        envoy__service__ratelimit__v3__rate_limit_request__unpack(&arena->allocator, call->message_bytes,
                                                                  (const uint8_t *)call->message);
    if (request == NULL && arena->exhausted)
        (void)refuse_room(asking);
    else if (request == NULL)
        grpc_refuse(call, GRPC_INVALID_ARGUMENT, "the message is no envoy.service.ratelimit.v3.RateLimitRequest");
    else if (request->domain.len == 0)
        grpc_refuse(call, GRPC_INVALID_ARGUMENT, "the domain is empty: expected the name of a service of rules");
    else if (request->n_descriptors == 0 || request->n_descriptors > DESCRIPTORS_MAX)
        grpc_refuse(call, GRPC_INVALID_ARGUMENT, "there are %zu descriptors: expected 1 to %d",
                    request->n_descriptors, DESCRIPTORS_MAX);
    else
        return request;
    return NULL;
}

static bool read_all(struct asking *asking)
{
    struct grpc_arena *arena = &asking->grpc->arena;
    asking->request = unpack(asking);
    if (asking->request == NULL)
        return false;
    const size_t count = asking->request->n_descriptors;
    asking->asked = grpc_arena_take(arena, count * sizeof *asking->asked);
    asking->charged = grpc_arena_take(arena, CHARGED_MAX * sizeof *asking->charged);
    if (asking->asked == NULL || asking->charged == NULL || !grpc_reply_begin(&asking->reply, arena, count))
        return refuse_room(asking);
    for (size_t i = 0; i < count; i++)
        if (!read_descriptor(asking, i))
            return false;
    return true;
}

/* ---- once for each key ---- */

static struct charged *find_charged(struct asking *asking, struct key_id id)
{
    for (uint32_t i = 0; i < asking->charged_count; i++)
        if (key_id_equal(asking->charged[i].id, id))
            return &asking->charged[i];
    return NULL;
}

/* Of each charge only what its key was not charged with yet. */
static void reduce(struct asking *asking, struct match *match)
{
    for (uint32_t i = 0; i < match->count; i++) {
        const struct charged *before = find_charged(asking, match->charge[i].id);
        uint64_t *cost = &match->charge[i].cost;
        if (before != NULL)
            *cost = *cost > before->cost ? *cost - before->cost : 0;
    }
}

static void note_charged(struct asking *asking, const struct match *match, const struct verdict *verdicts)
{
    for (uint32_t i = 0; i < match->count; i++) {
        struct charged *charged = find_charged(asking, match->charge[i].id);
        if (verdicts != NULL && !verdicts[i].allowed)
            continue;
        if (charged == NULL) {
            charged = &asking->charged[asking->charged_count++];
            *charged = (struct charged){.id = match->charge[i].id};
        }
        charged->cost += match->charge[i].cost;
    }
}

/* ---- deciding ---- */

/* Of W3C's Trace Context. */
static struct bytes trace_of(const void *context)
{
    const struct grpc_call *call = context;
    return (struct bytes){call->trace, call->trace_bytes};
}

/* The figures of what is given back are those afterwards: nothing is refused. */
static void give_back(struct asking *asking)
{
    struct commands *commands = asking->grpc->commands;
    struct match *match = &asking->question.match;
    const uint64_t now_ns = asking->grpc->turn.now_ns;
    reduce(asking, match);
    if (match->status == MATCH_CHARGES && match->count > 0) {
        for (uint32_t i = 0; i < match->count; i++)
            (void)node_return(commands->node, &match->charge[i], 1, match->charge[i].cost, now_ns);
        note_charged(asking, match, NULL);
    }
    for (uint32_t i = 0; i < match->count; i++)
        match->charge[i].cost = 0;
    call_decide(commands, match, NULL, now_ns, &asking->decision);
    asking->decision.allowed = true;
}

/* False: the call is answered: the central store has a say, and the descriptor cannot wait for it. */
static bool may_be_now(struct asking *asking, const struct asked *asked, const struct match *match)
{
    char error[COMMAND_ERROR_BYTES];
    if (!asked->gives_back && !asking->begun)
        return true;
    if (centrally_spares(match, asked->gives_back ? "what is given back" : "any but the first descriptor", error))
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

static void decide_by_rules(struct asking *asking, const struct asked *asked)
{
    struct commands *commands = asking->grpc->commands;
    struct match *match = &asking->question.match;
    const struct asker asker = {.query = &asked->query, .trace = trace_of, .trace_context = asking->call};
    char error[COMMAND_ERROR_BYTES];
    asking->question.query = asked->query;
    if (!ask_match(commands, &asking->question, asking->grpc->turn, error)) {
        grpc_reply_add_unlimited(&asking->reply); /* a rule that is named and does not exist, or is about others */
        return;
    }
    asking->grpc->worked += ask_work_of_keys(match->count);
    if (!may_be_now(asking, asked, match))
        return;
    if (asked->gives_back) {
        asking->begun = true;
        give_back(asking);
    } else {
        reduce(asking, match);
        if (asked->hits == 0 && !centrally_is(match))
            call_decide(commands, match, NULL, asking->grpc->turn.now_ns, &asking->decision);
        else if (!decide_now(asking, match, asked->hits > 0 ? &asker : NULL))
            return;
        if (asking->decision.allowed && asked->hits > 0)
            note_charged(asking, match, asking->decision.verdict);
    }
    grpc_reply_add(&asking->reply, commands, match, &asking->decision);
}

/* ---- limits that a descriptor brings ---- */

static void put_sized(struct output *output, struct bytes bytes)
{
    const uint32_t size = (uint32_t)bytes.size;
    output_append(output, &size, sizeof size);
    output_append(output, bytes.data, bytes.size);
}

/* The domain and all entries as they are, each after its size: what differs has another name. */
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
    put_sized(&output, bytes_in(asking->request->domain));
    for (size_t i = 0; i < descriptor->n_entries; i++) {
        put_sized(&output, bytes_in(descriptor->entries[i]->key));
        put_sized(&output, bytes_in(descriptor->entries[i]->value));
    }
    *name = (struct bytes){output.data, output.size};
    return true;
}

/* False: the call is answered. */
static bool decide_by_itself(struct asking *asking, size_t index, const struct asked *asked)
{
    struct commands *commands = asking->grpc->commands;
    const uint64_t now_ns = asking->grpc->turn.now_ns;
    struct guest guest = {.tokens = asked->descriptor->limit->requests_per_unit,
                          .period_ns = grpc_unit_ns((int)asked->descriptor->limit->unit)};
    struct charge charge;
    char error[COMMAND_ERROR_BYTES];
    if (guest.tokens == 0 && !asked->gives_back && asked->hits > 0) {
        grpc_reply_add_nothing(&asking->reply, asked->descriptor->limit);
        return true;
    }
    if (guest.period_ns == 0 || guest.tokens == 0) {
        grpc_refuse(asking->call, GRPC_INVALID_ARGUMENT, "descriptor %zu: limit has no unit that is known", index);
        return false;
    }
    if (!name_of(asking, asked, &guest.name))
        return refuse_room(asking);
    if (!ask_guest(commands, &guest, asked->hits, &charge, error)) {
        grpc_refuse(asking->call, GRPC_RESOURCE_EXHAUSTED, "descriptor %zu: %s", index, error);
        return false;
    }
    asking->begun = true;
    if (asked->gives_back) {
        (void)node_return(commands->node, &charge, 1, asked->hits, now_ns);
        charge.cost = 0;
    }
    ask_guest_decide(commands, &charge, charge.cost > 0, now_ns, &asking->decision);
    grpc_reply_add_guest(&asking->reply, asked->descriptor->limit, &asking->decision);
    return true;
}

/* ---- all of a request ---- */

/* True if there may be rules of the domain. Otherwise nothing limits it; if it is too early, the call is answered. */
static bool is_known(struct asking *asking)
{
    struct commands *commands = asking->grpc->commands;
    const struct bytes domain = bytes_in(asking->request->domain);
    if (bytes_equal(domain, bytes_of(RULE_DEFAULT_SERVICE)) ||
        ruleset_has_service(node_rules(commands->node), domain))
        return true;
    if (node_rules_may_lack(commands->node))
        grpc_refuse(asking->call, GRPC_UNAVAILABLE, "rules of peers are on their way: ask again, or another node");
    else
        commands->stats.grpc_unknown_domains++;
    return false;
}

static bool decide_all(struct asking *asking)
{
    const bool known = is_known(asking);
    const uint64_t walks_begun = ask_begin_walks();
    for (size_t i = 0; i < asking->request->n_descriptors && !asking->call->answered && !asking->held; i++) {
        const struct asked *asked = &asking->asked[i];
        asking->grpc->worked += DESCRIPTOR_WORK + command_table[COMMAND_CHECK].work;
        if (!known)
            grpc_reply_add_unlimited(&asking->reply);
        else if (asked->descriptor->limit == NULL)
            decide_by_rules(asking, asked);
        else if (!decide_by_itself(asking, i, asked))
            return false;
    }
    asking->grpc->worked += ask_work_of_walks(walks_begun);
    return !asking->call->answered && !asking->held;
}

/* Whatever a descriptor asks for is of its domain. */
static bool may_ask(const struct asking *asking)
{
    struct commands *commands = asking->grpc->commands;
    char error[COMMAND_ERROR_BYTES];
    commands->caller = asking->call->user;
    if (ask_serves(commands, bytes_in(asking->request->domain), error))
        return true;
    grpc_refuse(asking->call, GRPC_PERMISSION_DENIED, "%s", error);
    return false;
}

void grpc_should_rate_limit(struct grpc_call *call)
{
    struct asking asking;
    asking.call = call;
    asking.grpc = call->session->grpc;
    asking.charged_count = 0;
    asking.begun = asking.held = false;
    if (!read_all(&asking) || !may_ask(&asking) || !decide_all(&asking))
        return;
    const Envoy__Service__Ratelimit__V3__RateLimitResponse *response =
        grpc_reply_end(&asking.reply, call->limit_fields);
    if (response == NULL) {
        (void)refuse_room(&asking);
        return;
    }
    char *room =
        grpc_answer_room(call, envoy__service__ratelimit__v3__rate_limit_response__get_packed_size(response));
    if (room != NULL)
        (void)envoy__service__ratelimit__v3__rate_limit_response__pack(response, (uint8_t *)room);
}
