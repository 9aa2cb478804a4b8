/*
 * account_set: a set of accounts of fixed size, as others_spent.c and refundable.c have them.
 *
 * The one idea: the account that was used last comes first, and free places come last, so the last place is the one
 * to be taken by another account. What an account holds, and how it is found, is its file's.
 */
#ifndef HEADGATE_CLUSTER_STATE_ACCOUNT_SET_H
#define HEADGATE_CLUSTER_STATE_ACCOUNT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bits of a set's number: there are 16 sets at least, and enough of them for `accounts`, so many in each. */
static inline unsigned account_set_bits(uint64_t in_each, uint64_t accounts)
{
    unsigned bits = 4;
    while (in_each << bits < accounts)
        bits++;
    return bits;
}

/*
 * Puts the account, of so many bytes, in place of the one at `at`, and moves it to the front of the set, because it was
 * used last; or behind all others, if nothing is left of it.
 */
static inline void account_set_put(void *set, size_t count, size_t bytes, size_t at, const void *account,
                                   bool is_left)
{
    char *const place = (char *)set + at * bytes;
    if (is_left) {
        memmove((char *)set + bytes, set, at * bytes);
        memcpy(set, account, bytes);
    } else {
        memmove(place, place + bytes, (count - 1 - at) * bytes);
        memcpy((char *)set + (count - 1) * bytes, account, bytes);
    }
}

#endif
