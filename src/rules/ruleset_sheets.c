/*
 * Sheets: rules that only hold overrides of another rule (`overrides_of`), which so may have thousands of them. A rule
 * is compiled with its own overrides and those of its sheets as one list. What peers changed without hearing each
 * other may not fit: a sheet of no rule, one identifier in two sheets, more overrides than a rule may have. The more
 * is left out here; a change that an operator makes is refused instead (ruleset_find_doubt).
 */
#include "rules/ruleset_state.h"

#include <stdlib.h>

/* One override, and where it comes from: those of the rule itself come first, then those of its sheets in order. */
struct row {
    struct rule_override override;
    uint32_t at;
};

static int by_override(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    const int order = rule_override_compare(&left->override, &right->override);
    return order != 0 ? order : left->at < right->at ? -1 : left->at > right->at;
}

static void add_rows(struct row *rows, uint32_t *count, const struct rule *from)
{
    for (uint16_t i = 0; i < from->override_count; i++, ++*count)
        rows[*count] = (struct row){from->overrides[i], *count};
}

/* Sorts the rows into joined->overrides, the first of each identifier. */
static bool keep_rows(struct service *service, struct joined *joined, struct row *rows, uint32_t count)
{
    struct rule *rule = &joined->rule;
    uint32_t kept = 0;
    qsort(rows, count, sizeof *rows, by_override);
    for (uint32_t i = 0; i < count; i++) {
        const struct rule_override *override = &rows[i].override;
        if (kept == 0 || rule_override_compare(&joined->overrides[kept - 1], override) != 0) {
            joined->overrides[kept++] = *override;
            continue;
        }
        if (!service_doubt(service, RULESET_DANGLES, "rule %s/%s has an override of %s=%.64s twice",
                           rule->service.data, rule->id.data, rule->by[override->dimension].data,
                           override->value.data))
            return false;
    }
    rule->overrides = joined->overrides;
    rule->override_count = (uint16_t)kept;
    return true;
}

_Static_assert(RULE_OVERRIDES_ALL_MAX <= UINT16_MAX, "a rule counts them in 16 bits");

/* Adds the rows of all sheets of the rule that fit. */
static bool add_sheets(const struct sheets *sheets, struct service *service, const struct rule *rule,
                       struct row *rows, uint32_t *count)
{
    struct rule unused;
    for (uint32_t i = 0; i < sheets->count; i++) {
        const struct rule *sheet = sheets->rule[i];
        bool good = true;
        if (!bytes_equal(sheet->overrides_of, rule->id))
            continue;
        if (!rule_of_sheet(sheet, rule, &unused))
            good = service_doubt(service, RULESET_DANGLES,
                                 "rule %s/%s has overrides of %s, which has other dimensions or another algorithm",
                                 sheet->service.data, sheet->id.data, rule->id.data);
        else if (*count + sheet->override_count > RULE_OVERRIDES_ALL_MAX)
            good = service_doubt(service, RULESET_DANGLES, "rule %s/%s has more than %d overrides, with its sheets",
                                 rule->service.data, rule->id.data, RULE_OVERRIDES_ALL_MAX);
        else
            add_rows(rows, count, sheet);
        if (!good)
            return false;
    }
    return true;
}

bool sheets_join(const struct sheets *sheets, struct service *service, const struct rule *rule,
                 struct joined *joined)
{
    uint32_t sheets_of_rule = 0, count = 0;
    *joined = (struct joined){.rule = *rule};
    for (uint32_t i = 0; i < sheets->count && rule->overrides_of.size == 0; i++)
        sheets_of_rule += bytes_equal(sheets->rule[i]->overrides_of, rule->id);
    if (sheets_of_rule == 0)
        return true;
    struct row *rows = malloc(RULE_OVERRIDES_ALL_MAX * sizeof *rows);
    joined->overrides = malloc(RULE_OVERRIDES_ALL_MAX * sizeof *joined->overrides);
    bool good = rows && joined->overrides;
    if (good) {
        add_rows(rows, &count, rule);
        good = add_sheets(sheets, service, rule, rows, &count) && keep_rows(service, joined, rows, count);
    }
    free(rows);
    return good;
}

static bool is_sheet(const struct sheets *sheets, struct bytes id)
{
    for (uint32_t i = 0; i < sheets->count; i++)
        if (bytes_equal(sheets->rule[i]->id, id))
            return true;
    return false;
}

bool sheets_check(const struct sheets *sheets, struct service *service)
{
    for (uint32_t i = 0; i < sheets->count; i++) {
        const struct rule *sheet = sheets->rule[i];
        if (service_slot(service, sheet->overrides_of) && !is_sheet(sheets, sheet->overrides_of))
            continue;
        if (!service_doubt(service, RULESET_DANGLES,
                           "rule %s/%s has overrides of %s, which is no rule of the service", sheet->service.data,
                           sheet->id.data, sheet->overrides_of.data))
            return false;
    }
    return true;
}
