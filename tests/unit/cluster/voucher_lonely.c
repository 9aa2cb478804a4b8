/*
 * Cat is gone, so nothing settles, and what bob may grant comes back at his part of the refill alone. Ann asks for it
 * seldom where it decays on the way: when bob has all of it back. While her clients spend so much that nothing decays,
 * she asks again as soon as an answer is here.
 */
#include "tests/lib/rights_world.h"

enum { SILENT_MS = 2500, STEP_MS = 5, LONG_MS = 5000, ANSWER_MS = 2 * WAY_MS + 60, FULL_MS = 900, REGIONS = 3 };

static const struct limit_terms fast = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = 1000 * MS};

struct asked {
    unsigned admitted, soon, late; /* asks that came an answer after the one before, and those that waited */
    unsigned soonest_ms;           /* of those that waited */
};

static void begin(void)
{
    rights_world_init(REGIONS);
    rights_world_start();
    world_links(CAT, LINK_CUT);
    world_run(SILENT_MS);
}

/* One request each `every_ms`, for LONG_MS. */
static struct asked ask_for(const char *key, unsigned every_ms)
{
    struct asked asked = {.soonest_ms = LONG_MS};
    unsigned before_ms = 0;
    for (unsigned ms = 0; ms < LONG_MS; ms += STEP_MS) {
        const uint64_t asks = world_stats(ANN).rights_asked;
        if (ms % every_ms == 0)
            asked.admitted += rights_take(ANN, key, &fast, 1);
        world_run(STEP_MS);
        if (world_stats(ANN).rights_asked == asks)
            continue;
        const unsigned gap_ms = ms - before_ms;
        asked.soon += before_ms > 0 && gap_ms <= 2 * ANSWER_MS;
        asked.late += before_ms > 0 && gap_ms > 2 * ANSWER_MS;
        if (before_ms > 0 && gap_ms > 2 * ANSWER_MS && gap_ms < asked.soonest_ms)
            asked.soonest_ms = gap_ms;
        before_ms = ms;
    }
    return asked;
}

int main(void)
{
    begin();
    const struct asked much = ask_for("much", STEP_MS);
    OK(much.soon >= 2 * much.late, "while nothing decays she asks again: %u times soon, %u times late", much.soon,
       much.late);
    OK(much.late >= 2 && much.soonest_ms >= FULL_MS, "else when bob has all back: after %u ms", much.soonest_ms);
    const unsigned joint = LONG_MS / 10 * 2 / REGIONS + 31 * 2;
    OK(much.admitted >= joint * 17 / 20 && much.admitted <= joint, "%u tokens in five seconds, of %u", much.admitted,
       joint);
    world_run(2000);
    const struct asked little = ask_for("little", 4 * STEP_MS);
    OK(little.soon == 0 && little.late >= 2, "who spends little less asks seldom: %u times soon, %u times late",
       little.soon, little.late);
    world_close();
    return tap_done();
}
