/*
 * ShouldRateLimit of Envoy: each descriptor is decided by itself, in order, by the rules of the service that has the
 * domain's name. All of the request is read before any of it is decided.
 */
#include "grpc/asking.h"

enum { DESCRIPTOR_WORK = 8 }; /* beside its decision */

/* ---- reading ---- */

static bool refuse_room(struct asking *asking)
{
    asking_refuse_room(asking);
    return false;
}

static bool read_hits(struct asking *asking, size_t index, struct asked *asked)
{
    const uint32_t all = asking->request->hits_addend;
    const Descriptor *descriptor = asked->descriptor;
    asked->hits = descriptor->hits_addend != NULL ? descriptor->hits_addend->value : all > 0 ? all : 1;
    asked->gives_back = descriptor->is_negative_hits;
    asked->query.cost = asked->hits;
    if (asked->query.drain && (asked->gives_back || asked->query.cost_count > 0)) {
        grpc_refuse(asking->call, GRPC_INVALID_ARGUMENT, "descriptor %zu: drain %s", index,
                    asked->gives_back
                        ? "takes what is left, and is_negative_hits gives back: expected one of the two"
                        : "with cost.NAME: expected hits_addend, of which a part may be taken");
        return false;
    }
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
    grpc_descriptor_begin(&read, grpc->options.endpoint_spelling);
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
    asked->alternative = read.alternative;
    asked->is_over = false;
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
        asking->reply.alternative = asking->asked[i].alternative;
        asking->grpc->worked += DESCRIPTOR_WORK + command_table[COMMAND_CHECK].work;
        if (!known)
            grpc_reply_add_unlimited(&asking->reply);
        else
            asking_decide(asking, i);
    }
    if (!asking->held)
        asking_count_looks(asking);
    asking->grpc->worked += ask_work_of_walks(walks_begun);
    return !asking->call->answered && !asking->held;
}

/* Whatever a descriptor asks for is of its domain. A reload since the call's head came may have removed the user. */
static bool may_ask(const struct asking *asking)
{
    struct commands *commands = asking->grpc->commands;
    const struct user *user = asking->call->user;
    char error[COMMAND_ERROR_BYTES];
    if (user != NULL && user->edition != asking->call->user_edition) {
        grpc_refuse(asking->call, GRPC_UNAUTHENTICATED, "the user who asks is gone");
        return false;
    }
    commands->caller = user;
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
    if (response == NULL || (asking.reply.alternatives > 0 && !asking_put_metadata(&asking))) {
        (void)refuse_room(&asking);
        return;
    }
    char *room =
        grpc_answer_room(call, envoy__service__ratelimit__v3__rate_limit_response__get_packed_size(response));
    if (room != NULL)
        (void)envoy__service__ratelimit__v3__rate_limit_response__pack(response, (uint8_t *)room);
}

void grpc_limit_unread(struct grpc_call *call)
{
    Envoy__Service__Ratelimit__V3__RateLimitResponse response =
        ENVOY__SERVICE__RATELIMIT__V3__RATE_LIMIT_RESPONSE__INIT;
    response.overall_code = ENVOY__SERVICE__RATELIMIT__V3__RATE_LIMIT_RESPONSE__CODE__OVER_LIMIT;
    call->session->grpc->commands->stats.grpc_unread++;
    char *room =
        grpc_answer_room(call, envoy__service__ratelimit__v3__rate_limit_response__get_packed_size(&response));
    if (room != NULL)
        (void)envoy__service__ratelimit__v3__rate_limit_response__pack(&response, (uint8_t *)room);
}
