#include "base/random.h"
#include "tests/lib/tap.h"

/* A second derivation of xoshiro256** from its published state, and of the seeding by splitmix64. */
static void reference(void)
{
    struct random random = {{1, 2, 3, 4}};
    static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
    for (unsigned i = 0; i < 4; i++)
        OK_U64(random_u64(&random), expected[i], "number %u from the state 1 2 3 4", i);
    random_seed(&random, 0);
    OK_U64(random.state[0], 0xe220a8397b1dcdafu, "splitmix64 of 0 begins the state");
    OK_U64(random.state[1], 0x6e789e6aa1b965f4u, "... and goes on");
}

static void same_seed_same_numbers(void)
{
    struct random a, b, c;
    random_seed(&a, 42);
    random_seed(&b, 42);
    random_seed(&c, 43);
    unsigned same = 0, other = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t drawn = random_u64(&a);
        same += drawn == random_u64(&b);
        other += drawn != random_u64(&c);
    }
    OK(same == 1000 && other == 1000, "one seed draws one sequence, another seed another");
}

static void ranges(void)
{
    struct random random;
    random_seed(&random, 1);
    unsigned faces[6] = {0}, outside = 0, big = 0;
    double sum = 0;
    for (int i = 0; i < 60000; i++) {
        uint64_t face = random_below(&random, 6);
        outside += face >= 6;
        faces[face % 6]++;
        double unit = random_unit(&random);
        outside += unit < 0 || unit >= 1;
        sum += unit;
        big += random_below(&random, UINT64_MAX) >= (uint64_t)1 << 63;
        outside += random_below(&random, 1) != 0;
    }
    OK_U64(outside, 0, "draws stay in their range");
    unsigned uneven = 0;
    for (int i = 0; i < 6; i++)
        uneven += faces[i] < 9500 || faces[i] > 10500;
    OK_U64(uneven, 0, "a die is even");
    OK(big > 29000 && big < 31000, "and so is the widest range");
    OK(sum > 29500 && sum < 30500, "and so is the unit");
}

int main(void)
{
    reference();
    same_seed_same_numbers();
    ranges();
    return tap_done();
}
