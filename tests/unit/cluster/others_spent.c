#include "cluster/state/others_spent.h"
#include "tests/lib/draw.h"
#include "tests/lib/tap.h"

enum { MOST = 1000, SOME_KEYS = 24, MEMBERS = 3, CHANGES = 20000 };

static struct others_spent spent;

static struct spender spender_of(uint64_t key, uint16_t limit, uint8_t member)
{
    return (struct spender){.id = {.high = key * UINT64_C(0x9e3779b97f4a7c15), .low = key},
                            .limit = limit,
                            .member = member};
}

/* All of these share a set. */
static struct spender crowded(uint64_t key, uint8_t member)
{
    return (struct spender){.id = {.high = 0, .low = key}, .member = member};
}

static void change(struct spender spender, int64_t more)
{
    others_spent_change(&spent, &spender, more, MOST);
}

static int64_t units(struct spender spender)
{
    return others_spent_units(&spent, &spender);
}

static void begin(void)
{
    OK(others_spent_init(&spent, 1000, 7), "accounts for 1000 keys");
}

static void one_account(void)
{
    begin();
    const struct spender one = spender_of(1, 0, 0);
    OK_I64(units(one), 0, "nobody has spent anything");
    change(one, 10);
    change(one, 5);
    OK_I64(units(one), 15, "spends add up");
    change(one, -4);
    OK_I64(units(one), 11, "returns are taken off");
    change(one, -40);
    OK_I64(units(one), 0, "and leave nothing, not less");
    change(one, 7);
    OK_I64(units(one), 7, "it begins anew");
    change(one, INT64_MAX);
    OK_I64(units(one), MOST, "there is a most");
    change(one, INT64_MIN);
    OK_I64(units(one), 0, "and a least");
    others_spent_close(&spent);
}

static void each_its_own(void)
{
    begin();
    change(spender_of(1, 0, 0), 1);
    change(spender_of(2, 0, 0), 2);
    change(spender_of(1, 3, 0), 3);
    change(spender_of(1, 0, 4), 4);
    OK(units(spender_of(1, 0, 0)) == 1 && units(spender_of(2, 0, 0)) == 2 && units(spender_of(1, 3, 0)) == 3 &&
           units(spender_of(1, 0, 4)) == 4,
       "keys, limits and members have accounts of their own");
    others_spent_close(&spent);
}

static void whom_a_flood_hurts(void)
{
    begin();
    change(crowded(1, 1), 10);
    change(crowded(2, 1), 20);
    for (uint64_t key = 100; key < 200; key++)
        change(crowded(key, 2), 1);
    OK(units(crowded(1, 1)) == 10 && units(crowded(2, 1)) == 20,
       "of a set that one member floods, no account of another one is forgotten");
    OK_I64(units(crowded(199, 2)), 1, "its own newest account is there");
    OK_I64(units(crowded(100, 2)), 0, "its oldest one is not");
    others_spent_close(&spent);
}

/* The model forgets nothing, so an account may have less, and never more. */
static void by_a_model(void)
{
    static int64_t model[SOME_KEYS][MEMBERS];
    struct random random;
    uint64_t kept = 0, known = 0;
    bool bounded = true, sound = true;
    random_seed(&random, 5);
    begin();
    for (unsigned i = 0; i < CHANGES; i++) {
        const uint64_t key = below(&random, SOME_KEYS);
        const uint8_t member = (uint8_t)below(&random, MEMBERS);
        const struct spender who = crowded(key, member);
        const int64_t more = (int64_t)below(&random, 200) - 100;
        int64_t *all = &model[key][member];
        const int64_t before = units(who);
        change(who, more);
        *all = *all + more > MOST ? MOST : *all + more < 0 ? 0 : *all + more;
        bounded &= units(who) <= *all;
        sound &= units(who) == (before + more > MOST ? MOST : before + more < 0 ? 0 : before + more);
        known += *all > 0;
        kept += units(who) > 0;
    }
    OK(bounded, "no account has more than was spent and not given back");
    OK(sound, "a change changes its own account by that");
    OK(kept > 0 && kept < known, "some of them are forgotten: %" PRIu64 " of %" PRIu64 " are there", kept, known);
    others_spent_close(&spent);
}

int main(void)
{
    one_account();
    each_its_own();
    whom_a_flood_hurts();
    by_a_model();
    return tap_done();
}
