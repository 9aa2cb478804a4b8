/*
 * homes gives each slot to a home by lots: a home draws as many as its weight has hundredths, at least one, and the
 * highest lot of all wins. So where weights change, or a home is added, few other slots move.
 */
#include "rules/homes.h"

#include "limit/limit.h"

#include <assert.h>

enum { LOTS = 100 }; /* of all homes together, about */

struct drawer {
    uint64_t number;
    uint32_t lots;
};

/*
 * The finalizer of splitmix64, which gives no two inputs the same lot. Homes and slots come from operators and keyed
 * hashes: no key is needed here. Numbers of regions have 32 bits; what more those of daemons have is mixed in before.
 */
static uint64_t lot_of(uint64_t number, uint32_t slot, uint32_t lot)
{
    uint64_t x = ((number << 32 | slot << 16 | lot) ^ (number >> 32) * 0xd6e8feb86659fd93u) + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint8_t winner(const struct drawer *drawers, uint32_t count, uint32_t slot)
{
    uint64_t highest = 0;
    uint8_t best = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t lot = 0; lot < drawers[i].lots; lot++)
            if (lot_of(drawers[i].number, slot, lot) > highest) {
                highest = lot_of(drawers[i].number, slot, lot);
                best = (uint8_t)i;
            }
    return best;
}

void homes_init(struct homes *homes, const struct home_weight *weights, uint32_t count)
{
    struct drawer drawers[HOMES_MAX] = {0};
    uint32_t drawer_count = 0;
    uint64_t sum = 0;
    assert(count <= HOMES_MAX);
    *homes = (struct homes){.count = 0};
    for (uint32_t i = 0; i < count; i++)
        sum += weights[i].weight;
    for (uint32_t i = 0; i < count; i++) {
        if (weights[i].weight == 0)
            continue;
        const uint64_t lots = (weights[i].weight * LOTS + sum / 2) / sum;
        const uint64_t number = limit_home_named(weights[i].home);
        homes->number[drawer_count] = number;
        drawers[drawer_count++] = (struct drawer){number, lots > 0 ? (uint32_t)lots : 1};
    }
    homes->count = drawer_count;
    for (uint32_t slot = 0; slot < HOME_SLOTS && drawer_count > 0; slot++)
        homes->slot[slot] = winner(drawers, drawer_count, slot);
}

void homes_init_list(struct homes *homes, struct bytes list)
{
    struct home_weight weights[HOMES_MAX];
    uint32_t count = 0;
    while (home_next(&list, &weights[count].home)) {
        weights[count++].weight = 1;
        if (count == HOMES_MAX)
            break;
    }
    assert(list.size == 0 && "the list has more homes than a rule may have");
    homes_init(homes, weights, count);
}
