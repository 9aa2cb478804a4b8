/* Who leaves gives back what it has of vouchers, and what still comes: nothing of a window is lost by a stop. */
#include "tests/lib/rights_world.h"

enum { CAPACITY = 100, ROUNDS = 12, ROUNDING = 3 };

static const struct limit_terms window = {.kind = LIMIT_CELL, .capacity = CAPACITY};

static void a_world(void)
{
    rights_world_init(3);
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.leave_timeout_ns = 5000 * MS;
    rights_world_start();
}

static uint64_t held_by_cat(void)
{
    return rights_explain(CAT, "key", &window).voucher_tokens;
}

/* Cat is stopped; ann and bob take all that they can. */
static void check_rest(unsigned admitted, const char *story)
{
    world_stop(CAT);
    for (unsigned ms = 0; ms < 10000 && world.host[CAT].node; ms += 10)
        world_run(10);
    OK(!world.host[CAT].node, "%s: cat leaves", story);
    world_run(1000);
    const double left = rights_explain(ANN, "key", &window).settled_tokens;
    OK(left == CAPACITY - admitted, "%s: all that she has not admitted is left for others (%.0f)", story, left);
    const unsigned rest = rights_take_all("key", &window, ROUNDS);
    OK(rest <= CAPACITY - admitted && rest + ROUNDING >= CAPACITY - admitted, "%s: who admit %u of it", story, rest);
    skip_text();
    world_close();
}

static void with_a_voucher(void)
{
    a_world();
    const unsigned admitted = rights_take(CAT, "key", &window, 60);
    world_run(TURN_MS);
    OK(held_by_cat() > 10, "cat holds %" PRIu64 " tokens of others", held_by_cat());
    check_rest(admitted, "held");
}

static void with_an_ask(void)
{
    a_world();
    const unsigned admitted = rights_take(CAT, "key", &window, 60);
    world_run(GATHERED_MS);
    const uint64_t asked = world_stats(CAT).rights_asked;
    OK(asked > 0 && held_by_cat() == 0, "cat has asked");
    check_rest(admitted, "asked");
}

int main(void)
{
    with_a_voucher();
    with_an_ask();
    return tap_done();
}
