/*
 * A peer that is late: the asker has asked again, more often than it keeps asks, when the first answer comes. What was
 * granted is not lost. And a request that may not overtake those who wait is not refused for what they leave of a
 * voucher.
 */
#include "cluster/spend/voucher_places.h"
#include "cluster/state/node_state.h"
#include "tests/lib/rights_world.h"

enum { LATE_MS = 1200, POLL_MS = 20, POLLS_MAX = 100 };

/* Ann polls until she is admitted; returns how often. */
static unsigned polls_of(const char *key, const struct limit_terms *terms, uint64_t cost)
{
    for (unsigned polls = 1; polls < POLLS_MAX; polls++) {
        if (rights_take_at_once(ANN, key, terms, cost).allowed)
            return polls;
        world_run(POLL_MS);
    }
    return POLLS_MAX;
}

static void delay(unsigned ms)
{
    for (unsigned i = BOB; i <= CAT; i++)
        world.link[i][ANN].delay_ns = ms * MS;
}

static void late_answers(const char *name, const struct limit_terms *terms)
{
    rights_world_init(3);
    rights_world_start();
    delay(LATE_MS);
    const unsigned polls = polls_of("late", terms, 90);
    delay(WAY_MS);
    OK(world_stats(ANN).rights_asked > VOUCHER_ASKS, "%s: ann asks more often than she keeps asks", name);
    OK(polls * POLL_MS < LATE_MS + 200, "%s: she is admitted when the first answers are here, after %u ms", name,
       polls * POLL_MS);
    world_run(2000);
    const unsigned rest = rights_take_all("late", terms, 3);
    OK(rest <= 10, "%s: and nobody gets more than the rest, which is %u", name, rest);
    world_close();
}

/* Else what came late would seem to be lost of asks that brought nothing. */
static bool counts_what_came(const char *key, const struct limit_terms *terms)
{
    const struct voucher *voucher = voucher_of_key(world.host[ANN].node, charge_at(ANN, key, terms, 1).id);
    bool counts = voucher != NULL;
    for (unsigned a = 0; a < VOUCHER_ASKS && counts; a++)
        counts = voucher->ask[a].received >= voucher->ask[a].units + voucher->ask[a].used;
    return counts;
}

/* What refills from the ask on, until the answer is here, is taken off it as if it had come in time. */
static void late_and_decayed(const struct limit_terms *fast)
{
    uint64_t most = 0;
    bool counts = true;
    rights_world_init(3);
    rights_world_start();
    delay(LATE_MS);
    for (unsigned polls = 0; polls * POLL_MS < 2 * LATE_MS; polls++) {
        (void)rights_take_at_once(ANN, "fast", fast, 90);
        world_run(POLL_MS);
        const uint64_t held = rights_explain(ANN, "fast", fast).voucher_tokens;
        most = held > most ? held : most;
        counts &= counts_what_came("fast", fast);
    }
    OK(world_stats(ANN).rights_received_tokens > 0, "late answers of a fast limit come");
    OK(most + fast->rate * LATE_MS / 1000 <= 69, "and bring others' 69 less what has refilled since: %" PRIu64,
       most);
    OK(counts, "... and count as what came");
    world_close();
}

/* Whether a request is held that comes behind others, who want so many tokens of the key. */
static bool is_held(const char *key, const struct limit_terms *terms, uint64_t cost, uint64_t ahead_tokens)
{
    struct charge charge = charge_at(ANN, key, terms, cost);
    struct await await = {.ahead = charge.id, .ahead_tokens = ahead_tokens};
    OK(rights_await(ANN, &charge, &await) == 0, "%s: no request overtakes others who wait", key);
    return await.held;
}

static void behind_others(const struct limit_terms *terms)
{
    rights_world_init(3);
    rights_world_start();
    (void)rights_take(ANN, "behind", terms, 100);
    world_run(TURN_MS);
    const uint64_t held = rights_explain(ANN, "behind", terms).voucher_tokens;
    OK(held > 50, "a voucher has the rest of a key: %" PRIu64, held);
    OK(is_held("behind", terms, 20, held - 20), "a request waits for what others leave of the voucher");
    OK(!is_held("behind", terms, 20, held), "not for what they leave nothing of");
    world_close();
}

int main(void)
{
    const struct limit_terms slow = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = 3600000 * MS},
                             fast = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 20, .period_ns = 1000 * MS},
                             window = {.kind = LIMIT_CELL, .capacity = 100};
    late_answers("a bucket", &slow);
    late_answers("a window", &window);
    late_and_decayed(&fast);
    behind_others(&window);
    return tap_done();
}
