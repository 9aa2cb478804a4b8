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
    refundable_settle(&refundable, alice, 20, 1, 2);
    OK(refundable_tokens(&refundable, alice) == 20 && refundable_tokens(&refundable, bert) == 0,
       "what has settled can be");
    refundable_return(&refundable, alice, 15, 3);
    OK_U64(refundable_tokens(&refundable, alice), 5, "once");
    refundable_return(&refundable, alice, 25, 4);
    OK_U64(refundable_tokens(&refundable, alice), 0, "of 25, 20 were unsettled");
    refundable_settle(&refundable, alice, 20, 3, 5);
    OK_U64(refundable_tokens(&refundable, alice), 0, "when these settle, they have been given back already");
    refundable_settle(&refundable, alice, 1, 5, 6);
    OK_U64(refundable_tokens(&refundable, alice), 1, "what comes after that has not");
    refundable_return_untold(&refundable, alice, 7, 7);
    refundable_settle(&refundable, alice, 2, 7, 8);
    OK_U64(refundable_tokens(&refundable, alice), 2, "a return that no batch tells leaves no balance below zero");
    refundable_settle(&refundable, bert, 5, 7, 8);
    refundable_forget(&refundable, alice, 9);
    refundable_settle(&refundable, alice, 3, 9, 10);
    OK(refundable_tokens(&refundable, alice) == 0 && refundable_tokens(&refundable, bert) == 5,
       "forgotten: nor does what was spent by then come to its account, when it settles later");
    refundable_settle(&refundable, alice, 3, 10, 11);
    OK_U64(refundable_tokens(&refundable, alice), 3, "but what is spent later");
    refundable_close(&refundable);
}

/* One set has seven accounts. */
static void a_full_set(void)
{
    bool made = refundable_init(&refundable, 1, false);
    assert(made);
    for (uint64_t key = 0; key < 7; key++)
        refundable_settle(&refundable, id_of(3, key), 10 + key, 1, 2);
    refundable_return(&refundable, id_of(3, 0), 1, 3);
    refundable_settle(&refundable, id_of(3, 7), 17, 3, 4);
    OK(refundable_tokens(&refundable, id_of(3, 0)) == 9 && refundable_tokens(&refundable, id_of(3, 7)) == 17 &&
           refundable_tokens(&refundable, id_of(3, 1)) == 0 && refundable_tokens(&refundable, id_of(3, 2)) == 12,
       "the account that was not used for longest makes room");
    OK_U64(refundable.forgotten_count, 1, "which is counted");
    for (uint64_t key = 10; key < 17; key++)
        refundable_return(&refundable, id_of(3, key), 5, 10);
    refundable_settle(&refundable, id_of(3, 10), 6, 9, 11);
    OK_U64(refundable_tokens(&refundable, id_of(3, 10)), 1, "balances below zero stay as long as others can go");
    refundable_return(&refundable, id_of(3, 10), 2, 11);
    refundable_return(&refundable, id_of(3, 20), 5, 20);
    refundable_settle(&refundable, id_of(3, 11), 8, 20, 21);
    OK_U64(refundable_tokens(&refundable, id_of(3, 11)), 0,
           "where one has to go, what was spent by then comes to nobody's account");
    refundable_settle(&refundable, id_of(3, 12), 8, 21, 22);
    OK_U64(refundable_tokens(&refundable, id_of(3, 12)), 3, "what was spent later does");
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
            refundable_settle(&refundable, id_of(k % 2, k), *old, now + 1 - BATCHES, now);
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
    drawn();
    return tap_done();
}
