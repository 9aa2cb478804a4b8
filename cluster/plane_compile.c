#include "cluster/effects.h"
#include "cluster/plane_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CULPRITS_MAX = 8 }; /* rules left out one by one; then all that are newer */

void plane_mark_dirty(struct plane *plane, struct bytes service)
{
    for (uint32_t i = plane->dirty_count; i > 0; i--) /* most often the one of a moment ago */
        if (bytes_equal(bytes_of(plane->dirty[i - 1]), service))
            return;
    if (plane->dirty_count == plane->dirty_room) {
        plane->dirty_room = plane->dirty_room ? 2 * plane->dirty_room : 16;
        plane->dirty = realloc(plane->dirty, plane->dirty_room * sizeof *plane->dirty);
        assert(plane->dirty && "out of memory");
    }
    char *name = plane->dirty[plane->dirty_count++];
    memcpy(name, service.data, service.size);
    name[service.size] = '\0';
}

bool plane_counts_by_the_same(const struct rule *a, const struct rule *b)
{
    if (a->by_count != b->by_count)
        return false;
    for (uint32_t i = 0; i < a->by_count; i++)
        if (!bytes_equal(a->by[i], b->by[i]))
            return false;
    return true;
}

bool plane_use(const struct rulebook_rule *rule, const struct rule_version *newest, struct rule_use *use)
{
    if (!newest)
        newest = rule->version[0];
    const struct rule_version *candidate = newest->record.share_millionths > 0 ? newest : NULL;
    const struct rule_version *stable = candidate                ? rule ? rulebook_stable(rule) : NULL
                                        : newest->record.deleted ? NULL
                                                                 : newest;
    /* Two that did not know each other may have made them: keys of one are none of the other. */
    if (candidate && stable && !plane_counts_by_the_same(candidate->rule, stable->rule))
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
 * Rules that are right one by one may not be together, when two peers that did not hear each other made them. The
 * older ones are in force; which are is the same everywhere, because it depends on the rules alone. Returns how many
 * are left out.
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

static void stage(struct node *node, struct bytes service, struct effects *effects)
{
    const struct rulebook *book = node->plane->book;
    size_t known, count = 0, first = rulebook_service(book, service, &known);
    struct live_rule *live = calloc(known + 1, sizeof *live);
    struct rule_use *uses = calloc(known + 1, sizeof *uses);
    struct error error = {0};
    assert(live && uses && "out of memory");
    for (size_t i = 0; i < known; i++) {
        const struct rulebook_rule *rule = rulebook_at(book, first + i);
        if (!plane_use(rule, NULL, &live[count].use))
            continue;
        live[count++].newest = rule->version[0];
    }
    if (!stage_first(node, service, live, count, uses, &error)) {
        size_t left_out = stage_what_fits(node, service, live, count, uses, &error);
        effects_notice(effects, NOTICE_WARNING, "service %.*s: %zu of its rules, the newest, are not in force: %s",
                       (int)service.size, service.data, left_out, error.text);
    }
    free(live);
    free(uses);
}

void plane_compile(struct node *node, struct effects *effects)
{
    struct plane *plane = node->plane;
    for (uint32_t i = 0; i < plane->dirty_count; i++)
        stage(node, bytes_of(plane->dirty[i]), effects);
    ruleset_commit(plane->rules);
    plane->dirty_count = 0;
    plane_health_apply(node);
}
