/*
 * Granted rights when hosts start anew, come as a snapshot, or are told late: none is used twice, or by who did not
 * ask for it, and no view misses what was granted.
 */
#include "tests/lib/rights_world.h"

/* 100 tokens that hardly refill: 3 come back in two minutes. */
static const struct limit_terms slow = {.kind = LIMIT_BUCKET,
                                        .capacity = 100,
                                        .rate = 100,
                                        .period_ns = 3600000 * MS};
enum { REFILLED = 3, ROUNDS = 12 };

static void a_world(unsigned count)
{
    rights_world_init(count);
    rights_world_start();
}

static unsigned granted(void)
{
    uint64_t tokens = 0;
    for (unsigned i = 0; i < world.count; i++)
        tokens += world.host[i].node ? world_stats(i).rights_granted_tokens : 0;
    return (unsigned)tokens;
}

/* What a host has spent and told nobody is lost with it, and no more. */
static void check_sum(unsigned admitted, unsigned lost, const char *story)
{
    admitted += rights_take_all("key", &slow, ROUNDS);
    OK(admitted <= 100 + lost + REFILLED, "%s: %u of 100 are admitted in all, and no more than %u", story, admitted,
       100 + lost + REFILLED);
    OK(admitted >= 40, "%s: and not few", story);
}

static void between_ask_and_grant(void)
{
    a_world(3);
    const unsigned admitted = rights_take(ANN, "key", &slow, 60);
    world_run(GATHERED_MS);
    OK(world_stats(ANN).rights_asked > 0, "ann asks");
    world_run(WAY_MS / 2);
    OK_U64(granted(), 0, "nobody has heard of it");
    rights_world_restart(ANN);
    OK(granted() > 0, "she starts anew; her old ask is answered: %u tokens", granted());
    OK_U64(rights_explain(ANN, "key", &slow).voucher_tokens, 0, "and she holds nothing of it");
    OK_U64(world_stats(ANN).rights_received_tokens, 0, "nor counts it");
    check_sum(admitted, 0, "restarted between ask and grant");
    world_close();
}

static void between_grant_and_use(void)
{
    a_world(3);
    const unsigned admitted = rights_take(ANN, "key", &slow, 60);
    world_run(TURN_MS);
    const uint64_t held = rights_explain(ANN, "key", &slow).voucher_tokens;
    OK(held > 20, "ann holds %" PRIu64 " tokens of others", held);
    rights_world_restart(ANN);
    OK_U64(rights_explain(ANN, "key", &slow).voucher_tokens, 0, "started anew, she holds none");
    check_sum(admitted, 0, "restarted between grant and use");
    world_close();
}

/* Both lives give their first ask the same number. */
static void of_a_former_life(void)
{
    a_world(3);
    unsigned admitted = rights_take(ANN, "key", &slow, 60);
    world_link(BOB, ANN, LINK_HELD);
    world_link(CAT, ANN, LINK_HELD);
    world_run(WAY_MS + 10);
    OK(granted() > 20, "%u tokens are granted, and on their way to ann", granted());
    world_crash(ANN);
    world_start(ANN);
    world_run(200);
    world_release(BOB, ANN, false);
    world_release(CAT, ANN, false);
    world_run(2000);
    OK_U64(world_stats(ANN).rights_received_tokens, 0, "started anew, she takes none of what was granted before");
    const uint64_t asked = world_stats(ANN).rights_asked;
    admitted += rights_take(ANN, "key", &slow, 60);
    world_run(TURN_MS);
    OK(world_stats(ANN).rights_asked <= asked + 1, "her asks begin anew");
    OK_U64(granted() >= world_stats(ANN).rights_received_tokens, true, "and bring what was granted for them");
    check_sum(admitted, 0, "grants of a former life");
    world_close();
}

/* Bob has granted, ann has used it, and dan takes the table of cat, who has not heard of it yet. */
static void newcomer(bool backwards)
{
    a_world(4);
    unsigned admitted = rights_take(ANN, "key", &slow, 60);
    world_link(BOB, CAT, LINK_HELD);
    world_link(ANN, CAT, LINK_HELD);
    world_link(DAN, CAT, LINK_HELD);
    world_run(TURN_MS);
    admitted += rights_take(ANN, "key", &slow, 60);
    OK(world_stats(ANN).rights_used_tokens > 10, "ann has used %" PRIu64 " tokens of others",
       world_stats(ANN).rights_used_tokens);
    world_crash(DAN);
    world_start(DAN);
    world_link(DAN, CAT, LINK_FINE);
    world_link(BOB, DAN, LINK_HELD);
    world_link(ANN, DAN, LINK_HELD);
    world_run(300);
    world_release(BOB, CAT, backwards);
    world_release(ANN, CAT, backwards);
    world_release(BOB, DAN, backwards);
    world_release(ANN, DAN, backwards);
    world_run(2000);
    skip_text();
    OK(world_stats(DAN).snapshots_taken > 0, "dan has a snapshot");
    const struct bucket dan = node_bucket(world.host[DAN].node, charge_at(DAN, "key", &slow, 1).id,
                                          charge_at(DAN, "key", &slow, 1).limit, world.now_ns);
    const int64_t left = dan.settled / limit_made(&slow).units_per_token;
    OK(left <= 100 - (int64_t)admitted + REFILLED, "and sees %" PRId64 " left, of %u", left, 100 - admitted);
    check_sum(admitted, 0, "a newcomer with a snapshot of who has not heard");
    world_close();
}

/* The batch with the grant is merged with others before ann has it: what was granted is lost, and charged once. */
static void merged(void)
{
    rights_world_init(3);
    world.host[BOB].options.log_keys_max = 64;
    rights_world_start();
    unsigned admitted = rights_take(ANN, "key", &slow, 60);
    world_link(BOB, ANN, LINK_CUT);
    world_link(CAT, ANN, LINK_CUT);
    world_run(WAY_MS + 10);
    for (unsigned i = 0; i < 20; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "other %u", i);
        (void)world_spend_many(BOB, name, 20);
        world_run(20);
    }
    OK(world_stats(BOB).batches_compacted > 0, "bob has merged his log");
    OK(world_stats(BOB).rights_granted_tokens > 10, "after a grant");
    world_link(BOB, ANN, LINK_FINE);
    world_link(CAT, ANN, LINK_FINE);
    world_run(1000);
    OK(world_stats(ANN).rights_received_tokens <= granted(), "ann has received no more than was granted");
    check_sum(admitted, 0, "a grant in a merged batch");
    skip_text();
    world_close();
}

static void doubled(void)
{
    a_world(3);
    for (unsigned i = 0; i < 3; i++)
        world_links(i, LINK_STUTTERS);
    unsigned admitted = rights_take(ANN, "key", &slow, 60);
    world_run(TURN_MS);
    OK(world_stats(ANN).rights_received_tokens > 20, "every message comes twice, asks and grants too");
    OK(world_stats(ANN).rights_received_tokens <= granted() &&
           world_stats(ANN).rights_received_tokens <= world_stats(ANN).rights_asked_tokens + 3,
       "nothing is granted or received twice");
    check_sum(admitted, 0, "each message twice");
    world_close();
}

int main(void)
{
    between_ask_and_grant();
    between_grant_and_use();
    of_a_former_life();
    newcomer(false);
    newcomer(true);
    merged();
    doubled();
    return tap_done();
}
