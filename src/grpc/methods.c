/*
 * The methods that are served. To add one: a row, and a function that answers a whole message (call.h).
 */
#include "grpc/call.h"

static const struct grpc_method methods[] = {
    {"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", false, ROLE_CHECK, grpc_should_rate_limit,
     grpc_limit_unread, NULL},
    {"/grpc.health.v1.Health/Check", true, 0, grpc_health_check, NULL, NULL},
    {"/grpc.health.v1.Health/Watch", true, 0, grpc_health_watch, NULL, grpc_health_go_on},
};

const struct grpc_method *grpc_method(struct bytes path)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (bytes_equal(path, bytes_of(methods[i].path)))
            return &methods[i];
    return NULL;
}
