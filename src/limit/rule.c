#include "limit/rule.h"

#include "limit/limit.h"
#include "limit/rule_value.h"

#include <assert.h>
#include <stdlib.h>
#include <strings.h>

void rule_destroy(struct rule **rule)
{
    free(*rule);
    *rule = NULL;
}

const char *rule_algorithm_name(enum rule_algorithm algorithm)
{
    return rule_algorithms.name[algorithm];
}

const char *rule_mode_name(enum rule_mode mode)
{
    return rule_modes.name[mode];
}

const char *rule_priority_name(enum rule_priority priority)
{
    return rule_priorities.name[priority];
}

bool rule_priority_parse(struct bytes text, enum rule_priority *priority)
{
    for (int i = 0; i < RULE_PRIORITIES; i++) {
        const char *name = rule_priorities.name[i];
        if (text.size == strlen(name) && strncasecmp(text.data, name, text.size) == 0) {
            *priority = (enum rule_priority)i;
            return true;
        }
    }
    return false;
}
