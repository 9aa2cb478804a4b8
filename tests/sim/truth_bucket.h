/*
 * truth_bucket: what really happened to one key of a bucket whose spends are also given back.
 *
 * The one idea: a return counts from some moment between the time when it is made and the time when
 * the last peer has heard of it. `now` counts every return at once, and loses what a full bucket
 * cannot hold. `late` counts no return before everybody has heard of it, and so owes its spender
 * what the refill would have lost meanwhile. Admitted tokens are compared with the larger of the
 * two. The simulator counts how often only the larger one explains them.
 */
#ifndef HEADGATE_TESTS_SIM_TRUTH_BUCKET_H
#define HEADGATE_TESTS_SIM_TRUTH_BUCKET_H

#include "tests/sim/truth.h"

#include <stdbool.h>

enum { TRUTH_RETURNERS_MAX = 8 };

struct truth_bucket {
    struct truth now, late;
    struct {
        /*
         * [0]: returned units that all peers know once they have heard `mark` batches of the node;
         * [1]: units returned since
         */
        int64_t units[2];
        uint64_t mark, next;
    } pending[TRUTH_RETURNERS_MAX];
    int64_t orphans; /* units returned by nodes that are gone: some peers may hear of them at any time */
};

void truth_bucket_init(struct truth_bucket *truth, const struct limit *limit, uint64_t fast_ns, uint64_t slow_ns);
void truth_bucket_refill(struct truth_bucket *truth, const struct limit *limit, uint64_t fast_ns, uint64_t slow_ns);
void truth_bucket_spend(struct truth_bucket *truth, const struct limit *limit, uint64_t tokens);
/* Node `by` gave back at most `possible` and at least `sure` units. It had closed `batches` batches by then. */
void truth_bucket_give_back(struct truth_bucket *truth, const struct limit *limit, unsigned by, int64_t sure,
                            int64_t possible, uint64_t batches);
/* All peers have heard of the batches of node `by` up to number `batches`. */
void truth_bucket_heard(struct truth_bucket *truth, const struct limit *limit, unsigned by, uint64_t batches);
/* Node `by` is gone: nobody knows any more which peers have heard of its returns. */
void truth_bucket_gone(struct truth_bucket *truth, unsigned by);
/* A crash may have taken spends of `units` with it. */
void truth_bucket_lose(struct truth_bucket *truth, const struct limit *limit, int64_t units);
/* The most units that may be left; below zero is debt. `strict`: every return counts at once. */
int64_t truth_bucket_high(const struct truth_bucket *truth, bool strict);

#endif
