/* Grants of a key that cannot settle, since somebody is silent. */
#include "cluster/spend/grant.h"

#include "cluster/state/node_state.h"
#include "tests/lib/rights_world.h"

enum { MUCH_TOKENS = 10000000, TIMES = 600 };

/* Settling takes off what was granted, which a spend counts in 32 bits, however many batches become one. */
static void all_fit_a_spend(void)
{
    static const struct limit_terms large = {
        .kind = LIMIT_BUCKET, .capacity = LIMIT_CAPACITY_MAX, .rate = 1000000, .period_ns = 1000 * MS};
    uint64_t granted = 0, tokens = 0;
    rights_world_init(3);
    rights_world_start();
    world_crash(CAT);
    world_run(5000);
    (void)rights_take(ANN, "large", &large, 1);
    struct node *node = world.host[ANN].node;
    const struct charge charge = charge_at(ANN, "large", &large, 1);
    const int64_t units = node->limits.limit[charge.limit].units_per_token * MUCH_TOKENS;
    for (unsigned i = 0; i < TIMES; i++) {
        granted += (uint64_t)grant_own(node, table_find(node->table, charge.id), units, i + 1);
        world_run(100);
    }
    (void)grants_concern(node, charge.id, &tokens);
    OK(tokens * (uint64_t)(units / MUCH_TOKENS) == granted, "no grant is lost: %" PRIu64, tokens);
    OK(tokens > UINT32_MAX / 2 && tokens <= UINT32_MAX, "all that is granted of a key fits one spend: %" PRIu64,
       tokens);
    world_close();
}

int main(void)
{
    all_fit_a_spend();
    return tap_done();
}
