#include "tests/lib/ruleset_world.h"

static int world_intern(void *context, const struct limit_terms *terms, struct error *error)
{
    struct world *world = context;
    for (uint32_t i = 0; i < world->limit_count; i++)
        if (limit_terms_equal(&world->limit[i], terms))
            return (int)i;
    if (world->limit_count >= world->limit_max) {
        (void)error_set(error, 65, "there are too many limits");
        return -1;
    }
    world->limit[world->limit_count] = *terms;
    return (int)world->limit_count++;
}

static struct world *create(uint32_t services_max, uint32_t rules_max, uint32_t service_rules_max, bool named,
                            const struct homes *homes)
{
    struct world *world = calloc(1, sizeof *world);
    world->limit_max = sizeof world->limit / sizeof world->limit[0];
    hash_key_from_secret(&world->hash_key, "rules", 5);
    const struct ruleset_named limits[] = {
        {.name = bytes_of("default"), .id = 7, .limit = 60000, .capacity = 10},
        {.name = bytes_of("other"), .id = 8, .limit = 60001, .capacity = 20},
    };
    struct ruleset_options options = {
        .hash_key = &world->hash_key,
        .services_max = services_max,
        .rules_max = rules_max,
        .service_rules_max = service_rules_max,
        .named = limits,
        .named_count = named ? 2 : 0,
        .homes = homes,
        .threads = WORLD_THREADS,
        .intern = world_intern,
        .context = world,
    };
    world->ruleset = ruleset_create(&options);
    return world;
}

struct world *world_create(uint32_t services_max, uint32_t rules_max, uint32_t service_rules_max, bool named)
{
    return create(services_max, rules_max, service_rules_max, named, NULL);
}

struct world *world_create_with_homes(const struct homes *homes)
{
    return create(8, 64, 64, false, homes);
}

void world_destroy(struct world *world)
{
    ruleset_destroy(&world->ruleset);
    free(world);
}

bool world_stage(struct world *world, const struct rule_list *list)
{
    struct rule_use *uses = calloc(list->count + 1, sizeof *uses);
    bool good = true;
    for (size_t i = 0; good && i < list->count; i++) {
        struct bytes service = list->rule[i]->service;
        size_t count = 0, before = 0;
        while (!bytes_equal(list->rule[before]->service, service))
            before++;
        if (before < i)
            continue;
        for (size_t j = i; j < list->count; j++)
            if (bytes_equal(list->rule[j]->service, service))
                uses[count++] = (struct rule_use){.rule = list->rule[j]};
        good = ruleset_stage(world->ruleset, service, uses, count, &world->error);
    }
    free(uses);
    return good;
}

bool world_load(struct world *world, const char *yaml)
{
    struct rule_list list;
    bool good = rules_parse(bytes_of(yaml), "test", &list, &world->error) && world_stage(world, &list);
    if (good)
        ruleset_commit(world->ruleset);
    else
        ruleset_abandon(world->ruleset);
    rules_close(&list);
    return good;
}

struct request world_request(const char *text)
{
    static const char *const options[] = {"SERVICE", "ENDPOINT", "TIER", "PRIORITY", "COST", "RULE"};
    struct request request = {.cost = 1, .priority = RULE_PRIORITY_NORMAL};
    while (*text) {
        size_t size = strcspn(text, " ");
        struct bytes word = {text, size}, next = {"", 0};
        size_t option = 0;
        while (option < 6 && !bytes_equal(bytes_of(options[option]), word))
            option++;
        text += size + (text[size] == ' ');
        if (option < 6) {
            next = (struct bytes){text, strcspn(text, " ")};
            text += next.size + (text[next.size] == ' ');
        }
        const char *equals = memchr(word.data, '=', word.size);
        switch (option) {
        case 0:
            request.service = next;
            break;
        case 1:
            request.endpoint = next;
            break;
        case 2:
            request.tier = next;
            break;
        case 3:
            for (uint8_t i = 0; i < RULE_PRIORITIES; i++)
                if (bytes_equal(bytes_of(rule_priority_name(i)), next))
                    request.priority = i;
            break;
        case 4:
            request.cost = strtoull(next.data, NULL, 10);
            break;
        case 5:
            request.only_rule = next;
            break;
        default: {
            struct request_id *id = &request.id[request.id_count++];
            id->dimension = equals ? (struct bytes){word.data, (size_t)(equals - word.data)} : bytes_of("user");
            id->value = equals ? (struct bytes){equals + 1, word.size - id->dimension.size - 1} : word;
        }
        }
    }
    return request;
}
