/*
 * limiter: rate limits inside your program.
 *
 * A limiter holds named limits (a capacity, and a rate at which it refills: a token bucket) and a table of
 * keys in memory of fixed size. You ask whether a key may do something now; if so, that is taken at once:
 * check and consume are one atomic step. Counting is exact, in integers.
 *
 * A limiter does no I/O, reads no clock and has no globals: the time is a parameter. All functions but create
 * and destroy may be called on one limiter from any number of threads at once. There is no lock around all of it:
 * the table is in parts, up to 64 of 1,024 keys or more, and a thread holds one part while it decides about one key.
 * However many threads ask, together they are allowed exactly what one would have been.
 */
#ifndef HEADGATE_LIMITER_H
#define HEADGATE_LIMITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEADGATE_NAME_MAX_BYTES 63      /* of a limit's name, without the terminator */
#define HEADGATE_DIMENSION_MAX_BYTES 32 /* without the terminator */
#define HEADGATE_VALUE_MAX_BYTES 256    /* of a key */
#define HEADGATE_LIMITS_MAX 64          /* limits of one limiter */
#define HEADGATE_NEVER UINT64_MAX       /* a duration that does not end */

struct headgate_limiter;

struct headgate_limit {
    const char *name;     /* 1 to HEADGATE_NAME_MAX_BYTES bytes, unique in the limiter */
    uint64_t capacity;    /* tokens that can be taken at once from a full bucket, 1 to 10^12 */
    uint64_t rate_tokens; /* tokens that come back per period, 1 to 10^12 */
    uint64_t period_ns;   /* 1 ns to 366 days */
};

/* Everything is copied: nothing here need outlive headgate_limiter_create. */
struct headgate_options {
    const struct headgate_limit *limits;
    size_t limit_count;        /* 1 to HEADGATE_LIMITS_MAX */
    const char *default_limit; /* its name; NULL: the first one */
    /*
     * Keys that owe something at the same time; about 64 bytes each, reserved at once and never more, in huge
     * pages where the system gives them to those who ask. 0: 65,536.
     */
    uint64_t table_keys;
    /*
     * Keys are hashed with this secret (XXH3-128; those over 128 bytes with SipHash). Where strangers choose the
     * keys, give random bytes: whoever knows the secret can make up keys that share one bucket. NULL and 0: none.
     */
    const void *secret;
    size_t secret_size;
};

/*
 * A limiter, to be destroyed by headgate_limiter_destroy; or NULL, with a sentence for the operator in `error`
 * (terminated, truncated to `error_room` bytes; may be NULL if error_room is 0).
 */
struct headgate_limiter *headgate_limiter_create(const struct headgate_options *options, char *error,
                                                 size_t error_room);

/*
 * Has the system back all memory of the keys now, where otherwise each page is zeroed when a decision is the first to
 * touch it, which may take milliseconds. It takes the time of zeroing: call it before requests come, or from a thread
 * of its own. Returns 0, or an errno: EINVAL before Linux 5.14, ENOMEM. A limiter decides the same without it.
 */
int headgate_limiter_populate(struct headgate_limiter *limiter);

/* Frees the limiter and sets the pointer to NULL; harmless when it is NULL. No other call may be under way. */
void headgate_limiter_destroy(struct headgate_limiter **limiter);

/*
 * Takes one token of `key` (a terminated string; its dimension is "user") from the default limit. False: it
 * has none, and nothing is taken; or the key is longer than HEADGATE_VALUE_MAX_BYTES.
 *
 * `now_ns` comes from a monotonic clock of your choice; its origin does not matter. A time earlier than one
 * given before is allowed and refills nothing. When the table is full, the key that owes least is forgotten;
 * keys near it may then start with less than a full bucket, and no key ever with more than it had.
 */
bool headgate_can_access(struct headgate_limiter *limiter, const char *key, uint64_t now_ns);

/* Why a request was allowed or refused. */
enum headgate_reason {
    HEADGATE_ALLOWED = 0,
    HEADGATE_NO_TOKENS = 1,     /* not now: see retry_after_ns */
    HEADGATE_TOO_LARGE = 2,     /* never: the cost is above the limit's capacity */
    HEADGATE_UNKNOWN_LIMIT = 3, /* no limit has that name */
    HEADGATE_INVALID_KEY = 4    /* the dimension or the value is too long */
};

/* What is asked. Zero what you do not use. */
struct headgate_request {
    const char *limit;     /* the limit's name; NULL: the default one */
    const char *dimension; /* what kind of thing the value names: "ip", "tenant"; NULL: "user" */
    const char *value;     /* the key: any bytes; NULL only if value_size is 0 */
    size_t value_size;     /* up to HEADGATE_VALUE_MAX_BYTES */
    uint64_t cost;         /* tokens to take; 0 counts as 1 */
    bool peek;             /* true: answers as if to take, but takes nothing */
};

/* The answer. */
struct headgate_verdict {
    bool allowed;
    enum headgate_reason reason;
    uint64_t limit;          /* tokens: the capacity */
    uint64_t remaining;      /* whole tokens left, after this request */
    uint64_t retry_after_ns; /* 0 if allowed; until the same request can be allowed, never too early */
    uint64_t reset_after_ns; /* until the bucket is full again if nobody takes anything */
};

/* Decides one request; fills `verdict` (all zero but the reason where the request itself was wrong) and returns
 * its `allowed`. For `now_ns` see headgate_can_access. */
bool headgate_check(struct headgate_limiter *limiter, const struct headgate_request *request, uint64_t now_ns,
                    struct headgate_verdict *verdict);

/*
 * Decides `count` requests in their order, each as headgate_check would, but without saying more than allowed[i].
 * Returns how many were allowed. For requests that arrived together: the memory of several is asked for before the
 * first of them is decided, so that with many keys a decision costs a fraction of what it does alone. No lock is held
 * from one request to the next: other threads' requests may come in between.
 */
size_t headgate_check_many(struct headgate_limiter *limiter, const struct headgate_request *requests, size_t count,
                           uint64_t now_ns, bool *allowed);

struct headgate_limiter_stats {
    uint64_t allowed;               /* requests; peeks are not counted */
    uint64_t refused;               /* requests, those with an invalid key or limit not counted */
    uint64_t capacity_keys;         /* slots of the table */
    uint64_t used_keys;             /* of them in use */
    uint64_t bytes;                 /* all memory of the limiter */
    uint64_t expired_keys;          /* full buckets forgotten in passing */
    uint64_t evicted_harmless_keys; /* full buckets that made room for a new key */
    uint64_t evicted_harmful_keys;  /* others that did: if this grows, the table is too small */
};

/* A snapshot of the counters, taken while others may go on. */
void headgate_limiter_stats(struct headgate_limiter *limiter, struct headgate_limiter_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
