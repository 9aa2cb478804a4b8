/*
 * plane_compile turns the rules of a service in the book into the compiled form of the ruleset. It
 * chooses for each rule the version in force and its canary, and leaves out the newest rules of a
 * service whose rules do not fit together. A staged service comes into force by ruleset_commit,
 * together with others.
 */
#include "cluster/plane/plane_compile.h"

#include "cluster/codec/effects.h"
#include "cluster/plane/plane_health.h"
#include "cluster/state/node_state.h"
#include "cluster/state/plane_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CULPRITS_MAX = 8 }; /* rules left out one by one; after these, all newer rules */

/* False: no version of the rule is in force. */
static bool use_of(const struct rulebook_rule *rule, struct rule_use *use)
{
    const struct rule_version *candidate = rulebook_candidate(rule), *stable = rulebook_stable(rule);
    /* two peers may have made them without hearing each other: they count different keys */
    if (candidate && stable && !rule_same_dimensions(candidate->rule, stable->rule))
        candidate = NULL;
    *use = (struct rule_use){
        .rule = stable ? stable->rule : NULL,
        .candidate = candidate ? candidate->rule : NULL,
        .share_millionths = candidate ? candidate->record.share_millionths : 0,
        .epoch = stable      ? stable->record.epoch
                 : candidate ? candidate->record.epoch
                             : 0,
        .candidate_epoch = candidate ? candidate->record.epoch : 0,
        .canary = candidate ? candidate->digest : 0,
    };
    return stable || candidate;
}

struct live_rule {
    struct rule_use use;
    const struct rule_version *newest;
};

static int by_age(const void *a, const void *b)
{
    const struct live_rule *x = a, *y = b;
    return rule_version_compare(x->newest, y->newest);
}

static bool stage_first(struct node *node, struct bytes service, const struct live_rule *live, size_t count,
                        struct rule_use *uses, struct error *error)
{
    for (size_t i = 0; i < count; i++)
        uses[i] = live[i].use;
    return ruleset_stage(node->plane->rules, service, uses, count, error);
}

/*
 * Rules that are right one by one may not fit together, if peers made them without hearing each
 * other. The older ones stay in force. The choice depends on the rules alone, so every peer chooses
 * the same. Returns how many rules are left out.
 */
static size_t stage_what_fits(struct node *node, struct bytes service, struct live_rule *live, size_t count,
                              struct rule_use *uses, struct error *error)
{
    size_t all = count, fits = 0;
    qsort(live, count, sizeof *live, by_age);
    for (int culprits = 0; culprits < CULPRITS_MAX && count > 0; culprits++) {
        size_t fails = count;
        fits = 0;
        while (fails - fits > 1) {
            size_t middle = fits + (fails - fits) / 2;
            if (stage_first(node, service, live, middle, uses, error))
                fits = middle;
            else
                fails = middle;
        }
        memmove(live + fits, live + fits + 1, (count - fits - 1) * sizeof *live);
        count--;
        struct error other;
        if (stage_first(node, service, live, count, uses, &other))
            return all - count;
    }
    (void)stage_first(node, service, live, fits, uses, error);
    return all - fits;
}

bool plane_stage(struct node *node, const struct rulebook *book, struct bytes service, bool all_or_none,
                 uint32_t *rules, struct error *error, struct effects *effects)
{
    size_t known, count = 0, first = rulebook_service(book, service, &known);
    struct live_rule *live = calloc(known + 1, sizeof *live);
    struct rule_use *uses = calloc(known + 1, sizeof *uses);
    assert(live && uses && "out of memory");
    for (size_t i = 0; i < known; i++) {
        const struct rulebook_rule *rule = rulebook_at(book, first + i);
        if (use_of(rule, &live[count].use))
            live[count++].newest = rule->version[0];
    }
    bool whole = stage_first(node, service, live, count, uses, error), sound = true;
    if (whole && ruleset_find_doubt(node->plane->rules, service, error) != RULESET_SOUND) {
        sound = false;
        if (!all_or_none)
            effects_notice(effects, NOTICE_WARNING, "%s: this is left out", error->text);
    }
    if (!whole && !all_or_none) {
        size_t left_out = stage_what_fits(node, service, live, count, uses, error);
        effects_notice(effects, NOTICE_WARNING, "service %.*s: %zu of its rules, the newest, are not in force: %s",
                       (int)service.size, service.data, left_out, error->text);
    }
    free(live);
    free(uses);
    *rules = (uint32_t)count;
    return (whole && sound) || !all_or_none;
}

void plane_compile_all(struct node *node, struct effects *effects)
{
    struct plane *plane = node->plane;
    struct error error = {0};
    for (size_t i = 0, known; i < rulebook_rules(plane->book); i += known) {
        uint32_t rules;
        struct bytes service = rulebook_at(plane->book, i)->service;
        (void)rulebook_service(plane->book, service, &known);
        (void)plane_stage(node, plane->book, service, false, &rules, &error, effects);
    }
    ruleset_commit(plane->rules);
    plane_bound_keys(node);
    plane->restored = false;
    plane_health_apply(node);
}

void plane_bound_keys(struct node *node)
{
    struct ruleset_stats stats;
    ruleset_stats(node->plane->rules, &stats);
    const uint64_t most = node->tenant_keys_max;
    table_set_tenant_keys_max(node->table, most, stats.services > 0 ? most : 0);
}
