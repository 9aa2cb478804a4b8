/*
 * others_spent keeps accounts in sets of four, a cache line each. The set is found by the key's id, so that charges,
 * which come in the order of ids, go through memory in order. Within the set a tag says whose account it is: a hash
 * that no peer can work out, so nobody can make up a key that shares an account with another one.
 */
#include "cluster/state/others_spent.h"

#include "base/number.h"
#include "base/prefetch.h"
#include "cluster/node_options.h"
#include "cluster/state/account_set.h"

#include <stdlib.h>

enum {
    SET_ACCOUNTS = 4,
    LINE_BYTES = 64,
    KEYS_PER_ACCOUNT = 2,
    KEYS_PER_SET = SET_ACCOUNTS * KEYS_PER_ACCOUNT,
    KEYS_PER_GROUP = 12, /* at least, of the table */
};

/*
 * Decisions of several threads change accounts, too, where a key goes over to another limit. They hold its stripe of
 * the table. The keys of a set have their homes in one group, or in two beside each other. So they share a stripe
 * (table_slots.h).
 */
_Static_assert((int)KEYS_PER_SET <= (int)KEYS_PER_GROUP, "no two threads change a set at the same time");

#define MEMBER_MASK ((uint64_t)NODE_PEERS_MAX - 1)
_Static_assert((NODE_PEERS_MAX & (NODE_PEERS_MAX - 1)) == 0, "the member is in the low bits of a tag");

/* Units 0: a free place. */
struct account {
    uint64_t tag; /* the low bits are the member */
    int64_t units;
};

/* The account that was used last comes first; free places come last. */
struct spent_set {
    struct account account[SET_ACCOUNTS];
};
_Static_assert(sizeof(struct spent_set) == LINE_BYTES, "a cache line");

bool others_spent_init(struct others_spent *spent, uint64_t keys, uint64_t seed)
{
    struct hash_key key;
    const unsigned bits = account_set_bits(SET_ACCOUNTS, keys / KEYS_PER_ACCOUNT);
    *spent = (struct others_spent){.shift = 64 - bits};
    hash_key_from_secret(&key, &seed, sizeof seed);
    for (uint64_t i = 0; i < OTHERS_SPENT_SECRETS; i++)
        spent->secret[i] = hash_64(&key, &i, sizeof i) | 1;
    /* calloc leaves memory that nobody uses untouched, and aligns to less */
    spent->memory = calloc(((size_t)1 << bits) + 1, sizeof *spent->set);
    if (spent->memory == NULL)
        return false;
    spent->set = (void *)((char *)spent->memory + (LINE_BYTES - (uintptr_t)spent->memory % LINE_BYTES));
    return true;
}

void others_spent_close(struct others_spent *spent)
{
    free(spent->memory);
    spent->memory = NULL;
}

void *others_spent_memory(const struct others_spent *spent, size_t *bytes)
{
    *bytes = sizeof *spent->set << (64 - spent->shift);
    return spent->set;
}

static struct spent_set *set_of(const struct others_spent *spent, struct key_id id)
{
    return &spent->set[id.high >> spent->shift];
}

void others_spent_prefetch(const struct others_spent *spent, struct key_id id)
{
    prefetch_write(set_of(spent, id));
}

static uint64_t folded(uint64_t a, uint64_t b)
{
    const uint128 product = (uint128)a * b;
    return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

/* Each half of an id meets a secret before the halves are multiplied: as in hash_private.h. */
static uint64_t tag_of(const struct others_spent *spent, const struct spender *spender)
{
    const uint64_t *secret = spent->secret;
    const uint64_t of_key = folded(spender->id.high ^ secret[0], spender->id.low ^ secret[1]);
    return ((of_key ^ (spender->limit + 1u) * secret[2]) & ~MEMBER_MASK) | spender->member;
}

/* SET_ACCOUNTS: the set has no such account. */
static unsigned find(const struct spent_set *set, uint64_t tag)
{
    unsigned at = 0;
    while (at < SET_ACCOUNTS && (set->account[at].units == 0 || set->account[at].tag != tag))
        at++;
    return at;
}

int64_t others_spent_units(const struct others_spent *spent, const struct spender *spender)
{
    const struct spent_set *set = set_of(spent, spender->id);
    const unsigned at = find(set, tag_of(spent, spender));
    return at < SET_ACCOUNTS ? set->account[at].units : 0;
}

static uint64_t member_of(const struct spent_set *set, unsigned at)
{
    return set->account[at].tag & MEMBER_MASK;
}

/*
 * The place for a new account of that member: a free one, or the account unused for longest of the member that has
 * most, the new one included. So nobody makes others' accounts be forgotten but by having fewer itself.
 */
static unsigned room(const struct spent_set *set, uint8_t member)
{
    uint8_t count[NODE_PEERS_MAX] = {0};
    unsigned place = SET_ACCOUNTS - 1;
    if (set->account[place].units == 0)
        return place;
    count[member]++;
    for (unsigned at = 0; at < SET_ACCOUNTS; at++)
        count[member_of(set, at)]++;
    for (unsigned at = place; at-- > 0;)
        if (count[member_of(set, at)] > count[member_of(set, place)])
            place = at;
    return place;
}

void others_spent_change(struct others_spent *spent, const struct spender *spender, int64_t more, int64_t most)
{
    struct spent_set *set = set_of(spent, spender->id);
    const uint64_t tag = tag_of(spent, spender);
    unsigned at = find(set, tag);
    const int64_t before = at < SET_ACCOUNTS ? set->account[at].units : 0;
    int64_t units = more < most - before ? before + more : most;
    units = units > 0 ? units : 0;
    if (units == before)
        return;
    if (at == SET_ACCOUNTS)
        at = room(set, spender->member);
    const struct account account = {.tag = tag, .units = units};
    account_set_put(set->account, SET_ACCOUNTS, sizeof account, at, &account, units > 0);
}
