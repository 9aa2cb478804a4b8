/*
 * rules_lint: what `headgate rules lint` says of rules.
 *
 * The one idea: a warning is about one amount of a rule (rules_lint_amount.c), or about what else the rule says
 * (rules_lint.c).
 */
#ifndef HEADGATE_OPERATOR_RULES_LINT_H
#define HEADGATE_OPERATOR_RULES_LINT_H

#include "operator/json.h"
#include "operator/rules.h"
#include "rules/rule_reach.h"

#include <stdbool.h>
#include <stdint.h>

enum { LINT_SAYS_BYTES = 512 };

struct lint {
    struct reach_peers peers;
    uint64_t shares[RULES_DAEMONS_MAX];
    uint64_t least_billionths; /* the least weight of the rule that is looked at; 0: it has no weights */
    uint64_t now_s;
    struct json *json; /* NULL: sentences */
    uint64_t warnings;
    bool hushes; /* what would be said is counted in `hushed` instead */
    uint64_t hushed;
};

/* `amount` is that of a rule which `says` is about; "": the rule's own one, or all of the rule. */
void lint_say(struct lint *lint, const struct rule *rule, const char *amount, const char *says);

/* What daemons that share the amount may surprise with. `field` and `of` name the amount, as lint_say is to say it. */
void lint_amount(struct lint *lint, const struct rule *rule, const char *field, const char *of,
                 const struct rule_amount *amount);

#endif
