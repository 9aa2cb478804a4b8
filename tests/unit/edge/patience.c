/* Patience counts the time in which the process ran: a pause counts as one slice, however long it lasts. */
#include "edge/process/patience.h"
#include "tests/lib/tap.h"

enum { SLICES = 50 };
#define HOUR_NS ((uint64_t)3600 * 1000000000)

/* Looks as the waiter does, each time for as long as it was told. Returns the time at which the patience is over. */
static uint64_t wait_out(struct patience *patience, uint64_t now_ns)
{
    for (uint64_t wait_ns; (wait_ns = patience_look(patience, now_ns)) > 0;)
        now_ns += wait_ns;
    return now_ns;
}

int main(void)
{
    const uint64_t all_ns = SLICES * PATIENCE_SLICE_NS + 7;
    struct patience patience = patience_begin(all_ns, 1000);
    OK_U64(wait_out(&patience, 1000), 1000 + all_ns,
           "a process that runs waits for exactly as long as it was told");
    OK_U64(patience_look(&patience, 1000 + HOUR_NS), 0, "and no longer");

    patience = patience_begin(all_ns, 0);
    OK_U64(patience_look(&patience, 3), PATIENCE_SLICE_NS, "it looks again within a slice");
    OK_U64(patience_look(&patience, HOUR_NS), PATIENCE_SLICE_NS, "an hour's pause");
    OK_U64(patience.left_ns, all_ns - 3 - PATIENCE_SLICE_NS, "... has taken a slice");
    OK_U64(wait_out(&patience, HOUR_NS), HOUR_NS + all_ns - 3 - PATIENCE_SLICE_NS, "... and the rest is there");

    unsigned looks = 1;
    patience = patience_begin(all_ns, 0);
    for (uint64_t now_ns = HOUR_NS; patience_look(&patience, now_ns) > 0; now_ns += HOUR_NS)
        looks++;
    OK_U64(looks, SLICES + 1, "who is paused all the time has as many looks as there are slices");
    return tap_done();
}
