#include "tests/lib/rights_world.h"

void rights_world_init(unsigned count)
{
    world_init(count);
    world_name_all();
    for (unsigned i = 0; i < count; i++)
        world.host[i].options.grants = world.host[i].options.grants_eager = true;
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < count; j++) {
            world.host[i].options.regions[j].weight = SHARE_ONE / count;
            world.link[i][j].delay_ns = WAY_MS * MS;
        }
}

void rights_world_start(void)
{
    world_start_all();
    world_run(2000);
    skip_text();
}

void rights_world_restart(unsigned host)
{
    world_crash(host);
    world_start(host);
    world_run(2000);
    skip_text();
}

unsigned rights_take(unsigned host, const char *key, const struct limit_terms *terms, unsigned count)
{
    unsigned given = 0;
    for (unsigned i = 0; i < count; i++) {
        struct charge charge = charge_at(host, key, terms, 1);
        given += node_takes(world.host[host].node, &charge, world.now_ns);
    }
    world_push(host);
    return given;
}

struct verdict rights_take_at_once(unsigned host, const char *key, const struct limit_terms *terms, uint64_t cost)
{
    struct verdict verdict;
    struct charge charge = charge_at(host, key, terms, cost);
    (void)node_check_each(world.host[host].node, &charge, 1, &charge.id, 1, world.now_ns, &verdict);
    world_push(host);
    return verdict;
}

uint64_t rights_await(unsigned host, struct charge *charge, struct await *await)
{
    struct verdict verdict;
    struct run run = {.charge = charge,
                      .charge_count = 1,
                      .request_count = 1,
                      .take = true,
                      .verdicts = &verdict,
                      .await = await};
    charge->patience_ms = 1000;
    node_decide(world.host[host].node, &run, 1, &charge->id, world.now_ns);
    return run.allowed;
}

struct explanation rights_explain(unsigned host, const char *key, const struct limit_terms *terms)
{
    struct explanation explanation;
    const struct charge charge = charge_at(host, key, terms, 1);
    node_explain(world.host[host].node, charge.id, charge.limit, world.now_ns, &explanation);
    return explanation;
}

unsigned rights_take_all(const char *key, const struct limit_terms *terms, unsigned rounds)
{
    unsigned given = 0;
    for (unsigned round = 0; round <= rounds; round++) {
        for (unsigned i = 0; i < world.count; i++)
            if (world.host[i].node)
                given += rights_take(i, key, terms, (unsigned)terms->capacity);
        world_run(TURN_MS);
    }
    return given;
}
