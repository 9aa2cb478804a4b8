/*
 * What a file of overrides does not say any more: sheets in force that the files of a change do not name. They become
 * empty with the same change, so that an override ends when its line goes, also the last one of its sheet. A file of
 * overrides makes one sheet at least: a rule without any in the list was not read with a file, and its sheets stay.
 */
#include "operator/rules_overrides.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

bool rules_overrides_is_sheet(const struct rule *rule, const char *service, const char *id)
{
    return strcmp(rule->service.data, service) == 0 && strncmp(rule->id.data, id, rule->id.size) == 0 &&
           strncmp(id + rule->id.size, RULES_SHEET_SUFFIX, sizeof RULES_SHEET_SUFFIX - 1) == 0;
}

bool rules_overrides_has_sheets(const struct rule_list *list, size_t count, const struct rule *rule)
{
    for (size_t i = 0; i < count; i++)
        if (rules_overrides_is_sheet(rule, list->rule[i]->service.data, list->rule[i]->id.data))
            return true;
    return false;
}

/* The rule of the list whose sheet the name may be. NULL: there is none. */
static const struct rule *rule_of(const struct rule_list *list, size_t count, const struct rules_name *name)
{
    for (size_t i = 0; i < count; i++)
        if (rules_overrides_is_sheet(list->rule[i], name->service, name->id))
            return list->rule[i];
    return NULL;
}

/* Puts the sheet at the end of the list, if it is one and has overrides. */
static int fetch(struct rules_invocation *invocation, const struct rules_name *name, struct rule_list *list)
{
    struct rule *room = NULL;
    struct rule_list sheet = {.room = 1, .rule = &room};
    int status = rules_fetch(invocation, name, &sheet);
    if (status != EX_OK || sheet.count == 0)
        return status;
    if (room->overrides_of.size == 0 || room->override_count == 0) {
        rule_destroy(&room);
        return EX_OK;
    }
    if (rules_append(list, &sheet))
        return EX_OK;
    rule_destroy(&room);
    return command_no_memory(invocation->name);
}

static void tell(const struct rules_invocation *invocation, const struct rule *rule, const char *sheet)
{
    fprintf(stderr,
            "headgate %s: rule %s/%s has no overrides_file here: its overrides in %s and so on stay as they are\n",
            invocation->name, rule->service.data, rule->id.data, sheet);
}

int rules_overrides_end(struct rules_invocation *invocation, struct rule_list *list)
{
    const size_t count = list->count;
    struct rules_names names = {0};
    const struct rule *told = NULL;
    int status = rules_find_others(invocation, list, &names);
    for (size_t i = 0; i < names.count && status == EX_OK; i++) {
        const struct rule *rule = rule_of(list, count, &names.name[i]);
        const size_t before = list->count;
        if (rule == NULL || rule == told)
            continue;
        status = fetch(invocation, &names.name[i], list);
        if (list->count == before)
            continue;
        if (rules_overrides_has_sheets(list, count, rule)) {
            list->rule[before]->override_count = 0;
            continue;
        }
        rule_destroy(&list->rule[--list->count]);
        tell(invocation, rule, names.name[i].id);
        told = rule;
    }
    free(names.name);
    return status;
}
