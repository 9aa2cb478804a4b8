/*
 * reply: decisions of descriptors as the answer of ShouldRateLimit.
 *
 * The one idea: statuses are added one by one, in the order of the descriptors, and copy what they need, since the
 * rules that they name are valid only until the next one is decided. The heads that a gateway adds to its own answer
 * are those of HTTP (http/verdict.h), of the descriptor that refused for longest, or else of the one with the least
 * left. Of alternatives one with room is enough: they refuse together, until the first of them has room again.
 */
#ifndef HEADGATE_GRPC_REPLY_H
#define HEADGATE_GRPC_REPLY_H

#include "envoy/service/ratelimit/v3/rls.pb-c.h"
#include "grpc/arena.h"
#include "http/verdict.h"

struct grpc_reply {
    struct grpc_arena *arena;
    Envoy__Service__Ratelimit__V3__RateLimitResponse response;
    size_t room;      /* for statuses */
    bool alternative; /* for the caller to set: what is added next is one */
    uint32_t alternatives, alternatives_over;
    bool over; /* one that is no alternative */
    /* `report` is of some descriptor, `soonest` of an alternative that is over */
    bool told, told_soonest;
    struct verdict_report report, soonest; /* of those that the heads tell of */
};

typedef Envoy__Extensions__Common__Ratelimit__V3__RateLimitDescriptor__RateLimitOverride Grpc_limit;

/* Of a unit of Envoy; 0: there is no such unit. */
uint64_t grpc_unit_ns(int unit);

/* For `count` statuses, all of which are to be added. False: the arena has no room. */
bool grpc_reply_begin(struct grpc_reply *reply, struct grpc_arena *arena, size_t count);
/* What no rule counts. */
void grpc_reply_add_unlimited(struct grpc_reply *reply);
void grpc_reply_add(struct grpc_reply *reply, const struct commands *commands, const struct match *match,
                    const struct decision *decision);
/* What came with its own limit. */
void grpc_reply_add_guest(struct grpc_reply *reply, const Grpc_limit *limit, const struct decision *decision);
/* The same of a limit that admits nothing. */
void grpc_reply_add_nothing(struct grpc_reply *reply, const Grpc_limit *limit);
/* The whole answer, valid as long as the arena's content; NULL: the arena has no room. */
const Envoy__Service__Ratelimit__V3__RateLimitResponse *grpc_reply_end(struct grpc_reply *reply,
                                                                       enum http_limit_fields fields);

#endif
