/*
 * grpc.health.v1.Health/Check: the same as /readyz of HTTP.
 */
#include "cluster/node.h"
#include "grpc/call.h"
#include "grpc/health/v1/health.pb-c.h"

static bool is_served(struct bytes name)
{
    return name.size == 0 || bytes_equal(name, bytes_of("envoy.service.ratelimit.v3.RateLimitService")) ||
           bytes_equal(name, bytes_of("grpc.health.v1.Health"));
}

void grpc_health_check(struct grpc_call *call)
{
    struct grpc *grpc = call->session->grpc;
    Grpc__Health__V1__HealthCheckResponse answer = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    grpc_arena_begin(&grpc->arena);
    const Grpc__Health__V1__HealthCheckRequest *asked =
        grpc__health__v1__health_check_request__unpack(&grpc->arena.allocator, call->message_bytes,
                                                       (const uint8_t *)call->message);
    if (asked == NULL) {
        grpc_refuse(call, GRPC_INVALID_ARGUMENT, "the message is no grpc.health.v1.HealthCheckRequest");
        return;
    }
    const struct bytes name = {(const char *)asked->service.data, asked->service.len};
    if (!is_served(name)) {
        grpc_refuse(call, GRPC_NOT_FOUND, "there is no such service");
        return;
    }
    struct node_status status;
    node_status(grpc->commands->node, &status);
    answer.status = status.decides ? GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
                                   : GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING;
    char *room = grpc_answer_room(call, grpc__health__v1__health_check_response__get_packed_size(&answer));
    if (room != NULL)
        (void)grpc__health__v1__health_check_response__pack(&answer, (uint8_t *)room);
}
