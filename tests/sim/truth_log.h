/*
 * truth_log: what was really spent from one key whose every spend counts for a period, seen by nobody in the cluster.
 *
 * The one idea: two plain lists of spends in order of time. The `least` list goes by the fastest clock of the cluster
 * and lacks whatever a crash may have taken or may have been given back: what it holds must be counted. The `most`
 * list goes by the slowest and lacks only what was certainly given back: more than it holds is a spend nobody made.
 */
#ifndef HEADGATE_TESTS_SIM_TRUTH_LOG_H
#define HEADGATE_TESTS_SIM_TRUTH_LOG_H

#include <stdint.h>

enum { TRUTH_LOG_MAX = 4096 }; /* spends in a list; beyond it the oldest is gone: assert against it by `lost` */

struct truth_spend {
    uint64_t at_ns, tokens;
};

struct truth_list {
    unsigned first, count;
    struct truth_spend spend[TRUTH_LOG_MAX];
};

struct truth_log {
    struct truth_list least, most;
    struct truth_list mistaken; /* what others may take off their lists instead of what has ended there */
    uint64_t lost;              /* tokens for which there was no room: then nothing can be promised */
};

void truth_log_spend(struct truth_log *log, uint64_t tokens, uint64_t fast_ns, uint64_t slow_ns);

/* Of a spend made at those times; if it is gone already, of the newest that are there. sure <= possible. */
void truth_log_give_back(struct truth_log *log, uint64_t fast_ns, uint64_t slow_ns, uint64_t sure,
                         uint64_t possible);
/* Up to so many of the newest tokens may be known to nobody. */
void truth_log_lose(struct truth_log *log, uint64_t tokens);
/*
 * A return of so many that have ended by the fast clock. Others take off what they have when they hear of it, no later
 * than a period on, and lack it until that would have ended.
 */
void truth_log_mistake(struct truth_log *log, uint64_t tokens, uint64_t fast_ns);
void truth_log_forget(struct truth_log *log);

/* Tokens that count at this moment; `late_ns` longer than the period, for who heard of them late. */
uint64_t truth_log_least(const struct truth_log *log, uint64_t period_ns, uint64_t fast_ns);
uint64_t truth_log_most(const struct truth_log *log, uint64_t period_ns, uint64_t slow_ns, uint64_t late_ns);

#endif
