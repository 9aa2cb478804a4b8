#include "base/bits.h"
#include "base/random.h"
#include "tests/lib/tap.h"

static unsigned count_one_by_one(uint64_t bits)
{
    unsigned count = 0;
    for (; bits != 0; bits >>= 1)
        count += bits & 1;
    return count;
}

int main(void)
{
    struct random random;
    uint64_t wrong = 0;
    OK_U64(bits_count(0), 0, "none");
    OK_U64(bits_count(UINT64_MAX), 64, "all");
    for (unsigned bit = 0; bit < 64; bit++)
        wrong += bits_count((uint64_t)1 << bit) != 1 || bits_count(~((uint64_t)1 << bit)) != 63;
    OK_U64(wrong, 0, "each alone, and all others");
    random_seed(&random, 1);
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = random_u64(&random);
        bits &= random_u64(&random); /* fewer than half, too */
        wrong += bits_count(bits) != count_one_by_one(bits);
    }
    OK_U64(wrong, 0, "any");
    return tap_done();
}
