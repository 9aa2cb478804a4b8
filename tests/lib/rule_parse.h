/*
 * rule_parse: a rule from its text, for tests of one rule.
 *
 * The one idea: rules_parse of the product reads a text of any number of rules. A test of one rule
 * takes the rule out of the list and must destroy it.
 */
#ifndef HEADGATE_TESTS_LIB_RULE_PARSE_H
#define HEADGATE_TESTS_LIB_RULE_PARSE_H

#include "rules/rule_text.h"

/* NULL: rules_parse has failed, or the text has not exactly one rule (then `error` says so). */
struct rule *rule_parse(struct bytes text, const char *file, struct error *error);

#endif
