/*
 * The ruleset as a whole: the table of services, tenant numbers, and the change from staged
 * services to services in use. A staged service is complete; commit only exchanges pointers and
 * carries counts over.
 */
#include "rules/ruleset.h"

#include "rules/ruleset_state.h"

#include <assert.h>
#include <stdlib.h>

/* ---- services by name: open addressing, at most half full, without tombstones ---- */

static uint32_t place_of(const struct service_places *places, struct bytes name, uint64_t hash)
{
    uint32_t at = (uint32_t)hash & places->mask;
    while (places->place[at].service &&
           !(places->place[at].hash == hash && bytes_equal(places->place[at].service->name, name)))
        at = (at + 1) & places->mask;
    return at;
}

struct service *ruleset_service(const struct ruleset *ruleset, struct bytes name)
{
    return ruleset->places.place[place_of(&ruleset->places, name, text_hash(name, SEED_SERVICE))].service;
}

/* Closes the gap: moves later entries forward where their hash allows it. */
static void remove_place(struct service_places *places, uint32_t gap)
{
    uint32_t mask = places->mask;
    places->place[gap].service = NULL;
    for (uint32_t at = (gap + 1) & mask; places->place[at].service; at = (at + 1) & mask) {
        uint32_t home = (uint32_t)places->place[at].hash & mask;
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            places->place[gap] = places->place[at];
            places->place[at].service = NULL;
            gap = at;
        }
    }
}

/* Makes a table for `most` services. False: memory is short. */
static bool make_places(struct service_places *places, uint32_t most)
{
    uint32_t count = 2;
    while (count < 2 * most)
        count *= 2;
    places->mask = count - 1;
    places->place = calloc(count, sizeof *places->place);
    return places->place != NULL;
}

/* Gives numbers out in turn: a number that became free is not given again soon, since keys may
 * still count under it. */
static uint16_t free_tenant(struct ruleset *ruleset)
{
    do
        ruleset->tenant_last = ruleset->tenant_last % ruleset->options.services_max + 1;
    while (ruleset->tenant[ruleset->tenant_last]);
    return (uint16_t)ruleset->tenant_last;
}

/* ---- creation and destruction ---- */

struct ruleset *ruleset_create(const struct ruleset_options *options)
{
    assert(options->services_max >= 1 && options->services_max <= RULESET_SERVICES_MAX);
    assert(options->service_rules_max >= 1 && options->service_rules_max <= SERVICE_RULES_MAX);
    assert(options->threads <= RULESET_THREADS_MAX);
    struct ruleset *ruleset = calloc(1, sizeof *ruleset);
    if (!ruleset)
        return NULL;
    arena_init(&ruleset->arena);
    ruleset->options = *options;
    ruleset->options.hash_key = NULL;
    ruleset->options.named = NULL;
    ruleset->options.threads = options->threads > 0 ? options->threads : 1;
    ruleset->windows.threads = ruleset->options.threads;
    ruleset->hash_key = *options->hash_key;
    ruleset->windows.hash_key = *options->hash_key;
    key_of_dimension(&ruleset->default_key, &ruleset->hash_key, bytes_of(RULE_DEFAULT_DIMENSION));
    ruleset->tenant = calloc(options->services_max + 1u, sizeof(struct service *));
    /* In the worst case a commit removes all services and adds as many. */
    if (!make_places(&ruleset->places, options->services_max) ||
        !make_places(&ruleset->staged_places, 2 * options->services_max) || !ruleset->tenant ||
        !ruleset_set_named(ruleset, options->named, options->named_count, options->named_by_default))
        ruleset_destroy(&ruleset);
    return ruleset;
}

void ruleset_destroy(struct ruleset **ruleset)
{
    if (!*ruleset)
        return;
    ruleset_abandon(*ruleset);
    const struct service_places *places = &(*ruleset)->places;
    for (uint32_t i = 0; places->place && i <= places->mask; i++)
        service_destroy(&places->place[i].service);
    windows_close(&(*ruleset)->windows);
    arena_close(&(*ruleset)->arena);
    free((*ruleset)->places.place);
    free((*ruleset)->staged_places.place);
    free((*ruleset)->tenant);
    free(*ruleset);
    *ruleset = NULL;
}

/* ---- staging ---- */

/* Adds what `staged` will change at the commit to the sums, or takes it out again. */
static void count_staged(struct ruleset *ruleset, const struct service *staged, bool more)
{
    const struct service *present = ruleset_service(ruleset, staged->name);
    int64_t services = (int64_t)!staged->removed - (present != NULL);
    int64_t rules = (int64_t)staged->slot_count - (int64_t)(present ? present->slot_count : 0);
    ruleset->staged_services += more ? services : -services;
    ruleset->staged_rules += more ? rules : -rules;
}

static void unstage(struct ruleset *ruleset, struct bytes name)
{
    struct service_places *places = &ruleset->staged_places;
    uint32_t at = place_of(places, name, text_hash(name, SEED_SERVICE));
    struct service *found = places->place[at].service;
    if (!found)
        return;
    count_staged(ruleset, found, false);
    remove_place(places, at);
    *found->staged_at = found->next_staged;
    if (found->next_staged)
        found->next_staged->staged_at = found->staged_at;
    service_destroy(&found);
}

static void add_staged(struct ruleset *ruleset, struct service *staged)
{
    struct service_places *places = &ruleset->staged_places;
    uint32_t at = place_of(places, staged->name, staged->hash);
    places->place[at] = (struct service_place){.hash = staged->hash, .service = staged};
    count_staged(ruleset, staged, true);
    staged->next_staged = ruleset->staged;
    staged->staged_at = &ruleset->staged;
    if (ruleset->staged)
        ruleset->staged->staged_at = &staged->next_staged;
    ruleset->staged = staged;
}

/* Takes out all staged services as a list. */
static struct service *take_staged(struct ruleset *ruleset)
{
    struct service *all = ruleset->staged;
    struct service_places *places = &ruleset->staged_places;
    if (all)
        memset(places->place, 0, ((size_t)places->mask + 1) * sizeof *places->place);
    ruleset->staged = NULL;
    ruleset->staged_services = ruleset->staged_rules = 0;
    return all;
}

/* Checks the limits as they will be after the commit, with `count` rules of the service `name`.
 * Nothing of that service may be staged. */
static bool fits(const struct ruleset *ruleset, struct bytes name, size_t count, struct error *error)
{
    const struct ruleset_options *options = &ruleset->options;
    const struct service *present = ruleset_service(ruleset, name);
    uint64_t services = (uint64_t)(ruleset->service_count + ruleset->staged_services);
    uint64_t rules = (uint64_t)(ruleset->rule_count + ruleset->staged_rules);
    services = services - (present != NULL) + (count > 0);
    rules = rules - (present ? present->slot_count : 0) + count;
    if (count > options->service_rules_max)
        return error_set(error, 65, "service %.*s would have %zu rules: expected at most %u", (int)name.size,
                         name.data, count, options->service_rules_max);
    if (services > options->services_max && !present)
        return error_set(error, 65, "service %.*s would be one more than the %u that may have rules",
                         (int)name.size, name.data, options->services_max);
    if (rules > options->rules_max && count > (present ? present->slot_count : 0))
        return error_set(error, 65,
                         "with service %.*s there would be %llu rules: expected at most %u in all services",
                         (int)name.size, name.data, (unsigned long long)rules, options->rules_max);
    return true;
}

bool ruleset_stage(struct ruleset *ruleset, struct bytes service, const struct rule_use *uses, size_t count,
                   struct error *error)
{
    struct service *staged, *present = ruleset_service(ruleset, service);
    assert(service.size > 0 && service.size <= RULE_NAME_MAX_BYTES);
    unstage(ruleset, service);
    if (!fits(ruleset, service, count, error))
        return false;
    if (count == 0 && !present)
        return true; /* the service has no rules before or after */
    if (count > 0) {
        uint32_t scale = present ? present->scale : RULE_SCALE_ONE;
        staged = service_compile(ruleset, service, scale, uses, count, error);
    } else {
        staged = service_create(service);
        if (staged) {
            staged->removed = true;
        } else {
            (void)error_set(error, 71, "not enough memory for the rules");
        }
    }
    if (!staged)
        return false;
    add_staged(ruleset, staged);
    return true;
}

enum ruleset_doubt ruleset_find_doubt(const struct ruleset *ruleset, struct bytes service, struct error *error)
{
    const struct service_places *places = &ruleset->staged_places;
    const struct service *present = ruleset_service(ruleset, service);
    const struct service *staged =
        places->place[place_of(places, service, text_hash(service, SEED_SERVICE))].service;
    const struct service *asked = staged ? staged : present;
    const uint32_t before = staged && present ? present->doubt_count : 0;
    if (!asked || asked->doubt_count <= before)
        return RULESET_SOUND;
    (void)error_set(error, 65, "%s", asked->doubt_text);
    error_mark_field(error, "replaces");
    return asked->doubt;
}

void ruleset_abandon(struct ruleset *ruleset)
{
    for (struct service *staged = take_staged(ruleset), *next; staged; staged = next) {
        next = staged->next_staged;
        service_destroy(&staged);
    }
}

/* Carries counts over to rules that stay. A canary with another number begins at 0. */
static void carry_counts(struct service *to, const struct service *from)
{
    for (uint32_t i = 0; i < to->slot_count; i++) {
        struct slot *slot = &to->slot[i];
        const struct slot *before = service_slot(from, slot->ruled.id);
        if (!before)
            continue;
        /* The sum of all threads; from now on in the first thread's counter. */
        struct rule_counts *counts = &slot->ruled.counter->counts;
        *counts = ruled_counts(&before->ruled);
        if (slot->ruled.candidate && before->ruled.candidate && slot->canary == before->canary)
            continue;
        counts->canary_allowed = counts->canary_denied = 0;
        counts->stable_allowed = counts->stable_denied = 0;
    }
}

static void commit_service(struct ruleset *ruleset, struct service *staged)
{
    struct service_places *places = &ruleset->places;
    uint32_t at = place_of(places, staged->name, staged->hash);
    struct service *present = places->place[at].service;
    bool by_default = bytes_equal(staged->name, bytes_of(RULE_DEFAULT_SERVICE));
    ruleset->service_count = ruleset->service_count - (present != NULL) + !staged->removed;
    ruleset->rule_count = ruleset->rule_count - (present ? present->slot_count : 0) + staged->slot_count;
    if (by_default)
        ruleset->by_default = staged->removed ? NULL : staged;
    if (staged->removed) {
        if (present) {
            ruleset->tenant[present->tenant] = NULL;
            remove_place(places, at);
        }
        service_destroy(&staged);
    } else {
        staged->tenant = present ? present->tenant : free_tenant(ruleset);
        ruleset->tenant[staged->tenant] = staged;
        places->place[at] = (struct service_place){.hash = staged->hash, .service = staged};
        if (present) {
            carry_counts(staged, present);
            if (present->scale != staged->scale)
                (void)ruleset_set_scale(ruleset, staged->name, present->scale);
        }
    }
    service_destroy(&present);
}

void ruleset_commit(struct ruleset *ruleset)
{
    struct service *staged = take_staged(ruleset), *next;
    ruleset->edition++;
    /* Removes services first: the table may have no room for both. */
    for (int removed = 1; removed >= 0; removed--) {
        struct service *others = NULL;
        for (; staged; staged = next) {
            next = staged->next_staged;
            if (staged->removed == removed) {
                commit_service(ruleset, staged);
            } else {
                staged->next_staged = others;
                others = staged;
            }
        }
        staged = others;
    }
}

bool ruleset_compile_service(struct ruleset *ruleset, struct bytes service, const struct rule_use *uses,
                             size_t count, struct error *error)
{
    assert(!ruleset->staged);
    if (!ruleset_stage(ruleset, service, uses, count, error))
        return false;
    ruleset_commit(ruleset);
    return true;
}
