#include "edge/pace.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void pace_worked(struct pace *pace, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t rested_ns = from_ns > pace->at_ns ? from_ns - pace->at_ns : 0;
    uint64_t work_ns = least(to_ns > from_ns ? to_ns - from_ns : 0, PACE_OWED_MAX_NS);
    pace->owed_ns -= least(rested_ns, pace->owed_ns);
    pace->owed_ns = least(pace->owed_ns + PACE_REST * work_ns, PACE_OWED_MAX_NS);
    pace->at_ns = to_ns;
}

uint64_t pace_next_ns(const struct pace *pace)
{
    return pace->at_ns + (pace->owed_ns > PACE_OWED_FREE_NS ? pace->owed_ns - PACE_OWED_FREE_NS : 0);
}
