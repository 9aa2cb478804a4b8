/* A shelf and its copies, next to arrays that do the same the plain way. */
#include "rules/shelf.h"

#include "base/random.h"
#include "tests/tap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { THINGS_MAX = 4096, COPIES = 3, ROUNDS = 20000 };

struct thing {
    uint64_t number, digest;
    uint32_t references;
};

static uint32_t alive;

static void retain(void *thing)
{
    ((struct thing *)thing)->references++;
}

static void release(void *thing)
{
    struct thing *released = thing;
    assert(released->references > 0);
    if (--released->references > 0)
        return;
    alive--;
    free(released);
}

static uint64_t digest(const void *thing)
{
    return ((const struct thing *)thing)->digest;
}

static const struct shelf_kind KIND = {retain, release, digest};

static struct thing *make(struct random *random, uint64_t number)
{
    struct thing *thing = malloc(sizeof *thing);
    assert(thing);
    *thing = (struct thing){.number = number, .digest = random_u64(random), .references = 1};
    alive++;
    return thing;
}

static bool is_below(const void *context, const void *thing)
{
    return ((const struct thing *)thing)->number < *(const uint64_t *)context;
}

struct world {
    struct shelf shelf;
    size_t count;
    struct thing *thing[THINGS_MAX];
};

static bool same(const struct world *world)
{
    uint64_t sum = 0;
    size_t half = world->count / 2;
    if (world->shelf.count != world->count)
        return false;
    for (size_t i = 0; i < world->count; i++) {
        if (i == half && shelf_digest(&world->shelf, half) != sum)
            return false;
        if (shelf_at(&world->shelf, i) != world->thing[i])
            return false;
        sum ^= world->thing[i]->digest;
    }
    return shelf_digest(&world->shelf, world->count) == sum;
}

static void insert(struct world *world, struct random *random, uint64_t number)
{
    size_t at = shelf_search(&world->shelf, is_below, &number), expected = 0;
    while (expected < world->count && world->thing[expected]->number < number)
        expected++;
    assert(at == expected);
    struct thing *thing = make(random, number);
    shelf_insert(&world->shelf, at, thing);
    memmove(&world->thing[at + 1], &world->thing[at], (world->count - at) * sizeof(void *));
    world->thing[at] = thing;
    world->count++;
}

static void take_out(struct world *world, size_t at)
{
    shelf_remove(&world->shelf, at);
    world->count--;
    memmove(&world->thing[at], &world->thing[at + 1], (world->count - at) * sizeof(void *));
}

static void replace(struct world *world, struct random *random, size_t at)
{
    struct thing *thing = make(random, world->thing[at]->number);
    shelf_replace(&world->shelf, at, thing);
    world->thing[at] = thing;
}

static void change(struct world *world, struct random *random, bool grows)
{
    uint64_t what = random_below(random, 16);
    if (world->count == 0 || (what < (grows ? 12u : 4u) && world->count < THINGS_MAX))
        insert(world, random, random_below(random, 1000));
    else if (what == 15)
        replace(world, random, random_below(random, world->count));
    else
        take_out(world, random_below(random, world->count));
}

/* Each copy changes on its own from then on. */
static void test_copies(void)
{
    static struct world world[COPIES];
    struct random random;
    bool good = true;
    random_seed(&random, 1);
    for (unsigned i = 0; i < COPIES; i++)
        shelf_init(&world[i].shelf, &KIND);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned i = (unsigned)random_below(&random, COPIES), other = (unsigned)random_below(&random, COPIES);
        change(&world[i], &random, round < ROUNDS / 2);
        if (i != other && random_below(&random, 500) == 0) {
            shelf_close(&world[other].shelf);
            shelf_copy(&world[other].shelf, &world[i].shelf);
            world[other].count = world[i].count;
            memcpy(world[other].thing, world[i].thing, sizeof world[i].thing);
        }
        if (round % 100 == 0)
            for (unsigned k = 0; k < COPIES; k++)
                good &= same(&world[k]);
    }
    OK(good, "shelves that share pieces change each on its own");
    for (unsigned i = 0; i < COPIES; i++)
        shelf_close(&world[i].shelf);
    OK_U64(alive, 0, "and nothing is left over");
}

static void test_ends(void)
{
    struct world *world = calloc(1, sizeof *world);
    struct random random;
    assert(world);
    random_seed(&random, 2);
    shelf_init(&world->shelf, &KIND);
    for (uint64_t i = 0; i < 2000; i++)
        insert(world, &random, i);
    OK(same(world), "things come in their order");
    OK(world->shelf.place_count <= 2000 / SHELF_PIECE_MAX + 1, "and pieces are full then");
    for (uint64_t i = 0; i < 1000; i++)
        take_out(world, 0);
    for (uint64_t i = 0; i < 900; i++)
        take_out(world, world->count - 1);
    OK(same(world) && world->count == 100, "they go from both ends");
    for (uint64_t i = 1000; i > 0; i--)
        insert(world, &random, i - 1);
    OK(same(world), "and come backwards");
    while (world->count > 0)
        take_out(world, world->count / 2);
    OK(same(world) && world->shelf.place_count == 0, "until nothing is left");
    shelf_close(&world->shelf);
    OK_U64(alive, 0, "at all");
    free(world);
}

int main(void)
{
    test_copies();
    test_ends();
    return tap_done();
}
