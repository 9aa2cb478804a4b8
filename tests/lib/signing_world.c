#include "tests/lib/signing_world.h"

uint8_t signing_key[WORLD_HOSTS_MAX][NODE_KEY_BYTES];

void signing_all(enum node_keys how)
{
    for (unsigned i = 0; i < world.count; i++) {
        fake_signing(&world.host[i].options.signing, (uint8_t)(i + 1), signing_key[i]);
        world.host[i].options.signing.keys = how;
    }
}

void signing_world_init(unsigned count, enum node_keys how)
{
    world_init(count);
    world_name_all();
    signing_all(how);
}

void signing_world_start(unsigned count, enum node_keys how)
{
    signing_world_init(count, how);
    world_start_all();
    world_run(1000);
    skip_text();
}

struct peer_report signing_report(unsigned host, const char *name)
{
    struct peer_report reports[NODE_PEERS_MAX];
    const size_t count = node_peers(world.host[host].node, world.now_ns, reports);
    for (size_t i = 0; i < count; i++)
        if (strcmp(reports[i].name, name) == 0)
            return reports[i];
    return (struct peer_report){0};
}
