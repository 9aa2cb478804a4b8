/* The sketch of frequent keys, held to the exact counts of the same streams: Zipf's, even ones, and adversaries. */
#include "base/hitters.h"

#include "base/random.h"
#include "base/zipf.h"
#include "tests/lib/tap.h"

#include <assert.h>

enum { KEYS = 5000, LENGTH = 200000 };

/* The model: how often each key occurred. */
struct exact {
    uint64_t count[KEYS];
    uint64_t total;
};

static struct exact exact, other_exact;
static struct hitters hitters, other;

/* Keys look like hashes. */
static uint64_t key_of(uint64_t number)
{
    uint64_t key = (number + 1) * 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

static void add(struct hitters *to, struct exact *model, uint64_t number)
{
    hitters_add(to, key_of(number));
    model->count[number]++;
    model->total++;
}

static void clear(void)
{
    memset(&hitters, 0, sizeof hitters);
    memset(&other, 0, sizeof other);
    memset(&exact, 0, sizeof exact);
    memset(&other_exact, 0, sizeof other_exact);
}

/* What the sketch promises, for every key of the model. Each 0 if it holds. */
struct faults {
    unsigned too_small, too_large, error_too_large, lacks_frequent, missed_too_small;
};

static struct faults compare(const struct hitters *sketch, const struct exact *model)
{
    struct faults faults = {0};
    for (uint64_t i = 0; i < KEYS; i++) {
        const struct hitter *hitter = hitters_find(sketch, key_of(i));
        const uint64_t count = model->count[i];
        if (hitter == NULL) {
            faults.lacks_frequent += count > model->total / HITTERS_MAX;
            faults.missed_too_small += count > sketch->missed;
            continue;
        }
        faults.too_small += hitter->count < count;
        faults.too_large += hitter->count - hitter->error > count;
        faults.error_too_large += hitter->error > model->total / HITTERS_MAX;
    }
    return faults;
}

static void hold(const char *what, const struct hitters *sketch, const struct exact *model)
{
    const struct faults faults = compare(sketch, model);
    OK_U64(sketch->total, model->total, "%s: the total is exact", what);
    OK(faults.too_small == 0, "%s: no count is too small", what);
    OK(faults.too_large == 0, "%s: none is too large by more than its error", what);
    OK(faults.error_too_large == 0, "%s: no error is above 1/%d of all", what, HITTERS_MAX);
    OK(faults.lacks_frequent == 0, "%s: every key above 1/%d of all is there", what, HITTERS_MAX);
    OK(faults.missed_too_small == 0, "%s: no key that is not there occurred more often than is said", what);
    OK(hitters_check(sketch), "%s: order and index are right", what);
}

static void test_zipf(double skew, uint64_t seed)
{
    struct random random;
    char what[64];
    random_seed(&random, seed);
    clear();
    struct zipf *zipf = zipf_create(KEYS, skew);
    assert(zipf != NULL);
    for (unsigned i = 0; i < LENGTH; i++)
        add(&hitters, &exact, zipf_draw(zipf, &random) % KEYS);
    zipf_destroy(&zipf);
    (void)snprintf(what, sizeof what, "Zipf %.1f", skew);
    hold(what, &hitters, &exact);
}

static void test_few(void)
{
    clear();
    for (unsigned i = 0; i < 10000; i++)
        add(&hitters, &exact, (i * i) % HITTERS_MAX);
    hold("as many keys as places", &hitters, &exact);
    OK_U64(hitters.missed, 0, "nothing is missed");
    unsigned wrong = 0;
    for (uint64_t i = 0; i < HITTERS_MAX; i++) {
        const struct hitter *hitter = hitters_find(&hitters, key_of(i));
        wrong += exact.count[i] > 0 && (hitter == NULL || hitter->error != 0 || hitter->count != exact.count[i]);
    }
    OK(wrong == 0, "and every count is exact");
}

/* One key more than places, in turn: each addition takes a place from the key that comes next. */
static void test_round(void)
{
    clear();
    for (unsigned i = 0; i < 20000; i++)
        add(&hitters, &exact, i % (HITTERS_MAX + 1));
    hold("one key too many, in turn", &hitters, &exact);
}

static void test_clashes(void)
{
    struct random random;
    random_seed(&random, 3);
    clear();
    unsigned broken = 0;
    for (unsigned i = 0; i < 50000; i++) {
        /* all keys begin at four places of the index, at its end */
        const uint64_t number = random_below(&random, 300);
        hitters_add(&hitters, number * HITTERS_INDEX + (HITTERS_INDEX - 1 - number % 4));
        broken += i % 500 == 0 && !hitters_check(&hitters);
    }
    OK(broken == 0 && hitters_check(&hitters), "keys that crowd one corner of the index are found");
}

static void test_merge(double skew, uint64_t apart)
{
    struct random random;
    random_seed(&random, 11);
    clear();
    struct zipf *zipf = zipf_create(KEYS, skew);
    assert(zipf != NULL);
    for (unsigned i = 0; i < LENGTH; i++)
        add(&hitters, &exact, zipf_draw(zipf, &random) % KEYS);
    for (unsigned i = 0; i < LENGTH / 3; i++)
        add(&other, &other_exact, (zipf_draw(zipf, &random) + apart) % KEYS);
    hitters_merge(&hitters, &other);
    for (uint64_t i = 0; i < KEYS; i++)
        exact.count[i] += other_exact.count[i];
    exact.total += other_exact.total;
    char what[64];
    (void)snprintf(what, sizeof what, "Zipf %.1f merged with one that is %llu apart", skew,
                   (unsigned long long)apart);
    hold(what, &hitters, &exact);
    for (unsigned i = 0; i < LENGTH / 4; i++)
        add(&hitters, &exact, zipf_draw(zipf, &random) % KEYS);
    zipf_destroy(&zipf);
    (void)snprintf(what, sizeof what, "%s", "and added to afterwards");
    hold(what, &hitters, &exact);
}

/* A sketch of one thread after the other, as a view of many threads makes it. */
static void test_many_merges(void)
{
    struct random random;
    random_seed(&random, 17);
    clear();
    struct zipf *zipf = zipf_create(KEYS, 0.9);
    assert(zipf != NULL);
    for (unsigned i = 0; i < 64; i++) {
        memset(&other, 0, sizeof other);
        for (unsigned k = 0; k < 1000; k++)
            add(&other, &exact, (zipf_draw(zipf, &random) + i) % KEYS);
        hitters_merge(&hitters, &other);
    }
    zipf_destroy(&zipf);
    hold("64 merged", &hitters, &exact);
}

int main(void)
{
    test_zipf(0.5, 1);
    test_zipf(0.8, 2);
    test_zipf(1.0, 3);
    test_zipf(1.3, 4);
    test_few();
    test_round();
    test_clashes();
    test_merge(1.1, 0);
    test_merge(0.7, 30);
    test_merge(1.1, 2000);
    test_many_merges();
    return tap_done();
}
