/*
 * one_key: worlds of even regions, 40 ms apart, with one key and listed requests of one token, for scenarios that
 * measure how much is admitted.
 *
 * The one idea: what one bucket with no cluster would have admitted of the same requests is what a scenario is
 * compared with. No law is checked: a scenario measures the overshoot.
 */
#ifndef HEADGATE_TESTS_SIM_ONE_KEY_H
#define HEADGATE_TESTS_SIM_ONE_KEY_H

#include "tests/sim/sim.h"

#include <stddef.h>
#include <stdint.h>

enum { ONE_KEY_ARRIVALS_MAX = 65536 };

struct load_list {
    struct arrival arrival[ONE_KEY_ARRIVALS_MAX];
    size_t count;
};

/* The load begins so late that everyone is active by then. */
uint64_t one_key_begin_ns(void);

/* One request, so long after the load begins. What does not fit is left out. */
void load_list_add(struct load_list *list, double seconds, unsigned node);
/* So many requests a second between two times, at random moments. */
void load_list_poisson(struct load_list *list, struct random *random, unsigned node, double rate, double from,
                       double to);
void load_list_sort(struct load_list *list);

/* A world of so many nodes, each in a region of its own, whose load lasts so long. */
void one_key_plan(struct sim *sim, unsigned nodes, const struct limit_terms *terms, unsigned load_seconds,
                  uint64_t seed);
/* What one bucket with no cluster would have admitted, in tokens. */
double one_key_ideal(const struct load_list *list, const struct limit_terms *terms);
/* Runs the world with these requests. Returns how many tokens below zero the truth was at its worst. */
double one_key_run(struct sim *sim, const struct load_list *list);

#endif
