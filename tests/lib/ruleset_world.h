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
    /* interning a limit beyond limit_max fails */
    uint32_t limit_count, limit_max;
    struct limit_terms limit[4096];
    struct error error;
};

/* Makes a world; `named`: with the limits of a config, "default" of 10 tokens and "other" of 20. */
struct world *world_create(uint32_t services_max, uint32_t rules_max, uint32_t service_rules_max, bool named);
/* The same without such limits; keys of rules whose home is by_key choose among these homes. */
struct world *world_create_with_homes(const struct homes *homes);

void world_destroy(struct world *world);

/* Stages the services that these rules name, each whole. False: see world->error. */
bool world_stage(struct world *world, const struct rule_list *list);

/*
 * Puts all services that the text has rules of into force, each whole; other services stay. False:
 * see world->error, and nothing changed.
 */
bool world_load(struct world *world, const char *yaml);

/*
 * Makes a request from a text such as "user=alice ip=1 SERVICE s ENDPOINT /e TIER t PRIORITY high
 * COST 3 RULE r". The request's views point into `text`. A word without '=' is a user.
 */
struct request world_request(const char *text);

#endif
