/*
 * seeds: runs one seed or many of the simulator, and says which law broke.
 *
 * The one idea: a seed and the options of this header give a world, so a failing seed is a command to paste.
 */
#ifndef HEADGATE_TESTS_SIM_SEEDS_H
#define HEADGATE_TESTS_SIM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

struct sim;

enum { SEEDS_JOBS_MAX = 16 };

/* The words of the command of that name: see main.c. */
struct seeds_options {
    const char *program, *known, *only;
    uint64_t from, count;
    double seconds;
    unsigned jobs;
    bool verbose, trace, hash, tap, keep_going;
    bool edits, disks, odd, newer, fast, early, grants, mild, takeover, lonely, weights, homes, daemons, buckets,
        leases, rule_weights, liars, windows, limits, tiers, restarts, ticking;
};

/* Both use `sim` as their memory, print what broke, and return an exit status. */
int seeds_run_one(struct sim *sim, const struct seeds_options *options);
/* `count` seeds, or as many as fit into `seconds`. With `hash` they print one hash of all instead. */
int seeds_run_many(struct sim *sim, const struct seeds_options *options);

#endif
