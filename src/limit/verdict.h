/*
 * verdict: the answer to one request, and the one table of reasons for which requests are refused.
 *
 * The one idea: every report of a refusal (answers of each protocol, EXPLAIN, the log of refusals,
 * metrics) takes the name and the sentence of its reason from this table, so that people find the
 * same word everywhere.
 */
#ifndef HEADGATE_LIMIT_VERDICT_H
#define HEADGATE_LIMIT_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

/* X(name, name for machines, sentence for people) */
#define VERDICT_REASONS(X)                                                                                         \
    X(ALLOWED, "allowed", "allowed")                                                                               \
    X(CAPACITY, "capacity", "the whole limit is spent, as far as this node knows")                                 \
    X(SHARE, "share", "tokens are left, but not for this node until others have heard of its spends")              \
    X(ISOLATION, "isolation", "tokens may be left, but not for this node while a peer is silent")                  \
    X(TOO_LARGE, "too_large", "the cost is more than can ever be allowed here")                                    \
    X(DENY_LIST, "deny_list", "an identifier is on the rule's deny list")                                          \
    X(LIMIT_ZERO, "limit_zero", "the rule's limit is 0")                                                           \
    X(LOG_FULL, "log_full", "too many spends here that others have not acknowledged")                              \
    X(KEYS_FULL, "keys_full", "the rule's service has as many keys here as it may have")                           \
    X(CENTRAL_DOWN, "central_down", "the central store does not answer, and the rule denies then")                 \
    X(NOT_READY, "not_ready", "this node has no share yet, or leaves")                                             \
    X(CONFIG_DIFFERS, "config_differs",                                                                            \
      "this node's config differs from that of its peers, and so it decides nothing")

enum verdict_reason {
#define X(name, word, sentence) VERDICT_##name,
    VERDICT_REASONS(X)
#undef X
        VERDICT_REASON_COUNT
};

/* "capacity": for machines. */
const char *verdict_reason_name(enum verdict_reason reason);
/* "the whole limit is spent, as far as this node knows": for people. */
const char *verdict_reason_sentence(enum verdict_reason reason);

struct verdict {
    bool allowed;
    enum verdict_reason reason; /* VERDICT_ALLOWED: it is allowed */
    uint64_t limit_tokens;      /* the limit's capacity */
    uint64_t remaining_tokens;  /* left of the whole limit above the charge's floor, as far as this peer knows */
    uint64_t available_tokens;  /* tokens that this peer could admit at this moment by itself */
    uint64_t retry_after_ns;    /* 0 if allowed; UINT64_MAX: never, with this cost */
    uint64_t reset_after_ns;    /* until the bucket is full if no peer spends */
};

/* True if tokens may be left, but not for this peer now: others may let it have some. */
static inline bool verdict_is_of_share(const struct verdict *verdict)
{
    return verdict->reason == VERDICT_SHARE || verdict->reason == VERDICT_ISOLATION;
}

/*
 * True if `a` decides a request rather than `b`. Of charges that deny, or are over a soft limit, the one that is so for
 * longest decides; if none is, the one with the least tokens left, because it will be the next to deny.
 */
static inline bool verdict_decides_before(const struct verdict *a, const struct verdict *b)
{
    if (a->allowed != b->allowed)
        return !a->allowed;
    if (!a->allowed && a->retry_after_ns != b->retry_after_ns)
        return a->retry_after_ns > b->retry_after_ns;
    if (a->available_tokens != b->available_tokens)
        return a->available_tokens < b->available_tokens;
    return a->limit_tokens < b->limit_tokens;
}

#endif
