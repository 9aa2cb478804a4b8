/* A copy-on-write array and its copies, next to plain arrays that do the same. */
#include "rules/cow_array.h"

#include "base/random.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS_MAX = 4096, COPIES = 3, ROUNDS = 20000 };

struct item {
    uint64_t number, digest;
    uint32_t references;
};

static uint32_t alive;

static void retain(void *item)
{
    ((struct item *)item)->references++;
}

static void release(void *item)
{
    struct item *released = item;
    assert(released->references > 0);
    if (--released->references > 0)
        return;
    alive--;
    free(released);
}

static uint64_t digest(const void *item)
{
    return ((const struct item *)item)->digest;
}

static const struct cow_array_kind KIND = {retain, release, digest};

static struct item *make(struct random *random, uint64_t number)
{
    struct item *item = malloc(sizeof *item);
    assert(item);
    *item = (struct item){.number = number, .digest = random_u64(random), .references = 1};
    alive++;
    return item;
}

static bool is_below(const void *context, const void *item)
{
    return ((const struct item *)item)->number < *(const uint64_t *)context;
}

struct world {
    struct cow_array array;
    size_t count;
    struct item *item[ITEMS_MAX];
};

static bool same(const struct world *world)
{
    uint64_t sum = 0;
    size_t half = world->count / 2;
    if (world->array.count != world->count)
        return false;
    for (size_t i = 0; i < world->count; i++) {
        if (i == half && cow_array_digest(&world->array, half) != sum)
            return false;
        if (cow_array_at(&world->array, i) != world->item[i])
            return false;
        sum ^= world->item[i]->digest;
    }
    return cow_array_digest(&world->array, world->count) == sum;
}

static void insert(struct world *world, struct random *random, uint64_t number)
{
    size_t at = cow_array_search(&world->array, is_below, &number), expected = 0;
    while (expected < world->count && world->item[expected]->number < number)
        expected++;
    assert(at == expected);
    struct item *item = make(random, number);
    cow_array_insert(&world->array, at, item);
    memmove(&world->item[at + 1], &world->item[at], (world->count - at) * sizeof(void *));
    world->item[at] = item;
    world->count++;
}

static void take_out(struct world *world, size_t at)
{
    cow_array_remove(&world->array, at);
    world->count--;
    memmove(&world->item[at], &world->item[at + 1], (world->count - at) * sizeof(void *));
}

static void replace(struct world *world, struct random *random, size_t at)
{
    struct item *item = make(random, world->item[at]->number);
    cow_array_replace(&world->array, at, item);
    world->item[at] = item;
}

static void change(struct world *world, struct random *random, bool grows)
{
    uint64_t what = random_below(random, 16);
    if (world->count == 0 || (what < (grows ? 12u : 4u) && world->count < ITEMS_MAX))
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
        cow_array_init(&world[i].array, &KIND);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned i = (unsigned)random_below(&random, COPIES), other = (unsigned)random_below(&random, COPIES);
        change(&world[i], &random, round < ROUNDS / 2);
        if (i != other && random_below(&random, 500) == 0) {
            cow_array_close(&world[other].array);
            cow_array_copy(&world[other].array, &world[i].array);
            world[other].count = world[i].count;
            memcpy(world[other].item, world[i].item, sizeof world[i].item);
        }
        if (round % 100 == 0)
            for (unsigned k = 0; k < COPIES; k++)
                good &= same(&world[k]);
    }
    OK(good, "arrays that share chunks change each on its own");
    for (unsigned i = 0; i < COPIES; i++)
        cow_array_close(&world[i].array);
    OK_U64(alive, 0, "and nothing is left over");
}

static void test_ends(void)
{
    struct world *world = calloc(1, sizeof *world);
    struct random random;
    assert(world);
    random_seed(&random, 2);
    cow_array_init(&world->array, &KIND);
    for (uint64_t i = 0; i < 2000; i++)
        insert(world, &random, i);
    OK(same(world), "items come in their order");
    OK(world->array.position_count <= 2000 / COW_ARRAY_CHUNK_MAX + 1, "and chunks are full then");
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
    OK(same(world) && world->array.position_count == 0, "until nothing is left");
    cow_array_close(&world->array);
    OK_U64(alive, 0, "at all");
    free(world);
}

int main(void)
{
    test_copies();
    test_ends();
    return tap_done();
}
