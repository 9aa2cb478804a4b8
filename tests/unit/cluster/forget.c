/* Keys that are full again go, as requests come; sooner where a tenant has nearly as many as it may. */
#include "tests/lib/cluster_harness.h"

enum { TABLE_KEYS = 1000, STEP_KEYS = 64, TENANT = 7, TENANT_KEYS = 100, MANY = 5000, OWING = 300 };

static const struct limit_terms soon = {.capacity = 160, .rate = 800, .period_ns = 1000 * MS, .overshoot = 160};
static const struct limit_terms slow = {.capacity = 160, .rate = 1, .period_ns = 3600000 * MS, .overshoot = 160};

static bool take(const char *name, unsigned number, const struct limit_terms *terms, uint64_t cost, uint16_t tenant)
{
    char key[32];
    struct verdict verdict;
    (void)snprintf(key, sizeof key, "%s %u", name, number);
    struct charge charge = charge_at(ANN, key, terms, cost);
    charge.tenant = tenant;
    return node_check(world.host[ANN].node, &charge, 1, true, world.now_ns, &verdict);
}

static uint64_t used_keys(void)
{
    struct table_stats stats;
    node_table_stats(world.host[ANN].node, &stats);
    return stats.used_keys;
}

static void begin(void)
{
    world_init_steps(TABLE_KEYS, STEP_KEYS);
    world_start_all();
    world_run(1000);
    skip_text();
}

static void as_requests_come(void)
{
    unsigned allowed = 0;
    begin();
    for (unsigned i = 0; i < 600; i++)
        allowed += take("full", i, &soon, 40, 0);
    for (unsigned i = 0; i < 100; i++)
        allowed += take("owes", i, &slow, 40, 0);
    world_run(5000);
    OK(allowed == 700 && used_keys() >= 600, "700 keys, and nobody asks for any");
    for (unsigned i = 0; i < 60000; i++) {
        (void)take("busy", 0, &soon, 0, 0);
        if (i % 100 == 0)
            world_run(1);
    }
    world_run(5000);
    OK(used_keys() >= 100 && used_keys() <= 130, "%u are left when one was asked for 60,000 times: those that owe",
       (unsigned)used_keys());
    world_close();
}

static void a_tenant_with_all_that_it_may_have(void)
{
    unsigned allowed = 0;
    begin();
    node_set_tenant_keys_max(world.host[ANN].node, TENANT_KEYS);
    for (unsigned i = 0; i < TENANT_KEYS; i++)
        allowed += take("full", i, &soon, 40, TENANT);
    OK(allowed == TENANT_KEYS && !take("new", 0, &soon, 1, TENANT),
       "while all owe something, a new key is refused");
    world_run(5000);
    OK(take("new", 0, &soon, 1, TENANT), "when they are full again it is not, though nobody had asked meanwhile");
    allowed = 0;
    for (unsigned i = 0; i < TENANT_KEYS; i++) {
        world_run(300);
        allowed += take("owes", i, &slow, 40, TENANT);
    }
    world_run(5000);
    OK(allowed == TENANT_KEYS && !take("another", 0, &soon, 1, TENANT),
       "keys that owe stay, and keep new ones out");
    OK(take("another", 0, &soon, 1, TENANT + 1), "but not another tenant's");
    world_close();
}

/* One tenant's keys all owe something, and rounds free none of them: another one's go all the same. */
static void two_tenants(void)
{
    unsigned stubborn = 0, allowed = 0;
    begin();
    node_set_tenant_keys_max(world.host[ANN].node, OWING);
    for (unsigned i = 0; i < OWING; i++)
        stubborn += take("owes", i, &slow, 40, TENANT);
    world_run(5000);
    for (unsigned i = 0; i < MANY; i++) {
        allowed += take("passes by", i, &soon, 40, TENANT + 1);
        if (i % 5 == 0)
            world_run(10);
    }
    OK(stubborn == OWING && allowed == MANY, "%u of %u keys of another tenant, beside one whose keys stay", allowed,
       (unsigned)MANY);
    world_close();
}

static void a_tenant_with_a_single_key(void)
{
    begin();
    node_set_tenant_keys_max(world.host[ANN].node, 1);
    OK(take("one", 0, &soon, 40, TENANT) && !take("two", 0, &soon, 40, TENANT), "a tenant may have one key");
    world_run(5000);
    OK(take("two", 0, &soon, 40, TENANT), "another one, when the first is full again");
    world_close();
}

/* Of so many that come, some hundred owe something at any time. */
static void a_tenant_whose_keys_come_and_go(uint64_t most)
{
    unsigned allowed = 0;
    begin();
    node_set_tenant_keys_max(world.host[ANN].node, most);
    for (unsigned i = 0; i < MANY; i++) {
        allowed += take("passes by", i, &soon, 40, TENANT);
        if (i % 10 == 0)
            world_run(10);
    }
    OK_U64(allowed, MANY, "keys that are asked for once do not use up the %u that a tenant may have",
           (unsigned)most);
    world_close();
}

int main(void)
{
    as_requests_come();
    a_tenant_with_all_that_it_may_have();
    a_tenant_with_a_single_key();
    two_tenants();
    a_tenant_whose_keys_come_and_go(2 * OWING);
    return tap_done();
}
