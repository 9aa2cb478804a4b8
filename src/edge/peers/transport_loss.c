#include "edge/peers/transport_loss.h"

#include "edge/peers/transport.h"

enum {
    SEGMENTS_LEAST = 8, /* fewer since the last look: it says nothing yet */
    BAD_LOOKS = 3,      /* of BAD_AMONG */
    BAD_AMONG = 8,
    GOOD_LOOKS_BAD = 2, /* of 64 */
    LONELY_LOOKS = 40,  /* a handshake over such a link may take long */
};

static int count_of(uint64_t bits)
{
    return __builtin_popcountll(bits);
}

bool loss_look(struct loss *loss, uint32_t connection, const struct arrivals *arrivals)
{
    if (loss->connection != connection) {
        loss->connection = connection;
        loss->seen = *arrivals;
        return loss->loses;
    }
    /* The kernel's counters have 32 bits. */
    const uint32_t segments = arrivals->segments - loss->seen.segments;
    if (segments < SEGMENTS_LEAST)
        return loss->loses;
    loss->looks = loss->looks << 1 | (arrivals->disordered != loss->seen.disordered);
    loss->seen = *arrivals;
    if (count_of(loss->looks & ((1u << BAD_AMONG) - 1)) >= BAD_LOOKS)
        loss->loses = true;
    else if (count_of(loss->looks) <= GOOD_LOOKS_BAD)
        loss->loses = false;
    return loss->loses;
}

uint32_t loss_lanes(uint64_t links)
{
    const uint64_t each = TRANSPORT_LANES_MAX / (links + 1);
    if (each < 1)
        return 1;
    return each < TRANSPORT_LANES ? (uint32_t)each : TRANSPORT_LANES;
}

/* A connection that is refused is made again and again, and none of them is there for two looks. */
bool loss_lane_is_refused(struct loss_lane *lane, uint32_t connection, bool first_has_one)
{
    const bool lasts = connection != 0 && connection == lane->connection;
    lane->connection = connection;
    lane->lonely = lasts || !first_has_one ? 0 : lane->lonely + 1;
    return lane->lonely >= LONELY_LOOKS;
}
