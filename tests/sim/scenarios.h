/*
 * scenarios: the modes of the simulator that measure or search instead of running seeds, one file each.
 *
 * Each prints its figures, with `tap` as comments of a TAP program, and returns an exit status: 1 if a figure is worse
 * than the file promises.
 */
#ifndef HEADGATE_TESTS_SIM_SCENARIOS_H
#define HEADGATE_TESTS_SIM_SCENARIOS_H

#include <stdbool.h>
#include <stdint.h>

struct sim;

struct search_options {
    uint64_t from, trials;
    double seconds; /* > 0: for so long, instead of so many trials */
    bool refill;    /* of limits that refill */
    bool tap;
};
struct scenario_options {
    unsigned seeds; /* each figure is a mean of so many */
    bool grants;    /* nodes ask each other for rights */
    bool tap;
};
int scenarios_run(struct sim *sim, const struct scenario_options *options);
/* Demand that goes where rights are not, without grants and with them: with them it never gets less. */
int demand_run(struct sim *sim, unsigned seeds, bool tap);
/* What nodes know of demand that sits where the weights do not. */
int by_demand_run(struct sim *sim, unsigned seeds, bool tap);
/* What weights bring that follow demand. */
int follow_run(struct sim *sim, unsigned seeds, bool tap);
int healing_run(struct sim *sim, unsigned seeds, bool tap);
int gone_run(struct sim *sim, unsigned seeds, bool tap);
int clocks_run(struct sim *sim, unsigned seeds, bool tap);
int contention_run(struct sim *sim, unsigned seeds, bool tap);
int search_run(const struct search_options *options);
int woven_run(bool tap);
/* Holds if every two features of plans meet, and each comes without the other, within so many seeds. */
int pairs_run(unsigned seeds, bool tap);

#endif
