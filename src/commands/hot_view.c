/*
 * Reads the sketches of all threads. Each lock is held for the time of a copy; merging happens outside.
 */
#include "base/number.h"
#include "base/spin.h"
#include "commands/hot.h"
#include "commands/hot_state.h"

#include <stdlib.h>

#define SECOND_NS ((uint64_t)1000000000)

static bool is_asked_for(const struct hot_rule *rule, const struct hot_query *query)
{
    const struct bytes service = bytes_of(rule->service[0] ? rule->service : RULE_DEFAULT_SERVICE);
    return rule->names != 0 && (query->service.size == 0 || bytes_equal(query->service, service)) &&
           (query->rule.size == 0 || bytes_equal(query->rule, bytes_of(rule->rule)));
}

/* What of a rule the view is made of: two panes, and for hours the present minutes too, which are in no hour yet. */
static uint64_t total_of(const struct hot_rule *rule, const struct hot_query *query)
{
    const struct hitters *pane = rule->pane[query->by][query->over];
    const uint64_t minutes = query->over == HOT_HOURS ? rule->pane[query->by][HOT_MINUTES][0].total : 0;
    return pane[0].total + pane[1].total + minutes;
}

static void add_found(struct hot_list *list, uint64_t names, uint64_t total)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->found[i].names == names) {
            list->found[i].total += total;
            return;
        }
    if (list->count < HOT_LIST_MAX)
        list->found[list->count++] = (struct hot_found){names, total};
}

static int falling(const void *a, const void *b)
{
    const struct hot_found *one = a, *two = b;
    if (one->total != two->total)
        return one->total > two->total ? -1 : 1;
    return (one->names > two->names) - (one->names < two->names);
}

void hot_list(struct hot *const *hots, uint32_t count, const struct hot_query *query, uint64_t now_ns,
              struct hot_list *list)
{
    list->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct hot *hot = hots[i];
        for (uint32_t k = 0; k < HOT_RULES_MAX; k++) {
            struct hot_rule *rule = &hot->rule[k];
            uint64_t names = 0, total = 0;
            spin_lock(&hot->lock);
            if (is_asked_for(rule, query)) {
                hot_turn(rule, now_ns);
                names = rule->names;
                total = total_of(rule, query);
            }
            spin_unlock(&hot->lock);
            if (total > 0)
                add_found(list, names, total);
        }
    }
    qsort(list->found, list->count, sizeof list->found[0], falling);
}

/* ---- one rule ---- */

/* How far back the view tells: to the beginning of the past pane, or to that of noting. A second at least. */
static uint64_t reach_ns(const struct hot_query *query, uint64_t now_ns)
{
    const uint64_t pane_ns = query->over == HOT_HOURS ? HOT_HOURS_NS : HOT_MINUTES_NS;
    const uint64_t past_ns = (now_ns / pane_ns) * pane_ns;
    const uint64_t panes_ns = now_ns - past_ns + (past_ns > 0 ? pane_ns : 0);
    const uint64_t noted_ns = number_minus(now_ns, query->since_ns);
    const uint64_t reach_ns = noted_ns < panes_ns ? noted_ns : panes_ns;
    return reach_ns > SECOND_NS ? reach_ns : SECOND_NS;
}

/* Copies what the thread knows of the rule. The number of panes; 0: it knows nothing. */
static uint32_t copy_panes(struct hot *hot, const struct hot_query *query, uint64_t names, uint64_t now_ns,
                           struct hot_view *view, struct hitters panes[HOT_PANES + 1])
{
    uint32_t copied = 0;
    spin_lock(&hot->lock);
    for (uint32_t k = 0; k < HOT_RULES_MAX && copied == 0; k++) {
        struct hot_rule *rule = &hot->rule[k];
        if (rule->names != names || !is_asked_for(rule, query))
            continue;
        hot_turn(rule, now_ns);
        memcpy(view->service, rule->service, sizeof view->service);
        memcpy(view->rule, rule->rule, sizeof view->rule);
        memcpy(view->tier, rule->tier, sizeof view->tier);
        for (uint32_t i = 0; i < HOT_PANES; i++)
            panes[copied++] = rule->pane[query->by][query->over][i];
        if (query->over == HOT_HOURS)
            panes[copied++] = rule->pane[query->by][HOT_MINUTES][0];
    }
    spin_unlock(&hot->lock);
    return copied;
}

bool hot_read(struct hot *const *hots, uint32_t count, const struct hot_query *query, uint64_t names,
              uint64_t now_ns, struct hot_view *view)
{
    struct hitters panes[HOT_PANES + 1];
    memset(view, 0, sizeof *view);
    view->over_ns = reach_ns(query, now_ns);
    view->unit = query->by == HOT_ASKED ? HOT_SAMPLE : 1;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t copied = copy_panes(hots[i], query, names, now_ns, view, panes);
        for (uint32_t k = 0; k < copied; k++)
            if (panes[k].total > 0)
                hitters_merge(&view->hitters, &panes[k]);
    }
    return view->hitters.total > 0;
}

bool hot_find_name(struct hot *const *hots, uint32_t count, uint64_t fingerprint, char name[HOT_NAME_BYTES])
{
    bool found = false;
    for (uint32_t i = 0; i < count && !found; i++) {
        struct hot *hot = hots[i];
        if (hot->named == NULL)
            continue;
        spin_lock(&hot->lock);
        const struct hot_named *named = hot_named(hot, fingerprint);
        found = named != NULL;
        if (found)
            memcpy(name, named->name, HOT_NAME_BYTES);
        spin_unlock(&hot->lock);
    }
    return found;
}
