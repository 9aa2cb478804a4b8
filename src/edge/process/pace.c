#include "edge/process/pace.h"

#include "base/number.h"

void pace_worked(struct pace *pace, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t rested_ns = number_minus(from_ns, pace->at_ns);
    uint64_t work_ns = number_least(number_minus(to_ns, from_ns), PACE_OWED_MAX_NS);
    pace->owed_ns -= number_least(rested_ns, pace->owed_ns);
    pace->owed_ns = number_least(pace->owed_ns + PACE_REST * work_ns, PACE_OWED_MAX_NS);
    pace->at_ns = to_ns;
}

uint64_t pace_next_ns(const struct pace *pace)
{
    return pace->at_ns + (pace->owed_ns > PACE_OWED_FREE_NS ? pace->owed_ns - PACE_OWED_FREE_NS : 0);
}

uint64_t pace_begin(struct pace *pace, uint64_t now_ns, bool served)
{
    if (!served) {
        pace->waits_from_ns = 0;
        return now_ns;
    }
    if (pace->waits_from_ns == 0)
        pace->waits_from_ns = now_ns;
    uint64_t waited_ns = number_minus(now_ns, pace->waits_from_ns);
    if (waited_ns < PACE_LULL_NS)
        return 0;
    pace->waits_from_ns = now_ns + number_least(waited_ns / PACE_REST, PACE_GO_NS);
    return pace->waits_from_ns;
}

void pace_has_none(struct pace *pace)
{
    pace->waits_from_ns = 0;
}
