#include "tests/lib/rule_parse.h"

#include <sysexits.h>

struct rule *rule_parse(struct bytes text, const char *file, struct error *error)
{
    struct rule_list list;
    struct rule *rule = NULL;
    if (!rules_parse(text, file, &list, error))
        return NULL;
    if (list.count == 1) {
        rule = list.rule[0];
        list.count = 0;
    } else {
        (void)error_set(error, EX_DATAERR, "%s has %zu rules, not one", file, list.count);
    }
    rules_close(&list);
    return rule;
}
