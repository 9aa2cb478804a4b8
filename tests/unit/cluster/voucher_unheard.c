/*
 * Cat hears all and is heard by nobody. So ann waits for cat, and lets bob's spends wait uncharged (uncharged.h), those
 * for her voucher too: bob pays them off at his part of the refill alone. But cat has charged them, and is full again
 * when the limit has refilled them. A voucher must be empty by then: one that had what bob has not paid off let all
 * spend 3,738 tokens where 3,660 are allowed.
 */
#include "tests/lib/rights_world.h"

/* After SILENT_MS cat is silent. FULL_MS after the ask cat's view is full again. */
enum { SPENT = 100, COST = 1100, SILENT_MS = 2000, FULL_MS = 3830, HEALS_MS = 200 };

static const struct limit_terms terms = {.capacity = 3000, .rate = 300, .period_ns = 1000 * MS, .overshoot = 600};

static void begin(void)
{
    static const unsigned hundredths[] = {4, 36, 60};
    rights_world_init(3);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j < 3; j++) {
            world.host[i].options.regions[j].weight = SHARE_ONE / 100 * hundredths[j];
            world.link[i][j].delay_ns = 5 * MS;
        }
    rights_world_start();
    world_link(CAT, ANN, LINK_CUT);
    world_link(CAT, BOB, LINK_CUT);
    world_run(SILENT_MS);
}

/* Cat hears of the grant, but not the ask: it would spend in vain itself. */
static void ask(void)
{
    (void)rights_take(ANN, "key", &terms, SPENT);
    world_run(200);
    world_link(ANN, CAT, LINK_CUT);
    (void)rights_take_at_once(ANN, "key", &terms, COST);
    world_run(10);
    world_link(ANN, CAT, LINK_FINE);
}

int main(void)
{
    begin();
    ask();
    world_run(50);
    OK(rights_explain(ANN, "key", &terms).voucher_tokens > 1000, "bob grants what ann asks for");
    world_run(FULL_MS - 60);
    OK(world_stats(ANN).uncharged_keys == 1 && rights_explain(BOB, "key", &terms).unsettled_tokens > 700,
       "ann has not charged it, and bob has not paid off %.0f tokens",
       rights_explain(BOB, "key", &terms).unsettled_tokens);
    OK(rights_explain(CAT, "key", &terms).settled_tokens > 2950, "cat sees a full key: %.0f",
       rights_explain(CAT, "key", &terms).settled_tokens);
    const uint64_t held = rights_explain(ANN, "key", &terms).voucher_tokens;
    unsigned spent = rights_take(ANN, "key", &terms, (unsigned)held + SPENT / 2);
    world_links(CAT, LINK_FINE);
    world_run(HEALS_MS);
    for (unsigned i = ANN; i <= CAT; i++)
        spent += rights_take(i, "key", &terms, (unsigned)terms.capacity);
    const unsigned most = (unsigned)(terms.capacity + terms.overshoot + terms.rate * HEALS_MS / 1000);
    OK(held == 0, "ann's voucher is empty: %" PRIu64, held);
    OK(spent <= most, "when all hear each other again they spend %u tokens, of %u that are allowed", spent, most);
    world_close();
    return tap_done();
}
