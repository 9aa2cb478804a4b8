/*
 * truth_log: what was really spent from one key each of whose spends counts for a period. No node
 * of the cluster sees it.
 *
 * The one idea: two plain lists of spends in order of time. The `least` list goes by the fastest
 * clock of the cluster and lacks everything that a crash may have taken or that may have been given
 * back: its spends must be counted. The `most` list goes by the slowest clock and lacks only spends
 * that were certainly given back: if a node sees more than that, it sees a spend that nobody made.
 */
#ifndef HEADGATE_TESTS_SIM_TRUTH_LOG_H
#define HEADGATE_TESTS_SIM_TRUTH_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum { TRUTH_LOG_MAX = 4096 }; /* spends in a list; a further spend drops the oldest one, and `lost` says so */

struct truth_spend {
    uint64_t at_ns, tokens;
};

struct truth_list {
    unsigned first, count;
    bool mixed; /* some spend was noted after a later one */
    struct truth_spend spend[TRUTH_LOG_MAX];
};

struct truth_log {
    struct truth_list least, most;
    /* spends that peers may take off their lists in place of spends that have ended there */
    struct truth_list mistaken;
    uint64_t lost; /* tokens for which a list had no room: the laws hold only while this is 0 */
};

void truth_log_spend(struct truth_log *log, uint64_t tokens, uint64_t fast_ns, uint64_t slow_ns);

/*
 * Gives back tokens of a spend that was made at these times; if that spend is gone, of the newest
 * spends. sure <= possible.
 */
void truth_log_give_back(struct truth_log *log, uint64_t fast_ns, uint64_t slow_ns, uint64_t sure,
                         uint64_t possible);
/* Nobody may know of up to `tokens` of the newest tokens. */
void truth_log_lose(struct truth_log *log, uint64_t tokens);
/*
 * Notes a return of `tokens` that have ended by the fast clock. Peers that hear of it, at most a
 * period later, take off other spends in their place, and lack those spends until they would have
 * ended.
 */
void truth_log_mistake(struct truth_log *log, uint64_t tokens, uint64_t fast_ns);
void truth_log_forget(struct truth_log *log);

/*
 * The tokens that count now. `ahead_ns`, `more`: what is taken off by mistake may be tokens that are granted, count
 * from so much later on, and are not spent, `more` of them at most. `late_ns`: spends count for so much longer than the
 * period, at peers that heard of them late.
 */
uint64_t truth_log_least(const struct truth_log *log, uint64_t period_ns, uint64_t ahead_ns, uint64_t more,
                         uint64_t fast_ns);
uint64_t truth_log_most(const struct truth_log *log, uint64_t period_ns, uint64_t slow_ns, uint64_t late_ns);

#endif
