/*
 * Refuses a change that would end most overrides of a rule: a file of overrides that a program is still writing, or
 * that was cut or emptied by mistake, looks like one whose lines were all taken out. An override that has ended by its
 * `until` ends nothing more.
 */
#include "base/array.h"
#include "edge/process/clock.h"
#include "operator/rules_overrides.h"
#include "rules/rule_ended.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#define SECOND_NS UINT64_C(1000000000)

/* Overrides of one rule that are in force, sorted; they are views of rules. */
struct overrides {
    size_t count, room;
    const struct rule_override **one;
};

static int compare(const void *left, const void *right)
{
    const struct rule_override *const *a = left, *const *b = right;
    return rule_override_compare(*a, *b);
}

/* Adds those of the sheets of the rule in the list. False: memory is short. */
static bool gather(struct overrides *all, const struct rule_list *list, const struct rule *rule, uint64_t now_s)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct rule *sheet = list->rule[i];
        if (!rules_overrides_is_sheet(rule, sheet->service.data, sheet->id.data))
            continue;
        for (uint16_t k = 0; k < sheet->override_count; k++) {
            if (rule_override_has_ended(&sheet->overrides[k], now_s))
                continue;
            if (!ARRAY_RESERVE(all->one, all->room, all->count + 1))
                return false;
            all->one[all->count++] = &sheet->overrides[k];
        }
    }
    if (all->count > 0)
        qsort(all->one, all->count, sizeof(const struct rule_override *), compare);
    return true;
}

static size_t count_missing(const struct overrides *before, const struct overrides *after)
{
    size_t missing = 0;
    for (size_t i = 0; i < before->count; i++)
        missing += after->count == 0 || bsearch(&before->one[i], after->one, after->count,
                                                sizeof(const struct rule_override *), compare) == NULL;
    return missing;
}

static int hold(const struct rules_invocation *invocation, const struct rule *rule, const struct rule_list *former,
                const struct rule_list *list)
{
    const uint64_t now_s = clock_wall_ns() / SECOND_NS;
    struct overrides before = {0}, after = {0};
    int status = EX_OK;
    if (!gather(&before, former, rule, now_s) || !gather(&after, list, rule, now_s))
        status = command_no_memory(invocation->name);
    const size_t missing = status == EX_OK ? count_missing(&before, &after) : 0;
    if (missing > before.count / 2) {
        fprintf(stderr,
                "headgate %s: %zu of the %zu overrides of rule %s/%s would end, which is more than half of them; "
                "nothing has changed: expected a file of overrides that has them, or --end-overrides\n",
                invocation->name, missing, before.count, rule->service.data, rule->id.data);
        status = EX_DATAERR;
    }
    free(before.one);
    free(after.one);
    return status;
}

/* The sheets in force of the rules. */
static int fetch_former(struct rules_invocation *invocation, const struct rule_list *rules,
                        struct rule_list *former)
{
    struct rules_names names = {0};
    int status = rules_find_others(invocation, rules, &names);
    former->rule = calloc(names.count + 1, sizeof(struct rule *));
    former->room = names.count + 1;
    if (status == EX_OK && former->rule == NULL)
        status = command_no_memory(invocation->name);
    for (size_t i = 0; i < names.count && status == EX_OK; i++)
        for (size_t k = 0; k < rules->count; k++)
            if (rules_overrides_is_sheet(rules->rule[k], names.name[i].service, names.name[i].id)) {
                status = rules_fetch(invocation, &names.name[i], former);
                break;
            }
    free(names.name);
    return status;
}

/* True: the list may end overrides in sheets of the rule. */
static bool may_end(const struct rules_invocation *invocation, const struct rule_list *list,
                    const struct rule *rule)
{
    return rule->overrides_of.size == 0 &&
           (invocation->prune || rules_overrides_has_sheets(list, list->count, rule));
}

int rules_overrides_guard(struct rules_invocation *invocation, const struct rule_list *list)
{
    struct rule_list rules = {0}, former = {0}; /* `rules` are views */
    rules.rule = calloc(list->count + 1, sizeof(struct rule *));
    if (rules.rule == NULL)
        return command_no_memory(invocation->name);
    for (size_t i = 0; i < list->count; i++)
        if (may_end(invocation, list, list->rule[i]))
            rules.rule[rules.count++] = list->rule[i];
    int status = rules.count > 0 ? fetch_former(invocation, &rules, &former) : EX_OK;
    for (size_t i = 0; i < rules.count && status == EX_OK; i++)
        status = hold(invocation, rules.rule[i], &former, list);
    free(rules.rule);
    rules_close(&former);
    return status;
}
