#include "tests/lib/kept_world.h"

#include "cluster/node.h"

#include <assert.h>

struct kept_world kept;

static unsigned stopping;
static bool has_left;

/* What a daemon does when its node has left. */
static void keep(unsigned host, const struct effects *effects)
{
    uint32_t place = 0;
    const struct node *node = world.host[host].node;
    if (host != stopping || !effects->left)
        return;
    has_left = true;
    kept.count = 0;
    kept.keeps = node_keeps_reservations(node);
    while (kept.keeps && kept.count < KEPT_MAX &&
           node_keep_reservation(world.host[host].node, &place, world.now_ns, &kept.reservation[kept.count]))
        kept.count++;
}

void kept_stop(unsigned host)
{
    stopping = host;
    world.watch = keep;
    has_left = kept.keeps = false;
    world_stop(host);
    world_run(3000);
    assert(has_left);
    world.watch = NULL;
}

unsigned kept_recall(unsigned host)
{
    unsigned open = 0;
    for (unsigned i = 0; i < kept.count; i++)
        open += node_recall_reservation(world.host[host].node, &kept.reservation[i], world.now_ns);
    node_validate(world.host[host].node);
    step(host, (struct event){.kind = EVENT_WAKE}, host);
    return open;
}
