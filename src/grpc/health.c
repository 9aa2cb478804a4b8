/*
 * grpc.health.v1.Health: Check says the same as /readyz of HTTP; Watch says it again whenever it has changed.
 */
#include "cluster/node.h"
#include "grpc/call.h"
#include "grpc/health/v1/health.pb-c.h"

static bool is_served(struct bytes name)
{
    return name.size == 0 || bytes_equal(name, bytes_of("envoy.service.ratelimit.v3.RateLimitService")) ||
           bytes_equal(name, bytes_of("grpc.health.v1.Health"));
}

enum { ANSWER_BYTES = 2 }; /* the longest */

static uint8_t serving(const struct grpc_call *call)
{
    struct node_status status;
    node_status(call->session->grpc->commands->node, &status);
    return status.decides ? GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
                          : GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING;
}

/* Reads the name of the service that is asked about. False: the call is refused. */
static bool read_name(struct grpc_call *call, struct bytes *name)
{
    struct grpc *grpc = call->session->grpc;
    grpc_arena_begin(&grpc->arena);
    const Grpc__Health__V1__HealthCheckRequest *asked =
        grpc__health__v1__health_check_request__unpack(&grpc->arena.allocator, call->message_bytes,
                                                       (const uint8_t *)call->message);
    if (asked == NULL) {
        grpc_refuse(call, GRPC_INVALID_ARGUMENT, "the message is no grpc.health.v1.HealthCheckRequest");
        return false;
    }
    *name = (struct bytes){(const char *)asked->service.data, asked->service.len};
    return true;
}

static size_t size_of(uint8_t status)
{
    Grpc__Health__V1__HealthCheckResponse answer = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    answer.status = status;
    return grpc__health__v1__health_check_response__get_packed_size(&answer);
}

static void say(uint8_t status, char *room)
{
    Grpc__Health__V1__HealthCheckResponse answer = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    answer.status = status;
    (void)grpc__health__v1__health_check_response__pack(&answer, (uint8_t *)room);
}

void grpc_health_check(struct grpc_call *call)
{
    struct bytes name;
    if (!read_name(call, &name))
        return;
    if (!is_served(name)) {
        grpc_refuse(call, GRPC_NOT_FOUND, "there is no such service");
        return;
    }
    const uint8_t status = serving(call);
    char *room = grpc_answer_room(call, size_of(status));
    if (room != NULL)
        say(status, room);
}

void grpc_health_watch(struct grpc_call *call)
{
    struct bytes name;
    if (!read_name(call, &name) || !grpc_stream_begin(call, ANSWER_BYTES))
        return;
    call->told =
        is_served(name) ? serving(call) : GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN;
    say(call->told, grpc_stream_room(call, size_of(call->told)));
}

void grpc_health_go_on(struct grpc_call *call)
{
    const uint8_t status = serving(call);
    if (call->told == status ||
        call->told == GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN)
        return;
    call->told = status;
    say(status, grpc_stream_room(call, size_of(status)));
}
