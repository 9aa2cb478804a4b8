/*
 * limiter: rate limits inside your program.
 *
 * A limiter holds named limits (token buckets) and a table of keys in memory of fixed size. A call asks
 * whether a key may do something now, and takes the tokens if it may: check and consume are one atomic
 * step. Counting is exact, in integers. A limiter does no I/O, reads no clock and has no globals: the
 * time is a parameter. Any number of threads may call all functions but create and destroy at the same
 * time.
 *
 * No lock covers the whole limiter: the table has up to 64 parts of at least 1,024 keys, and a thread
 * locks one part while it decides one key. All threads together are allowed exactly what one thread would
 * be.
 */
#ifndef HEADGATE_LIMITER_H
#define HEADGATE_LIMITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEADGATE_NAME_MAX_BYTES 63      /* name of a limit, without the terminator */
#define HEADGATE_DIMENSION_MAX_BYTES 32 /* without the terminator */
#define HEADGATE_VALUE_MAX_BYTES 256    /* value of a key */
#define HEADGATE_LIMITS_MAX 64          /* limits per limiter */
#define HEADGATE_NEVER UINT64_MAX       /* a duration without end */

struct headgate_limiter;

struct headgate_limit {
    const char *name;     /* 1 to HEADGATE_NAME_MAX_BYTES bytes, unique in the limiter */
    uint64_t capacity;    /* tokens that a full bucket gives at once, 1 to 10^12 */
    uint64_t rate_tokens; /* tokens that come back per period, 1 to 10^12 */
    uint64_t period_ns;   /* 1 ns to 366 days */
};

/* headgate_limiter_create copies everything that these options point to. */
struct headgate_options {
    const struct headgate_limit *limits;
    size_t limit_count;        /* 1 to HEADGATE_LIMITS_MAX */
    const char *default_limit; /* a name among the limits; NULL: the first limit */
    /*
     * The number of keys that may owe tokens at the same time; 0: 65,536. The table takes about 64
     * bytes per key. All of its memory is reserved at once and never grows. It lies in huge pages
     * if the system offers them on request.
     */
    uint64_t table_keys;
    /*
     * The secret of the key hash (XXH3-128; SipHash for keys over 128 bytes). If strangers choose
     * the keys, give random bytes: whoever knows the secret can make keys that share one bucket.
     * NULL and 0: no secret.
     */
    const void *secret;
    size_t secret_size;
};

/*
 * Returns a limiter, which headgate_limiter_destroy must destroy. On failure returns NULL, with a
 * sentence for the operator in `error`, terminated and cut to `error_room` bytes. `error` may be
 * NULL if error_room is 0.
 */
struct headgate_limiter *headgate_limiter_create(const struct headgate_options *options, char *error,
                                                 size_t error_room);

/*
 * Makes the system back all memory of the keys now. Otherwise the first decision that touches a
 * page waits until the page is zeroed, which may take milliseconds. This call takes as long as
 * zeroing all pages: call it before requests come, or from a thread of its own. Returns 0 or an
 * errno: EINVAL before Linux 5.14, ENOMEM. Decisions do not depend on this call.
 */
int headgate_limiter_populate(struct headgate_limiter *limiter);

/* Frees the limiter and sets the pointer to NULL. The pointer may be NULL. No other call may be in
 * progress. */
void headgate_limiter_destroy(struct headgate_limiter **limiter);

/*
 * Takes one token of `key` (a terminated string; its dimension is "user") from the default limit.
 * Returns false and takes nothing if the key has no token, or is longer than
 * HEADGATE_VALUE_MAX_BYTES.
 *
 * `now_ns` must come from one monotonic clock; its origin does not matter. A time earlier than a
 * previous one is allowed and refills nothing. When the table is full, the limiter forgets the key
 * that owes least. Keys near it may then start with less than a full bucket; no key ever has more
 * than it had.
 */
bool headgate_can_access(struct headgate_limiter *limiter, const char *key, uint64_t now_ns);

/* The reason of a decision. */
enum headgate_reason {
    HEADGATE_ALLOWED = 0,
    HEADGATE_NO_TOKENS = 1,     /* not now: see retry_after_ns */
    HEADGATE_TOO_LARGE = 2,     /* never: the cost exceeds the limit's capacity */
    HEADGATE_UNKNOWN_LIMIT = 3, /* no limit has that name */
    HEADGATE_INVALID_KEY = 4    /* the dimension or the value is too long */
};

/* A request. Set unused fields to zero. */
struct headgate_request {
    const char *limit;     /* the limit's name; NULL: the default limit */
    const char *dimension; /* the kind of the value: "ip", "tenant"; NULL: "user" */
    const char *value;     /* the key: any bytes; NULL only if value_size is 0 */
    size_t value_size;     /* up to HEADGATE_VALUE_MAX_BYTES */
    uint64_t cost;         /* tokens to take; 0 counts as 1 */
    bool peek;             /* true: decides as if to take, and takes nothing */
};

/* The answer. */
struct headgate_verdict {
    bool allowed;
    enum headgate_reason reason;
    uint64_t limit;          /* tokens: the capacity */
    uint64_t remaining;      /* whole tokens left after this request */
    uint64_t retry_after_ns; /* time until the same request can be allowed, never too short; 0 if allowed */
    uint64_t reset_after_ns; /* time until the bucket is full again if nobody takes anything */
};

/* Decides one request, fills `verdict` and returns its `allowed`. If the request itself is invalid,
 * all fields but the reason are zero. For `now_ns` see headgate_can_access. */
bool headgate_check(struct headgate_limiter *limiter, const struct headgate_request *request, uint64_t now_ns,
                    struct headgate_verdict *verdict);

/*
 * Decides `count` requests in their order, each as headgate_check does, and fills allowed[i] only.
 * Returns the number of allowed requests. Meant for requests that arrived together: the memory of
 * several keys is prefetched before the first decision, so that with many keys a decision costs a
 * fraction of a single one. No lock is held between two requests, so requests of other threads may
 * come in between.
 */
size_t headgate_check_many(struct headgate_limiter *limiter, const struct headgate_request *requests, size_t count,
                           uint64_t now_ns, bool *allowed);

struct headgate_limiter_stats {
    uint64_t allowed;               /* requests; peeks do not count */
    uint64_t refused;               /* requests; requests with an invalid key or limit do not count */
    uint64_t capacity_keys;         /* slots of the table */
    uint64_t used_keys;             /* slots in use */
    uint64_t bytes;                 /* all memory of the limiter */
    uint64_t expired_keys;          /* full buckets that decisions forgot in passing */
    uint64_t evicted_harmless_keys; /* full buckets that made room for a new key */
    /* Other buckets that made room for a new key: if this grows, the table is too small. */
    uint64_t evicted_harmful_keys;
};

/* Copies the counters while other calls may be in progress. */
void headgate_limiter_stats(struct headgate_limiter *limiter, struct headgate_limiter_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
