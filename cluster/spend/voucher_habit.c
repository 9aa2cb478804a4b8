/*
 * voucher_habit keeps an average for each limit, in which the newest ask counts for three quarters: most bursts are
 * like the last one. Another average, of all limits, changes less quickly.
 */
#include "cluster/spend/voucher_habit.h"

#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_places.h"

enum {
    PARTS = 4,
    NEWEST_PARTS = 3,        /* of a limit's habit */
    NEWEST_PARTS_OF_ALL = 1, /* of the habit that limits begin with */
    MOST_PART = 4, /* when all but such a part has come, all come back, and the ask need not be over to be noted */
};

__extension__ typedef __int128 wide;

static uint32_t present_part(const struct rights *rights, uint16_t limit)
{
    const struct habit *habit = &rights->habit[limit % RIGHTS_HABITS];
    if (habit->known)
        return habit->present;
    return rights->of_all.known ? rights->of_all.present : HABIT_ONE;
}

/* The newest sample counts for so many of four parts, and the first one of all for the whole: nothing else is known. */
static uint16_t averaged(uint32_t former, uint32_t sample, uint32_t newest_parts)
{
    return (uint16_t)((former * (PARTS - newest_parts) + sample * newest_parts) / PARTS);
}

static void note(struct rights *rights, uint16_t limit, struct voucher_ask *ask)
{
    if (ask->expected > 0) {
        const uint32_t sample = (uint32_t)((wide)ask->came * HABIT_ONE / ask->expected);
        const uint32_t former = rights->of_all.known ? present_part(rights, limit) : sample;
        rights->habit[limit % RIGHTS_HABITS] = (struct habit){true, averaged(former, sample, NEWEST_PARTS)};
        const uint32_t of_all = rights->of_all.known ? rights->of_all.present : sample;
        rights->of_all = (struct habit){true, averaged(of_all, sample, NEWEST_PARTS_OF_ALL)};
    }
    ask->expected = ask->came = 0;
}

/* Whoever comes before an ask can be answered, or when its tokens have decayed, does not come for them. */
void voucher_habit_came(struct node *node, struct voucher *voucher, int64_t units, uint64_t now_ns)
{
    for (unsigned a = VOUCHER_ASKS; a-- > 0;) {
        struct voucher_ask *ask = &voucher->ask[a];
        const uint64_t age_ns = voucher_since_ns(ask->asked_ns, now_ns);
        if (ask->number == 0 || age_ns < voucher_answer_ns(node) / 4 * 3)
            continue;
        int64_t left = ask->expected - voucher_refilled_units(&node->limits.limit[voucher->limit], age_ns);
        if (ask->came >= left || age_ns > VOUCHER_IDLE_NS)
            return;
        ask->came += units < left - ask->came ? units : left - ask->came;
        if (ask->came < left - left / MOST_PART)
            return;
        ask->came = ask->expected;
        note(&node->rights, voucher->limit, ask);
        return;
    }
}

void voucher_habit_note(struct node *node, uint16_t limit, struct voucher_ask *ask)
{
    note(&node->rights, limit, ask);
}

void voucher_habit_note_over(struct node *node, struct voucher *voucher)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const uint64_t least_ns = 2 * voucher_answer_ns(node);
    for (unsigned a = 0; a < VOUCHER_ASKS; a++) {
        struct voucher_ask *ask = &voucher->ask[a];
        const uint64_t age_ns = voucher_since_ns(ask->asked_ns, node->now_ns);
        if (age_ns > least_ns &&
            (age_ns > VOUCHER_IDLE_NS || ask->expected <= voucher_refilled_units(limit, age_ns)))
            note(&node->rights, voucher->limit, ask);
    }
}

int64_t voucher_habit_expected(const struct node *node, uint16_t limit, int64_t units)
{
    if (node->options.grants_eager)
        return units;
    return (int64_t)((wide)units * present_part(&node->rights, limit) / HABIT_ONE);
}
