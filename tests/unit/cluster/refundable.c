#include "cluster/state/refundable.h"
#include "base/random.h"
#include "tests/lib/tap.h"

#include <assert.h>

static struct refundable refundable;

static struct key_id id_of(uint64_t set, uint64_t key)
{
    return (struct key_id){set << 60 | key, 1000 + key};
}

static void one_key(void)
{
    const struct key_id alice = id_of(1, 1), bert = id_of(1, 2);
    bool made = refundable_init(&refundable, 1, false);
    assert(made);
    OK_U64(refundable_tokens(&refundable, alice), 0, "what nobody spent nobody gives back");
    refundable_settle(&refundable, alice, 20, 0, 1, 2);
    OK(refundable_tokens(&refundable, alice) == 20 && refundable_tokens(&refundable, bert) == 0,
       "what has settled can be");
    refundable_return(&refundable, alice, 15, 3);
    OK_U64(refundable_tokens(&refundable, alice), 5, "once");
    refundable_return(&refundable, alice, 25, 4);
    OK_U64(refundable_tokens(&refundable, alice), 0, "of 25, 20 were unsettled");
    refundable_settle(&refundable, alice, 20, 0, 3, 5);
    OK_U64(refundable_tokens(&refundable, alice), 0, "when these settle, they have been given back already");
    refundable_settle(&refundable, alice, 1, 0, 5, 6);
    OK_U64(refundable_tokens(&refundable, alice), 1, "what comes after that has not");
    refundable_return_untold(&refundable, alice, 7, 7);
    refundable_settle(&refundable, alice, 2, 0, 7, 8);
    OK_U64(refundable_tokens(&refundable, alice), 2, "a return that no batch tells leaves no balance below zero");
    refundable_settle(&refundable, bert, 5, 0, 7, 8);
    refundable_forget(&refundable, alice, 9);
    refundable_settle(&refundable, alice, 3, 0, 9, 10);
    OK(refundable_tokens(&refundable, alice) == 0 && refundable_tokens(&refundable, bert) == 5,
       "forgotten: nor does what was spent by then come to its account, when it settles later");
    refundable_settle(&refundable, alice, 3, 0, 10, 11);
    OK_U64(refundable_tokens(&refundable, alice), 3, "but what is spent later");
    refundable_close(&refundable);
}

/* One set has five accounts. */
static void a_full_set(void)
{
    bool made = refundable_init(&refundable, 1, false);
    assert(made);
    for (uint64_t key = 0; key < 5; key++)
        refundable_settle(&refundable, id_of(3, key), 10 + key, 0, 1, 2);
    refundable_return(&refundable, id_of(3, 0), 1, 3);
    refundable_settle(&refundable, id_of(3, 5), 17, 0, 3, 4);
    OK(refundable_tokens(&refundable, id_of(3, 0)) == 9 && refundable_tokens(&refundable, id_of(3, 5)) == 17 &&
           refundable_tokens(&refundable, id_of(3, 1)) == 0 && refundable_tokens(&refundable, id_of(3, 2)) == 12,
       "the account that was not used for longest makes room");
    OK_U64(refundable.forgotten_count, 1, "which is counted");
    for (uint64_t key = 10; key < 15; key++)
        refundable_return(&refundable, id_of(3, key), 5, 10);
    refundable_settle(&refundable, id_of(3, 10), 6, 0, 9, 11);
    OK_U64(refundable_tokens(&refundable, id_of(3, 10)), 1, "balances below zero stay as long as others can go");
    refundable_return(&refundable, id_of(3, 10), 2, 11);
    refundable_return(&refundable, id_of(3, 20), 5, 20);
    refundable_settle(&refundable, id_of(3, 11), 8, 0, 20, 21);
    OK_U64(refundable_tokens(&refundable, id_of(3, 11)), 0,
           "where one has to go, what was spent by then comes to nobody's account");
    refundable_settle(&refundable, id_of(3, 12), 8, 0, 21, 22);
    OK_U64(refundable_tokens(&refundable, id_of(3, 12)), 3, "what was spent later does");
    refundable_close(&refundable);
}

#define SECOND_NS UINT64_C(1000000000)

/* Spans are 4.3 s long: tokens of 10 s and of 13.5 s are of neighbours. */
static void newest(void)
{
    const struct key_id alice = id_of(1, 1);
    bool made = refundable_init(&refundable, 1, false);
    assert(made);
    OK_U64(refundable_take_newest(&refundable, alice, 1), 0, "what nobody spent is of no time");
    refundable_settle(&refundable, alice, 5, 0, 9 * SECOND_NS, 10 * SECOND_NS);
    refundable_settle(&refundable, alice, 20, 12, 10 * SECOND_NS, 11 * SECOND_NS);
    refundable_settle(&refundable, alice, 30, 30, 13500000000, 14 * SECOND_NS);
    refundable_settle(&refundable, alice, 3, 3, 10 * SECOND_NS, 15 * SECOND_NS);
    OK_U64(refundable_take_newest(&refundable, alice, 28) >> 32, 3, "the newest ones go first");
    OK_U64(refundable_take_newest(&refundable, alice, 4) >> 32, 2, "then those of the span before");
    OK_U64(refundable_take_newest(&refundable, alice, 14), 0, "of 14 more, one was given back before it settled");
    refundable_settle(&refundable, alice, 30, 30, 18 * SECOND_NS, 19 * SECOND_NS);
    refundable_settle(&refundable, alice, 100000, 100000, 30 * SECOND_NS, 31 * SECOND_NS);
    OK_U64(refundable_take_newest(&refundable, alice, 65535) >> 32, 6, "so many are known");
    OK_U64(refundable_take_newest(&refundable, alice, 1), 0, "and no more, nor older ones");
    refundable_close(&refundable);
}

enum { KEYS = 40, ROUNDS = 200000, BATCHES = 4 };

/* A node: what it spends settles some batches later, and is given back before or after. Never more than it spent. */
static void drawn(void)
{
    struct random random;
    uint64_t spent[KEYS] = {0}, returned[KEYS] = {0}, unsettled[KEYS] = {0}, batch[KEYS][BATCHES] = {0};
    uint64_t given = 0, too_much = 0;
    random_seed(&random, 7);
    bool made = refundable_init(&refundable, 1, false);
    assert(made);
    for (uint64_t now = 1; now <= ROUNDS; now++) {
        uint64_t key = random_below(&random, KEYS);
        struct key_id id = id_of(key % 2, key);
        if (random_below(&random, 2) == 0) {
            uint64_t tokens = 1 + random_below(&random, 9);
            spent[key] += tokens;
            unsettled[key] += tokens;
            batch[key][now % BATCHES] += tokens;
        } else {
            uint64_t most = unsettled[key] + refundable_tokens(&refundable, id);
            uint64_t tokens = random_below(&random, most + 1);
            unsettled[key] -= tokens < unsettled[key] ? tokens : unsettled[key];
            refundable_return(&refundable, id, tokens, now);
            returned[key] += tokens;
            given += tokens;
        }
        too_much += returned[key] > spent[key];
        for (uint64_t k = 0; k < KEYS;
             k++) { /* batches are closed at each moment, and settle three moments later */
            uint64_t *old = &batch[k][(now + 1) % BATCHES], later = 0;
            if (*old == 0)
                continue;
            refundable_settle(&refundable, id_of(k % 2, k), *old, 0, now + 1 - BATCHES, now);
            *old = 0;
            for (unsigned b = 0; b < BATCHES; b++)
                later += batch[k][b];
            unsettled[k] = later < unsettled[k] ? later : unsettled[k];
        }
    }
    OK(too_much == 0, "in %d turns no key had more given back than was spent", ROUNDS);
    OK(given > ROUNDS / 4 && refundable.forgotten_count > 100,
       "%" PRIu64 " tokens were, and %" PRIu64 " accounts forgotten", given, refundable.forgotten_count);
    refundable_close(&refundable);
}

int main(void)
{
    one_key();
    a_full_set();
    newest();
    drawn();
    return tap_done();
}
