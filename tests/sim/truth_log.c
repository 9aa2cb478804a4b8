#include "tests/sim/truth_log.h"

#include <assert.h>

static struct truth_spend *at(struct truth_list *list, unsigned i)
{
    return &list->spend[(list->first + i) % TRUTH_LOG_MAX];
}

static uint64_t add(struct truth_list *list, struct truth_spend spend)
{
    uint64_t lost = 0;
    if (list->count == TRUTH_LOG_MAX) {
        lost = at(list, 0)->tokens;
        list->first = (list->first + 1) % TRUTH_LOG_MAX;
        list->count--;
    }
    list->mixed |= list->count > 0 && spend.at_ns < at(list, list->count - 1)->at_ns;
    *at(list, list->count++) = spend;
    return lost;
}

void truth_log_spend(struct truth_log *log, uint64_t tokens, uint64_t fast_ns, uint64_t slow_ns)
{
    (void)add(&log->least, (struct truth_spend){fast_ns, tokens});
    log->lost += add(&log->most, (struct truth_spend){slow_ns, tokens});
}

static uint64_t take(struct truth_spend *spend, uint64_t tokens)
{
    uint64_t taken = tokens < spend->tokens ? tokens : spend->tokens;
    spend->tokens -= taken;
    return tokens - taken;
}

static void take_newest(struct truth_list *list, uint64_t tokens)
{
    for (unsigned i = list->count; i > 0 && tokens > 0; i--)
        tokens = take(at(list, i - 1), tokens);
}

/* What was spent at that time first, then the newest. */
static void take_made_at(struct truth_list *list, uint64_t at_ns, uint64_t tokens)
{
    for (unsigned i = list->count; i > 0 && tokens > 0; i--)
        if (at(list, i - 1)->at_ns == at_ns)
            tokens = take(at(list, i - 1), tokens);
    take_newest(list, tokens);
}

void truth_log_give_back(struct truth_log *log, uint64_t fast_ns, uint64_t slow_ns, uint64_t sure,
                         uint64_t possible)
{
    assert(sure <= possible);
    take_made_at(&log->least, fast_ns, possible);
    take_made_at(&log->most, slow_ns, sure);
}

void truth_log_lose(struct truth_log *log, uint64_t tokens)
{
    take_newest(&log->least, tokens);
}

void truth_log_mistake(struct truth_log *log, uint64_t tokens, uint64_t fast_ns)
{
    log->lost += add(&log->mistaken, (struct truth_spend){fast_ns, tokens});
}

void truth_log_forget(struct truth_log *log)
{
    log->least.count = 0;
}

/* From the newest on: behind one that has ended, all have, as long as each was later than the one before. */
static uint64_t count(const struct truth_list *list, uint64_t period_ns, uint64_t now_ns)
{
    uint64_t tokens = 0;
    for (unsigned i = list->count; i > 0; i--) {
        const struct truth_spend *spend = &list->spend[(list->first + i - 1) % TRUTH_LOG_MAX];
        if (spend->at_ns + period_ns > now_ns)
            tokens += spend->tokens;
        else if (!list->mixed)
            break;
    }
    return tokens;
}

uint64_t truth_log_least(const struct truth_log *log, uint64_t period_ns, uint64_t ahead_ns, uint64_t more,
                         uint64_t fast_ns)
{
    uint64_t tokens = count(&log->least, period_ns, fast_ns) + more,
             mistaken = count(&log->mistaken, 2 * period_ns + ahead_ns, fast_ns);
    return tokens > mistaken ? tokens - mistaken : 0;
}

uint64_t truth_log_most(const struct truth_log *log, uint64_t period_ns, uint64_t slow_ns, uint64_t late_ns)
{
    return count(&log->most, period_ns + late_ns, slow_ns);
}
