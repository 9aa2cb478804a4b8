#include "rules/rule_text.h"

#include "rules/rule_build.h"
#include "rules/rule_reader.h"
#include "rules/rule_tree.h"

#include <stdlib.h>
#include <sysexits.h>

static bool add(struct rule_list *list, const struct rule_tree *tree, const struct rule_node *node,
                const char *file, struct error *error)
{
    struct rule *rule = rule_build(tree, node, file, (unsigned)list->count + 1, error);
    if (!rule)
        return false;
    list->rule[list->count++] = rule;
    return true;
}

struct placed {
    const struct rule *rule;
    unsigned line;
};

/* By service, then id, then line. */
static int compare(const void *a, const void *b)
{
    const struct placed *left = a, *right = b;
    int order = strcmp(left->rule->service.data, right->rule->service.data);
    if (order == 0)
        order = strcmp(left->rule->id.data, right->rule->id.data);
    return order != 0 ? order : left->line < right->line ? -1 : left->line > right->line;
}

static bool same(const struct rule *a, const struct rule *b)
{
    return bytes_equal(a->service, b->service) && bytes_equal(a->id, b->id);
}

/* `node` is the list from which `list` was read. */
static bool each_once(const struct rule_list *list, const struct rule_tree *tree, const struct rule_node *node,
                      const char *file, struct error *error)
{
    struct placed *sorted = calloc(list->count + 1, sizeof *sorted);
    if (!sorted)
        return error_set(error, EX_OSERR, "out of memory while reading %s", file);
    const struct rule_node *child = rule_node_first(node);
    for (size_t i = 0; i < list->count; i++, child = rule_node_next(tree, node, child))
        sorted[i] = (struct placed){.rule = list->rule[i], .line = child->line};
    qsort(sorted, list->count, sizeof *sorted, compare);
    bool good = true;
    for (size_t i = 1; i < list->count && good; i++)
        if (same(sorted[i - 1].rule, sorted[i].rule))
            good = error_set(error, EX_DATAERR, "%s:%u: rule %s of service %s is given twice, first in line %u",
                             file, sorted[i].line, sorted[i].rule->id.data, sorted[i].rule->service.data,
                             sorted[i - 1].line);
    free(sorted);
    return good;
}

/* The list of the document, or its one rule. */
static const struct rule_node *find_rules(const struct rule_tree *tree, const char *file, struct error *error)
{
    const struct rule_node *root = tree->nodes;
    if (tree->count == 0 || root->kind == RULE_NODE_TEXT) {
        (void)error_set(error, EX_DATAERR, "%s: there are no rules: expected `rules:` and a list, or one rule",
                        file);
        return NULL;
    }
    const struct rule_node *first = root->kind == RULE_NODE_MAP ? rule_node_first(root) : NULL;
    for (const struct rule_node *node = first; node; node = rule_node_next(tree, root, node)) {
        if (!bytes_equal(node->key, bytes_of("rules")))
            continue;
        if (root->count == 1 && node->kind == RULE_NODE_LIST)
            return node;
        (void)error_set(error, EX_DATAERR,
                        root->count == 1 ? "%s:%u: rules is no list: expected a list of rules"
                                         : "%s:%u: rules is not alone: expected nothing else",
                        file, node->line);
        return NULL;
    }
    return root;
}

static bool build(struct rule_list *list, const struct rule_tree *tree, const char *file, struct error *error)
{
    const struct rule_node *rules = find_rules(tree, file, error);
    if (!rules)
        return false;
    bool alone = rules->kind == RULE_NODE_MAP;
    if (!alone && rules->count > RULES_MAX)
        return error_set(error, EX_DATAERR, "%s:%u: there are %u rules: expected at most %d", file, rules->line,
                         rules->count, RULES_MAX);
    list->rule = calloc(alone ? 1 : rules->count + 1, sizeof(struct rule *));
    if (!list->rule)
        return error_set(error, EX_OSERR, "out of memory while reading %s", file);
    if (alone)
        return add(list, tree, rules, file, error);
    for (const struct rule_node *node = rule_node_first(rules); node; node = rule_node_next(tree, rules, node))
        if (!add(list, tree, node, file, error))
            return false;
    return each_once(list, tree, rules, file, error);
}

bool rules_parse(struct bytes text, const char *file, struct rule_list *list, struct error *error)
{
    *list = (struct rule_list){0};
    if (text.size > RULES_TEXT_MAX_BYTES)
        return error_set(error, EX_DATAERR, "%s: it has %zu bytes: expected at most %d", file, text.size,
                         RULES_TEXT_MAX_BYTES);
    struct rule_tree tree;
    bool good = rule_tree_read(&tree, text, file, error) && build(list, &tree, file, error);
    rule_tree_close(&tree);
    if (!good)
        rules_close(list);
    return good;
}

void rules_close(struct rule_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        rule_destroy(&list->rule[i]);
    free(list->rule);
    *list = (struct rule_list){0};
}

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
        (void)error_set(error, EX_DATAERR, "%s: there are %zu rules: expected one", file, list.count);
    }
    rules_close(&list);
    return rule;
}
