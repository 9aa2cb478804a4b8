/*
 * homes gives each place to a region by lots: a region draws as many as its weight has hundredths, at least one, and
 * the highest lot of all wins. So where weights change, or a region is added, few other places move.
 */
#include "rules/homes.h"

#include "limit/limit.h"

#include <assert.h>

enum { LOTS = 100 }; /* of all regions together, about */

struct drawer {
    uint32_t number, lots;
};

/*
 * The finalizer of splitmix64, which gives no two inputs the same lot. Regions and places come from operators and keyed
 * hashes: no key is needed here.
 */
static uint64_t lot_of(uint32_t number, uint32_t place, uint32_t lot)
{
    uint64_t x = ((uint64_t)number << 32 | place << 16 | lot) + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint8_t winner(const struct drawer *drawers, uint32_t count, uint32_t place)
{
    uint64_t highest = 0;
    uint8_t best = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t lot = 0; lot < drawers[i].lots; lot++)
            if (lot_of(drawers[i].number, place, lot) > highest) {
                highest = lot_of(drawers[i].number, place, lot);
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
        const uint32_t number = limit_home_of(weights[i].region);
        homes->number[drawer_count] = number;
        drawers[drawer_count++] = (struct drawer){number, lots > 0 ? (uint32_t)lots : 1};
    }
    homes->count = drawer_count;
    for (uint32_t place = 0; place < HOME_PLACES && drawer_count > 0; place++)
        homes->place[place] = winner(drawers, drawer_count, place);
}
