/*
 * hitters: the keys that occur most often in a stream, in fixed memory.
 *
 * The one idea (space-saving): there are HITTERS_MAX places. A key without a place takes the place of the key with the
 * smallest count, and inherits that count as its possible error. So a count is never too small, is too large by its
 * `error` at most, and no error exceeds total / HITTERS_MAX: a key that occurs more often than that has a place. Places
 * stand in the order of their counts, so an addition takes a few steps whatever comes. Knows no time and no names.
 */
#ifndef HEADGATE_BASE_HITTERS_H
#define HEADGATE_BASE_HITTERS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HITTERS_MAX = 64,
    HITTERS_INDEX = 4 * HITTERS_MAX, /* places of the index by key: a power of two, sparsely used */
};

struct hitter {
    uint64_t key;   /* a hash: its lowest bits are as good as any */
    uint64_t count; /* the key occurred this often, or up to `error` times less */
    uint64_t error;
};

/* All zero: empty. */
struct hitters {
    uint64_t total;  /* of all additions */
    uint64_t missed; /* a key without a place occurred this often at most */
    uint32_t count;
    uint8_t index[HITTERS_INDEX];  /* the place of a key plus 1; 0: free */
    struct hitter at[HITTERS_MAX]; /* falling by count */
};

/* The key occurred once more. */
void hitters_add(struct hitters *hitters, uint64_t key);

/* NULL: the key has no place. */
const struct hitter *hitters_find(const struct hitters *hitters, uint64_t key);

/* `hitters` becomes what both streams together come to. The errors of both add up, and the bounds still hold. */
void hitters_merge(struct hitters *hitters, const struct hitters *other);

/* Whether order, index and bounds are as they must be: for tests. */
bool hitters_check(const struct hitters *hitters);

#endif
