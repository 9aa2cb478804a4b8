/*
 * What a file of overrides does not say any more: sheets in force that the files of a change do not name. They become
 * empty with the same change, so that an override ends when its line goes, also the last one of its sheet.
 */
#include "operator/rules_overrides.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

/* True if the name is that of a sheet which rules_overrides_read may have made of a rule of the list. */
static bool may_be_sheet(const struct rule_list *list, size_t count, const struct rules_name *name)
{
    for (size_t i = 0; i < count; i++) {
        const struct rule *rule = list->rule[i];
        if (strcmp(rule->service.data, name->service) == 0 &&
            strncmp(rule->id.data, name->id, rule->id.size) == 0 &&
            strncmp(name->id + rule->id.size, RULES_SHEET_SUFFIX, sizeof RULES_SHEET_SUFFIX - 1) == 0)
            return true;
    }
    return false;
}

/* Adds the sheet without its overrides, if it is one and has any. */
static int add_empty(struct rules_invocation *invocation, const struct rules_name *name, struct rule_list *list)
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
    room->override_count = 0;
    if (rules_append(list, &sheet))
        return EX_OK;
    rule_destroy(&room);
    fprintf(stderr, "headgate %s: not enough memory\n", invocation->name);
    return EX_OSERR;
}

int rules_overrides_end(struct rules_invocation *invocation, struct rule_list *list)
{
    const size_t count = list->count;
    struct rules_names names = {0};
    int status = rules_find_others(invocation, list, &names);
    for (size_t i = 0; i < names.count && status == EX_OK; i++)
        if (may_be_sheet(list, count, &names.name[i]))
            status = add_empty(invocation, &names.name[i], list);
    free(names.name);
    return status;
}
