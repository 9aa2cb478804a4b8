/*
 * Cat is silent, so nobody grants anything. A cost that all shares together could pay is refused for that time, and not
 * for good; a cost that they could never pay is refused for good at all times. Of a log, each share is whole tokens.
 */
#include "tests/lib/rights_world.h"

enum { CAPACITY = 100, COST = 80, SILENT_MS = 3000, TRIES = 8 };

static const struct limit_terms bucket = {.capacity = CAPACITY, .rate = 1, .period_ns = 3600000 * MS},
                                window = {.kind = LIMIT_CELL, .capacity = CAPACITY};

static bool is_for_good(const struct verdict *verdict)
{
    return !verdict->allowed && verdict->reason == VERDICT_TOO_LARGE && verdict->retry_after_ns == UINT64_MAX;
}

static void story(const char *name, const struct limit_terms *terms)
{
    const uint64_t interval_ns = world.host[ANN].options.interval_ns;
    world_links(CAT, LINK_CUT);
    world_run(SILENT_MS);
    struct verdict verdict = rights_take_at_once(ANN, name, terms, COST);
    OK(!verdict.allowed && verdict.reason == VERDICT_ISOLATION,
       "%s: a large cost is refused while a peer is silent", name);
    OK_U64(verdict.retry_after_ns, interval_ns, "... and may be tried again after an interval");
    verdict = rights_take_at_once(ANN, name, terms, CAPACITY + 1);
    OK(is_for_good(&verdict), "a cost beyond the limit is refused for good");
    world_links(CAT, LINK_FINE);
    world_run(SILENT_MS);
    verdict = rights_take_at_once(ANN, name, terms, COST);
    OK(!verdict.allowed && verdict.reason == VERDICT_SHARE && verdict.retry_after_ns < SILENT_MS * MS,
       "all are heard: it is told to come again soon");
    world_run((unsigned)(verdict.retry_after_ns / MS) + 100);
    verdict = rights_take_at_once(ANN, name, terms, COST);
    OK(verdict.allowed, "and is admitted then");
}

/* The largest cost that ever is admitted of a log, and one token more. */
static void small_log(uint64_t capacity, uint64_t most)
{
    const struct limit_terms log = {.kind = LIMIT_LOG, .capacity = capacity, .period_ns = 3600000 * MS};
    char key[32];
    (void)snprintf(key, sizeof key, "log of %u", (unsigned)capacity);
    struct verdict verdict = rights_take_at_once(ANN, key, &log, most + 1);
    OK(is_for_good(&verdict), "%s: %" PRIu64 " at once are refused for good", key, most + 1);
    verdict = rights_take_at_once(ANN, key, &log, most);
    OK(verdict.reason == VERDICT_SHARE && verdict.retry_after_ns < SILENT_MS * MS,
       "... and %" PRIu64 " only until others have granted them", most);
    for (unsigned i = 0; i < TRIES && !verdict.allowed; i++) {
        world_run(TURN_MS);
        verdict = rights_take_at_once(ANN, key, &log, most);
    }
    OK(verdict.allowed, "... which they do");
}

/* Nobody grants anything to a daemon that has none of these rights: what is above its share is so for good. */
static void alone(void)
{
    world.host[ANN].options.grants = false;
    world_crash(ANN);
    world_start(ANN);
    world_run(SILENT_MS);
    world_links(CAT, LINK_CUT);
    world_run(SILENT_MS);
    const struct verdict verdict = rights_take_at_once(ANN, "alone", &bucket, COST);
    OK(is_for_good(&verdict), "without grants a cost above the share is refused for good, whoever is heard");
}

int main(void)
{
    rights_world_init(3);
    rights_world_start();
    story("bucket", &bucket);
    story("window", &window);
    small_log(4, 3);
    small_log(5, 3);
    small_log(10, 9);
    small_log(20, 18);
    alone();
    world_close();
    return tap_done();
}
