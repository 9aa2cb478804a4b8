/*
 * What is available now is what would be admitted now, also of what peers have granted: it is shown, drained, and taken
 * by a commit beyond what was reserved. Three even regions, or ann's home; an hour's limits.
 */
#include "tests/lib/commit_tokens.h"
#include "tests/lib/decisions.h"
#include "tests/lib/rights_world.h"

enum { CAPACITY = 100, COST = 60, HOUR_MS = 3600000 };

static struct limit_terms bucket = {.capacity = CAPACITY, .rate = 1, .period_ns = HOUR_MS * MS},
                          window = {.kind = LIMIT_CELL, .capacity = CAPACITY},
                          list = {.kind = LIMIT_LOG, .capacity = CAPACITY, .period_ns = HOUR_MS * MS};

static struct verdict peek(unsigned host, struct charge charge, uint64_t cost)
{
    struct verdict verdict;
    charge.cost = cost;
    (void)node_check(world.host[host].node, &charge, 1, false, world.now_ns, &verdict);
    return verdict;
}

/* Bob is granted tokens that his client does not come back for at once. */
static struct charge granted(const char *key, const struct limit_terms *terms, bool sliding)
{
    struct charge charge = charge_at(BOB, key, terms, 1);
    charge.sliding = sliding;
    charge.previous = key_of("the window before", 0);
    struct charge large = charge;
    large.cost = COST;
    (void)node_takes(world.host[BOB].node, &large, world.now_ns);
    world_push(BOB);
    world_run(TURN_MS);
    return charge;
}

/* True if so many tokens are admitted at once, and not one more. */
static void is_exact(const char *key, const struct limit_terms *terms, bool sliding)
{
    struct charge charge = granted(key, terms, sliding);
    const uint64_t held = rights_explain(BOB, key, terms).voucher_tokens,
                   shown = peek(BOB, charge, 0).available_tokens;
    OK(held > 0 && shown >= held, "%s: %" PRIu64 " tokens are granted, and %" PRIu64 " available", key, held,
       shown);
    OK_U64(peek(BOB, charge, shown + 1).available_tokens, shown, "... as a refusal says too");
    OK(!peek(BOB, charge, shown + 1).allowed && peek(BOB, charge, shown).allowed,
       "... and no more would be admitted");
    OK_U64(peek(BOB, charge, shown).available_tokens, shown, "... as the answer says that admits all of them");
    charge.cost = 1;
    struct verdict verdict;
    (void)node_check_each(world.host[BOB].node, &charge, 1, &charge.id, 1, world.now_ns, &verdict);
    OK(verdict.allowed && verdict.available_tokens > 0 &&
           verdict.available_tokens == peek(BOB, charge, 0).available_tokens,
       "... nor does the answer to the next request leave them out: %" PRIu64, verdict.available_tokens);
    charge.cost = verdict.available_tokens;
    OK(node_takes(world.host[BOB].node, &charge, world.now_ns), "... and they are admitted");
    OK_U64(peek(BOB, charge, 0).available_tokens, 0, "... all of them");
    world_push(BOB);
    world_run(TURN_MS);
}

static void commits(const char *key, const struct limit_terms *terms)
{
    struct charge charge = granted(key, terms, false);
    struct reservation_id id;
    struct verdict verdict;
    uint64_t charged = 0;
    charge.cost = 2;
    OK(node_reserve(world.host[BOB].node, &charge, 1, HOUR_MS * MS, world.now_ns, &verdict, &id),
       "%s: two of them are reserved", key);
    const uint64_t rest = peek(BOB, charge, 0).available_tokens;
    OK_U64(commit_tokens(world.host[BOB].node, id, CAPACITY, world.now_ns, &charged), RESERVE_DONE,
           "... and committed");
    OK(rest > 0 && charged == 2 + rest, "... with all that is available beside: %" PRIu64 " and %" PRIu64, charged,
       rest);
}

int main(void)
{
    rights_world_init(3);
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.reservations_max = 8;
    rights_world_start();
    is_exact("bucket", &bucket, false);
    is_exact("window", &window, false);
    is_exact("sliding window", &window, true);
    is_exact("log", &list, false);
    commits("bucket of a commit", &bucket);
    commits("window of a commit", &window);
    bucket.home = window.home = list.home = limit_home_of(bytes_of("ann's"));
    is_exact("bucket elsewhere", &bucket, false);
    is_exact("window elsewhere", &window, false);
    commits("window of a commit elsewhere", &window);
    world_close();
    return tap_done();
}
