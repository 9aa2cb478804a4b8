/*
 * voucher_habit keeps an average for each limit, in which the newest ask counts for three quarters: most bursts are
 * like the last one. Another average, of all limits, changes less quickly.
 */
#include "cluster/spend/voucher_habit.h"

#include "base/number.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_times.h"
#include "limit/kind.h"

enum {
    PARTS = 4,
    NEWEST_PARTS = 3,        /* of a limit's habit */
    NEWEST_PARTS_OF_ALL = 1, /* of the habit that limits begin with */
    LATE_PART = 4, /* of what others could grant: when so much has been refilled since the answer, it is late */
    MOST_PART = 4, /* when all but such a part has come, all come back, and the ask need not be over to be noted */
};

__extension__ typedef __int128 wide;

/*
 * With nothing known, clients are taken to come back. Of a limit that fills while a voucher lives, what waits for them
 * decays: there they are taken to stay away.
 */
static uint32_t unknown_part(const struct node *node, uint16_t limit)
{
    const struct limit *of = &node->limits.limit[limit];
    const bool is_fast = kind_refills(of->kind) && limit_refill_ns(of, of->capacity_units) <= VOUCHER_LIFE_NS;
    return is_fast ? 0 : HABIT_ONE;
}

static uint32_t present_part(const struct node *node, uint16_t limit)
{
    const struct habit *habit = &node->rights.habit[limit % RIGHTS_HABITS], *of_all = &node->rights.of_all;
    if (habit->known)
        return habit->present;
    return of_all->known ? of_all->present : unknown_part(node, limit);
}

/* The newest sample counts for so many parts, and the first one of all for the whole: nothing else is known. */
static struct habit averaged(uint32_t former, uint32_t sample, uint32_t newest_parts)
{
    const uint32_t present = (former * (PARTS - newest_parts) + sample * newest_parts) / PARTS;
    return (struct habit){.known = true, .present = (uint16_t)present};
}

void voucher_habit_note(struct node *node, uint16_t limit, struct voucher_ask *ask)
{
    struct rights *rights = &node->rights;
    if (ask->expected > 0) {
        const uint32_t sample = (uint32_t)((wide)ask->came * HABIT_ONE / ask->expected);
        const uint32_t of_all = rights->of_all.known ? rights->of_all.present : sample,
                       of_limit = rights->of_all.known ? present_part(node, limit) : sample;
        rights->habit[limit % RIGHTS_HABITS] = averaged(of_limit, sample, NEWEST_PARTS);
        rights->of_all = averaged(of_all, sample, NEWEST_PARTS_OF_ALL);
    }
    ask->expected = ask->came = 0;
}

/*
 * Tokens that wait for a client decay, and are missing where other clients come at once. So who comes long after the
 * answer does not come for them, be it that a bucket lacks enough for them not to decay.
 */
void voucher_habit_expect(const struct node *node, uint16_t limit, struct voucher_ask *ask, int64_t expected,
                          int64_t others)
{
    const struct limit *of = &node->limits.limit[limit];
    const int64_t grantable = others > 0 && others < expected ? others : expected;
    const uint64_t waits_ns = kind_refills(of->kind) ? limit_refill_ns(of, grantable / LATE_PART) : VOUCHER_IDLE_NS;
    ask->expected = expected;
    ask->came = 0;
    ask->late_ns = ask->asked_ns + number_least(number_sum(voucher_answer_ns(node), waits_ns), VOUCHER_IDLE_NS);
}

/* Whoever comes before an ask can be answered, or too late, does not come for its tokens. */
void voucher_habit_came(struct node *node, struct voucher *voucher, int64_t units, uint64_t now_ns)
{
    for (unsigned a = VOUCHER_ASKS; a-- > 0;) {
        struct voucher_ask *ask = &voucher->ask[a];
        const uint64_t age_ns = number_minus(now_ns, ask->asked_ns);
        if (ask->number == 0 || age_ns < voucher_answer_ns(node) / 4 * 3)
            continue;
        const int64_t missing = ask->expected - ask->came;
        if (missing <= 0 || now_ns > ask->late_ns)
            return;
        ask->came += units < missing ? units : missing;
        if (ask->came < ask->expected - ask->expected / MOST_PART)
            return;
        ask->came = ask->expected;
        voucher_habit_note(node, voucher->limit, ask);
        return;
    }
}

void voucher_habit_note_all(struct node *node, struct voucher *voucher)
{
    for (unsigned a = 0; a < VOUCHER_ASKS; a++)
        voucher_habit_note(node, voucher->limit, &voucher->ask[a]);
}

void voucher_habit_note_over(struct node *node, struct voucher *voucher)
{
    const uint64_t least_ns = 2 * voucher_answer_ns(node);
    for (unsigned a = 0; a < VOUCHER_ASKS; a++) {
        struct voucher_ask *ask = &voucher->ask[a];
        const uint64_t age_ns = number_minus(node->now_ns, ask->asked_ns);
        if (age_ns > least_ns && node->now_ns > ask->late_ns)
            voucher_habit_note(node, voucher->limit, ask);
    }
}

bool voucher_habit_is_unknown(const struct node *node, uint16_t limit)
{
    return !node->rights.of_all.known && unknown_part(node, limit) > 0 && !node->options.grants_eager;
}

int64_t voucher_habit_expected(const struct node *node, uint16_t limit, int64_t units)
{
    if (node->options.grants_eager)
        return units;
    return (int64_t)((wide)units * present_part(node, limit) / HABIT_ONE);
}
