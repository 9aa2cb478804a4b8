/*
 * others_spent: what each other member has spent of each key, and has not given back, as far as this node remembers.
 *
 * The one idea: an account for each key, limit and member. Each charge here adds what it lowered the key by, each
 * credit takes from it, and nobody may give back more than its account has. So a member that lies about returns wins
 * nothing for good. Accounts are in sets of fixed size. A full set forgets an account of the member that has most of
 * them there: what it holds cannot be given back any more, the safe side. refundable.h is the account of own spends.
 */
#ifndef HEADGATE_CLUSTER_STATE_OTHERS_SPENT_H
#define HEADGATE_CLUSTER_STATE_OTHERS_SPENT_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spent_set;

enum { OTHERS_SPENT_SECRETS = 3 };

struct others_spent {
    void *memory; /* of the sets, which begin at a cache line */
    struct spent_set *set;
    unsigned shift;
    uint64_t secret[OTHERS_SPENT_SECRETS];
};

/* Whose account it is. `member`: below NODE_PEERS_MAX. */
struct spender {
    struct key_id id;
    uint16_t limit;
    uint8_t member;
};

/* Makes at least one account for every two keys of a table. `seed`: unknown to peers. False: no memory. */
bool others_spent_init(struct others_spent *spent, uint64_t keys, uint64_t seed);
void others_spent_close(struct others_spent *spent);
/* All memory of the accounts, as table_memory gives it. */
void *others_spent_memory(const struct others_spent *spent, size_t *bytes);

/* A caller should call this some time before it charges the key. */
void others_spent_prefetch(const struct others_spent *spent, struct key_id id);
/* The units of the limit that the member may give back; 0: none, or nothing is known. */
int64_t others_spent_units(const struct others_spent *spent, const struct spender *spender);
/* Changes that by `more`, which may be below 0. It stays from 0 to `most`. */
void others_spent_change(struct others_spent *spent, const struct spender *spender, int64_t more, int64_t most);

#endif
