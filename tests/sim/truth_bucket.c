#include "tests/sim/truth_bucket.h"

#include <assert.h>
#include <string.h>

void truth_bucket_init(struct truth_bucket *truth, const struct limit *limit, uint64_t fast_ns, uint64_t slow_ns)
{
    memset(truth, 0, sizeof *truth);
    truth_init(&truth->now, limit, fast_ns, slow_ns);
    truth_init(&truth->late, limit, fast_ns, slow_ns);
}

void truth_bucket_refill(struct truth_bucket *truth, const struct limit *limit, uint64_t fast_ns, uint64_t slow_ns)
{
    truth_refill(&truth->now, limit, fast_ns, slow_ns);
    truth_refill(&truth->late, limit, fast_ns, slow_ns);
}

void truth_bucket_spend(struct truth_bucket *truth, const struct limit *limit, uint64_t tokens)
{
    truth_spend(&truth->now, limit, tokens);
    truth_spend(&truth->late, limit, tokens);
}

void truth_bucket_give_back(struct truth_bucket *truth, const struct limit *limit, unsigned by, int64_t sure,
                            int64_t possible, uint64_t batches)
{
    assert(by < TRUTH_RETURNERS_MAX && sure >= 0 && sure <= possible);
    truth_refund(&truth->now, limit, possible);
    int64_t room = limit->capacity_units - truth->now.low;
    truth->now.low += sure < room ? sure : room;
    truth->pending[by].units[1] += possible;
    truth->pending[by].next = batches + 1;
}

/* A return is in a batch that was closed after it. */
void truth_bucket_heard(struct truth_bucket *truth, const struct limit *limit, unsigned by, uint64_t batches)
{
    if (truth->pending[by].units[0] > 0 && batches >= truth->pending[by].mark) {
        truth_refund(&truth->late, limit, truth->pending[by].units[0]);
        truth->pending[by].units[0] = 0;
    }
    if (truth->pending[by].units[0] == 0) {
        truth->pending[by].units[0] = truth->pending[by].units[1];
        truth->pending[by].mark = truth->pending[by].next;
        truth->pending[by].units[1] = 0;
    }
}

void truth_bucket_gone(struct truth_bucket *truth, unsigned by)
{
    truth->orphans += truth->pending[by].units[0] + truth->pending[by].units[1];
    truth->pending[by].units[0] = truth->pending[by].units[1] = 0;
}

void truth_bucket_lose(struct truth_bucket *truth, const struct limit *limit, int64_t units)
{
    truth_refund(&truth->now, limit, units);
    truth_refund(&truth->late, limit, units);
}

int64_t truth_bucket_high(const struct truth_bucket *truth, bool strict)
{
    int64_t late = truth->late.high + truth->orphans;
    for (unsigned i = 0; i < TRUTH_RETURNERS_MAX; i++)
        late += truth->pending[i].units[0] + truth->pending[i].units[1];
    return strict || truth->now.high > late ? truth->now.high : late;
}
