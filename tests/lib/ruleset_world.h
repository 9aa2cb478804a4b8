/*
 * ruleset_world: a ruleset made from YAML, with a set of limits that remembers their terms. For unit tests and
 * benchmarks; each of them is one translation unit.
 */
#ifndef HEADGATE_TESTS_LIB_RULESET_WORLD_H
#define HEADGATE_TESTS_LIB_RULESET_WORLD_H

#include "limit/limit.h"
#include "rules/match.h"
#include "rules/rule_text.h"
#include "rules/ruleset.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORLD_THREADS = 4 };

struct world {
    struct hash_key hash_key;
    struct ruleset *ruleset;
    uint32_t limit_count, limit_max; /* beyond limit_max, no limit is interned */
    struct limit_terms limit[4096];
    struct error error;
};

/* With limits of the config: "default" of 10 tokens, "other" of 20. */
struct world *world_create(uint32_t services_max, uint32_t rules_max, uint32_t service_rules_max, bool named);

void world_destroy(struct world *world);

/* Stages the services that these rules name, each whole; false with world->error. */
bool world_stage(struct world *world, const struct rule_list *list);

/* All services that the text has rules of, whole; the others stay. False with world->error: then nothing changed. */
bool world_load(struct world *world, const char *yaml);

/*
 * "user=alice ip=1 SERVICE s ENDPOINT /e TIER t PRIORITY high COST 3 RULE r": a request whose views are of `text`.
 * A word without '=' is a user.
 */
struct request world_request(const char *text);

#endif
