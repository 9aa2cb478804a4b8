/*
 * verdict: the answer to one request.
 */
#ifndef HEADGATE_LIMIT_VERDICT_H
#define HEADGATE_LIMIT_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

enum verdict_reason {
    VERDICT_ALLOWED,
    VERDICT_NO_TOKENS, /* no tokens are left of the whole limit, as far as this peer knows */
    VERDICT_NO_SHARE,  /* tokens are left, but not for this peer until others have heard of its spends */
    VERDICT_TOO_LARGE, /* the cost can never be admitted here */
    VERDICT_JOINING,   /* this peer has no share yet */
    VERDICT_OVERLOAD,  /* the log of unacknowledged spends is at its limit */
};

struct verdict {
    bool allowed;
    enum verdict_reason reason;
    uint64_t limit_tokens;     /* the limit's capacity */
    uint64_t remaining_tokens; /* left of the whole limit above the charge's floor, as far as this peer knows */
    uint64_t available_tokens; /* tokens that this peer could admit at this moment by itself */
    uint64_t retry_after_ns;   /* 0 if allowed; UINT64_MAX: never, with this cost */
    uint64_t reset_after_ns;   /* until the bucket is full if no peer spends */
};

#endif
