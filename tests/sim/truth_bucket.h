/*
 * truth_bucket: what really happened to one key of a bucket from which spends are also given back.
 *
 * The one idea: a spend that is given back counts as of some moment between its return and the moment when the last
 * peer has heard of it. `now` takes every return at once, and loses what a full bucket cannot hold; `late` takes
 * none before everybody has heard of it, and so owes its spender what the refill would have lost meanwhile. What is
 * admitted is held against the later of the two; how often only that explains it is counted.
 */
#ifndef HEADGATE_TESTS_SIM_TRUTH_BUCKET_H
#define HEADGATE_TESTS_SIM_TRUTH_BUCKET_H

#include "tests/sim/truth.h"

#include <stdbool.h>

enum { TRUTH_RETURNERS_MAX = 8 };

struct truth_bucket {
    struct truth now, late;
    struct {
        int64_t units[2]; /* returned by that node, heard of by all no later than the second's mark; since then */
        uint64_t mark, next;
    } pending[TRUTH_RETURNERS_MAX];
    int64_t orphans; /* returned by who is gone: some may hear of it, at any time */
};

void truth_bucket_init(struct truth_bucket *truth, const struct limit *limit, uint64_t fast_ns, uint64_t slow_ns);
void truth_bucket_refill(struct truth_bucket *truth, const struct limit *limit, uint64_t fast_ns, uint64_t slow_ns);
void truth_bucket_spend(struct truth_bucket *truth, const struct limit *limit, uint64_t tokens);
/* Node `by` gave back at most `possible`, at least `sure` units; it had closed so many batches by then. */
void truth_bucket_give_back(struct truth_bucket *truth, const struct limit *limit, unsigned by, int64_t sure,
                            int64_t possible, uint64_t batches);
/* All have heard of that node's batches up to that number. */
void truth_bucket_heard(struct truth_bucket *truth, const struct limit *limit, unsigned by, uint64_t batches);
/* That node is gone: who knows who has heard of what it returned. */
void truth_bucket_gone(struct truth_bucket *truth, unsigned by);
/* A crash may have taken so much with it. */
void truth_bucket_lose(struct truth_bucket *truth, const struct limit *limit, int64_t units);
/* The most that may be left: units, below zero is debt. `strict`: every return counts at once. */
int64_t truth_bucket_high(const struct truth_bucket *truth, bool strict);

#endif
