/*
 * rule_build: one map of the tree becomes one rule, whole and right, or a sentence.
 *
 * The one idea: everything of a rule lies in one block, whose size is known before anything is read: the numbers of
 * entries, and the sizes of all texts below the map.
 */
#ifndef HEADGATE_RULES_RULE_BUILD_H
#define HEADGATE_RULES_RULE_BUILD_H

#include "base/error.h"
#include "rules/rule.h"
#include "rules/rule_tree.h"

/*
 * `node` is of `tree`; `number` is the rule's place in the document, from 1; `kept`: see rule_parse_kept. NULL: see
 * `error`.
 */
struct rule *rule_build(const struct rule_tree *tree, const struct rule_node *node, const char *file,
                        unsigned number, bool kept, struct error *error);

#endif
