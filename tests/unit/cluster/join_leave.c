/* Who leaves takes no version of a rule along that it alone knows: not while it may still wait. */
#include "tests/lib/plane_world.h"

static enum peer_state state(unsigned i)
{
    struct node_status status;
    node_status(world.host[i].node, &status);
    return status.state;
}

static void begin(void)
{
    world_of(2);
    (void)set(ANN, "{id: a, service: s, rate: 5/m}");
    world_run(5 * INTERVAL_MS);
}

static void passes_on(void)
{
    begin();
    world_link_both(ANN, BOB, LINK_CUT);
    (void)set(ANN, "{id: a, service: s, rate: 6/m}");
    world_stop(ANN);
    world_run(5 * INTERVAL_MS);
    OK(state(ANN) == PEER_ACTIVE && rate(BOB, "s", "a") == 5, "nobody can hear of her rule: she stays");
    world_link_both(ANN, BOB, LINK_FINE);
    world_run(5 * INTERVAL_MS);
    OK(!world.host[ANN].node && rate(BOB, "s", "a") == 6, "bob has it: she leaves");
    world_close();
}

static void waits_no_longer(void)
{
    begin();
    world_link_both(ANN, BOB, LINK_CUT);
    (void)set(ANN, "{id: a, service: s, rate: 6/m}");
    world_stop(ANN);
    world_run(2500);
    OK(!world.host[ANN].node && rate(BOB, "s", "a") == 5, "beyond leave_timeout she waits for nobody");
    world_close();
}

/* What there was before everybody has: there is nothing to wait for. */
static void goes_at_once(void)
{
    begin();
    world_link_both(ANN, BOB, LINK_CUT);
    world_stop(ANN);
    world_run(INTERVAL_MS);
    OK(world.host[ANN].node && state(ANN) == PEER_LEFT, "with what bob has she goes at once");
    world_close();
}

/* She has heard of bob, and not of his rules: she knows nothing that others could lack. */
static void joins_and_leaves(void)
{
    world_init(2);
    world_name_all();
    world_start(BOB);
    world_run(3000);
    (void)set(BOB, "{id: a, service: s, rate: 5/m}");
    world_link(ANN, BOB, LINK_CUT);
    world_start(ANN);
    world_run(3 * INTERVAL_MS);
    OK(state(ANN) == PEER_JOINING, "ann hears bob, but he does not hear what she asks");
    world_stop(ANN);
    world_run(INTERVAL_MS);
    OK(state(ANN) == PEER_LEFT, "she may go at any time");
    world_close();
}

int main(void)
{
    passes_on();
    waits_no_longer();
    goes_at_once();
    joins_and_leaves();
    return tap_done();
}
