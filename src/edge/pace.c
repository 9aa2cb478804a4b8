#include "edge/pace.h"

static uint64_t paid_ns(uint64_t rest_ns, bool asked)
{
    if (rest_ns >= PACE_OWED_MAX_NS)
        return PACE_OWED_MAX_NS;
    return asked ? rest_ns : PACE_REST * rest_ns;
}

void pace_worked(struct pace *pace, uint64_t from_ns, uint64_t to_ns, bool asked)
{
    uint64_t paid = paid_ns(from_ns > pace->at_ns ? from_ns - pace->at_ns : 0, asked);
    uint64_t work_ns = to_ns > from_ns ? to_ns - from_ns : 0;
    work_ns = work_ns < PACE_OWED_MAX_NS ? work_ns : PACE_OWED_MAX_NS;
    pace->owed_ns = paid < pace->owed_ns ? pace->owed_ns - paid : 0;
    pace->owed_ns += PACE_REST * work_ns;
    pace->owed_ns = pace->owed_ns < PACE_OWED_MAX_NS ? pace->owed_ns : PACE_OWED_MAX_NS;
    pace->at_ns = to_ns;
}

uint64_t pace_next_ns(const struct pace *pace, bool asked)
{
    uint64_t rest_ns = pace->owed_ns > PACE_OWED_FREE_NS ? pace->owed_ns - PACE_OWED_FREE_NS : 0;
    return pace->at_ns + (asked ? rest_ns : (rest_ns + PACE_REST - 1) / PACE_REST);
}
