/*
 * rule_build: turns one map of a tree into one valid rule, or into a sentence that names the
 * mistake.
 *
 * The one idea: a rule lies in one block. The size of the block is known before any field is read,
 * from the number of entries and the sizes of all texts below the map. This header does not read
 * YAML: base/yaml_tree.h does.
 */
#ifndef HEADGATE_RULES_RULE_BUILD_H
#define HEADGATE_RULES_RULE_BUILD_H

#include "base/error.h"
#include "base/yaml_tree.h"
#include "rules/rule.h"

/*
 * `node` must be of `tree`; `number` is the rule's place in the document, from 1; for `kept` see
 * rule_parse_kept. The caller destroys the rule. NULL: `error` holds the sentence.
 */
struct rule *rule_build(const struct yaml_tree *tree, const struct yaml_node *node, const char *file,
                        unsigned number, bool kept, struct error *error);

#endif
