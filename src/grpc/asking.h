/*
 * asking: one request of ShouldRateLimit, from its bytes to the statuses of its descriptors. Internal to src/grpc.
 *
 * The one idea: rate_limit.c reads all of a request before any of it is decided, and makes the answer; in between,
 * rate_limit_decide.c decides one descriptor after the other, which sees of the others only what they have charged.
 */
#ifndef HEADGATE_GRPC_ASKING_H
#define HEADGATE_GRPC_ASKING_H

#include "grpc/call.h"
#include "grpc/descriptor.h"
#include "grpc/reply.h"

enum {
    DESCRIPTORS_MAX = 32,
    CHARGED_MAX = DESCRIPTORS_MAX * CHARGES_MAX,
};

typedef Envoy__Service__Ratelimit__V3__RateLimitRequest Request;
typedef Envoy__Extensions__Common__Ratelimit__V3__RateLimitDescriptor Descriptor;

/* One descriptor, read. */
struct asked {
    struct command_query query;
    uint64_t hits; /* 0: it only looks */
    bool gives_back, alternative;
    bool is_over; /* it looked, and there is no room: to be counted once the request is answered */
    const Descriptor *descriptor;
};

/* What a key was charged with in this request, and what was given back of it. */
struct charged {
    struct key_id id;
    uint64_t cost, returned;
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

static inline struct bytes bytes_in(ProtobufCBinaryData data)
{
    return (struct bytes){(const char *)data.data, data.len};
}

/* Answers that there is no room to read the request. */
void asking_refuse_room(struct asking *asking);
/*
 * Decides descriptor number `index` by the rules or by the limit that it brings, and adds its status to the reply.
 * Otherwise the call is answered, or `held` is set.
 */
void asking_decide(struct asking *asking, size_t index);
/*
 * Counts and logs the looks that are over like any refusal, since the gateway refuses what it looked for. Must be
 * called once for a request, when all its descriptors are decided: a request that waits is decided more than once.
 */
void asking_count_looks(struct asking *asking);
/* Adds what was decided as metadata (metadata.c). False: there is no room. */
bool asking_put_metadata(struct asking *asking);

#endif
