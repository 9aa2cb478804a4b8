/*
 * refundable keeps an account of each key: tokens that this node spent and may still give back.
 * Settling adds to an account, a return takes from it. Accounts stand in sets of five; a full set
 * forgets the account that was not used for longest, and tokens of that time are not given back.
 * An account knows of its newest tokens in which of the last two spans they were spent at the earliest.
 */
#include "cluster/state/refundable.h"

#include "base/prefetch.h"
#include "base/spin.h"
#include "cluster/state/account_set.h"

#include <stdlib.h>

enum {
    SET_ACCOUNTS = 5, /* an account of a set; a set with its `since_ns` fills two cache lines */
    KEYS_PER_ACCOUNT = 4,
    SPAN_BITS = 32, /* a span is 2^32 ns long, 4.3 s */
};

#define BALANCE_MAX ((int64_t)1 << 60)

/*
 * The number of the set holds the bits of the other half of the id, as many as sets need. A balance
 * of 0 means a free place.
 */
struct account {
    uint64_t id_low;
    int64_t tokens;
    uint32_t span;        /* the number of the newest span with spends */
    uint16_t now, before; /* of the tokens, so many at least were spent in that span, and in the one before */
};

struct refundable_set {
    /* the account that was used last comes first; free places come last */
    struct account account[SET_ACCOUNTS];
    uint64_t since_ns; /* no account has tokens that may have been spent at this time or earlier */
};
_Static_assert(sizeof(struct refundable_set) == 128, "two cache lines");

bool refundable_init(struct refundable *refundable, uint64_t keys, bool shared)
{
    const unsigned bits = account_set_bits(SET_ACCOUNTS, keys / KEYS_PER_ACCOUNT);
    *refundable = (struct refundable){.shift = 64 - bits, .shared = shared};
    refundable->set = calloc((size_t)1 << bits, sizeof *refundable->set);
    return refundable->set != NULL;
}

void refundable_close(struct refundable *refundable)
{
    free(refundable->set);
    refundable->set = NULL;
}

/*
 * Sets stand in the order of ids: settling goes through keys in that order, and so through memory
 * from its start to its end.
 */
static struct refundable_set *set_of(const struct refundable *refundable, struct key_id id)
{
    return &refundable->set[id.high >> refundable->shift];
}

void refundable_prefetch(const struct refundable *refundable, struct key_id id)
{
    const struct refundable_set *set = set_of(refundable, id);
    prefetch_write(set);
    prefetch_write(&set->since_ns);
}

static void lock(struct refundable *refundable)
{
    if (refundable->shared)
        spin_lock(&refundable->locked);
}

static void unlock(struct refundable *refundable)
{
    if (refundable->shared)
        spin_unlock(&refundable->locked);
}

/* SET_ACCOUNTS: the set has no account of the key. */
static unsigned find(const struct refundable_set *set, struct key_id id)
{
    unsigned at = 0;
    while (at < SET_ACCOUNTS && (set->account[at].tokens == 0 || set->account[at].id_low != id.low))
        at++;
    return at;
}

/* Tokens that were spent until now never come to an account of the set. */
static void begin_anew(struct refundable_set *set, uint64_t now_ns)
{
    set->since_ns = now_ns > 0 ? now_ns : 1;
}

/*
 * The place for a new account: a free place, or the last account that is not negative, or else the
 * last account.
 */
static unsigned room(struct refundable *refundable, struct refundable_set *set, uint64_t now_ns)
{
    unsigned at = SET_ACCOUNTS - 1;
    if (set->account[at].tokens == 0)
        return at;
    refundable->forgotten_count++;
    while (at > 0 && set->account[at].tokens < 0)
        at--;
    if (set->account[at].tokens > 0)
        return at;
    begin_anew(set, now_ns);
    return SET_ACCOUNTS - 1;
}

static int64_t balance_after(int64_t balance, int64_t more)
{
    int64_t sum = balance + more;
    return sum > BALANCE_MAX ? BALANCE_MAX : sum < -BALANCE_MAX ? -BALANCE_MAX : sum;
}

static uint16_t add_up(uint16_t sum, uint64_t more)
{
    return more < (uint64_t)(UINT16_MAX - sum) ? (uint16_t)(sum + more) : UINT16_MAX;
}

/* `tokens` of the account were spent at `since_ns` or later. */
static void note_new(struct account *account, uint64_t tokens, uint64_t since_ns)
{
    uint32_t span = (uint32_t)(since_ns >> SPAN_BITS);
    if (span > account->span) {
        account->before = span == account->span + 1 ? account->now : 0;
        account->now = 0;
        account->span = span;
    }
    if (span == account->span)
        account->now = add_up(account->now, tokens);
    else if (span + 1 == account->span)
        account->before = add_up(account->before, tokens);
}

/* Adds `more` tokens; of these, `fresh` are known to have been spent at `since_ns` or later. */
static void change(struct refundable *refundable, struct key_id id, int64_t more, uint64_t fresh, uint64_t since_ns,
                   uint64_t now_ns)
{
    struct refundable_set *set = set_of(refundable, id);
    unsigned at = find(set, id);
    struct account account = at < SET_ACCOUNTS ? set->account[at] : (struct account){.id_low = id.low};
    if (at == SET_ACCOUNTS)
        at = room(refundable, set, now_ns);
    account.tokens = balance_after(account.tokens, more);
    if (fresh > 0)
        note_new(&account, fresh, since_ns);
    account_set_put(set->account, SET_ACCOUNTS, sizeof account, at, &account, account.tokens != 0);
}

static int64_t signed_tokens(uint64_t tokens)
{
    return tokens < (uint64_t)BALANCE_MAX ? (int64_t)tokens : BALANCE_MAX;
}

void refundable_settle(struct refundable *refundable, struct key_id id, uint64_t tokens, uint64_t fresh,
                       uint64_t since_ns, uint64_t now_ns)
{
    lock(refundable);
    uint64_t forgotten_ns = set_of(refundable, id)->since_ns;
    if (tokens > 0 && (forgotten_ns == 0 || since_ns > forgotten_ns))
        change(refundable, id, signed_tokens(tokens), fresh < tokens ? fresh : tokens, since_ns, now_ns);
    unlock(refundable);
}

uint64_t refundable_tokens(struct refundable *refundable, struct key_id id)
{
    int64_t tokens = refundable_balance(refundable, id);
    return tokens > 0 ? (uint64_t)tokens : 0;
}

int64_t refundable_balance(struct refundable *refundable, struct key_id id)
{
    lock(refundable);
    const struct refundable_set *set = set_of(refundable, id);
    unsigned at = find(set, id);
    int64_t tokens = at < SET_ACCOUNTS ? set->account[at].tokens : 0;
    unlock(refundable);
    return tokens;
}

static uint64_t take_newest(struct account *account, uint64_t tokens)
{
    uint64_t newest = tokens < account->now ? tokens : account->now, rest = tokens - newest;
    uint64_t since = account->span;
    account->now = (uint16_t)(account->now - newest);
    if (rest == 0)
        return since << SPAN_BITS;
    newest = rest < account->before ? rest : account->before;
    account->before = (uint16_t)(account->before - newest);
    return rest == newest && since > 0 ? (since - 1) << SPAN_BITS : 0;
}

uint64_t refundable_take_newest(struct refundable *refundable, struct key_id id, uint64_t tokens)
{
    lock(refundable);
    struct refundable_set *set = set_of(refundable, id);
    unsigned at = find(set, id);
    uint64_t since_ns = at < SET_ACCOUNTS ? take_newest(&set->account[at], tokens) : 0;
    unlock(refundable);
    return since_ns;
}

void refundable_return(struct refundable *refundable, struct key_id id, uint64_t tokens, uint64_t now_ns)
{
    lock(refundable);
    if (tokens > 0)
        change(refundable, id, -signed_tokens(tokens), 0, 0, now_ns);
    unlock(refundable);
}

void refundable_return_untold(struct refundable *refundable, struct key_id id, uint64_t tokens, uint64_t now_ns)
{
    uint64_t most = refundable_tokens(refundable, id);
    refundable_return(refundable, id, tokens < most ? tokens : most, now_ns);
}

void refundable_forget(struct refundable *refundable, struct key_id id, uint64_t now_ns)
{
    lock(refundable);
    struct refundable_set *set = set_of(refundable, id);
    unsigned at = find(set, id);
    if (at < SET_ACCOUNTS)
        account_set_put(set->account, SET_ACCOUNTS, sizeof set->account[0], at, &(struct account){0}, false);
    begin_anew(set, now_ns);
    unlock(refundable);
}
