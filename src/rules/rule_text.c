/*
 * Reads documents of rules in slices: first the whole tree, then one rule at a time. A sorted array
 * of the names seen so far finds rules that are given twice.
 */
#include "rules/rule_text.h"

#include "base/array.h"
#include "rules/rule_build.h"

#include <limits.h>
#include <stdlib.h>
#include <sysexits.h>

/* ---- rules seen so far ---- */

/* The name of a rule, and the line that it stands in. */
struct seen {
    struct rule_name name;
    unsigned line;
};

static void keep_seen(void *item)
{
    (void)item; /* no copy of this array exists */
}

static const struct cow_array_kind SEEN = {keep_seen, free, NULL};

static bool is_before(const void *context, const void *item)
{
    const struct rule_name *name = context;
    return rule_name_compare(((const struct seen *)item)->name, *name) < 0;
}

/* NULL: no rule of that name came before. *at: where it stands, or would. */
static const struct seen *find_seen(const struct rules_reading *reading, const struct rule_name *name, size_t *at)
{
    *at = cow_array_search(&reading->seen, is_before, name);
    const struct seen *there = *at < reading->seen.count ? cow_array_at(&reading->seen, *at) : NULL;
    return there && rule_name_compare(there->name, *name) == 0 ? there : NULL;
}

/* Remembers the name of `rule`. False if another rule of that name came before. The names are
 * copied, since the caller owns the rule. */
static bool is_first(struct rules_reading *reading, const struct rule *rule, unsigned line, struct error *error)
{
    size_t text_bytes = rule->service.size + rule->id.size + 2;
    struct seen *seen = malloc(sizeof *seen + text_bytes);
    if (!seen)
        return error_set(error, EX_OSERR, "out of memory while reading %s", reading->file);
    char *names = (char *)(seen + 1);
    memcpy(names, rule->service.data, rule->service.size + 1);
    memcpy(names + rule->service.size + 1, rule->id.data, rule->id.size + 1);
    *seen = (struct seen){{{names, rule->service.size}, {names + rule->service.size + 1, rule->id.size}}, line};
    size_t at;
    const struct seen *there = find_seen(reading, &seen->name, &at);
    if (!there) {
        cow_array_insert(&reading->seen, at, seen);
        return true;
    }
    free(seen);
    return error_set(error, EX_DATAERR, "%s:%u: rule %s of service %s is given twice, first in line %u",
                     reading->file, line, rule->id.data, rule->service.data, there->line);
}

/* ---- reading ---- */

/* The list of rules of the document, or its only rule. */
static const struct yaml_node *find_rules(const struct yaml_tree *tree, const char *file, struct error *error)
{
    const struct yaml_node *root = tree->nodes;
    if (tree->count == 0 || root->kind == YAML_TEXT) {
        (void)error_set(error, EX_DATAERR, "%s: there are no rules: expected `rules:` and a list, or one rule",
                        file);
        return NULL;
    }
    const struct yaml_node *first = root->kind == YAML_MAP ? yaml_first(root) : NULL;
    for (const struct yaml_node *node = first; node; node = yaml_next(tree, root, node)) {
        if (!bytes_equal(node->key, bytes_of("rules")))
            continue;
        if (root->count == 1 && node->kind == YAML_LIST)
            return node;
        (void)error_set(error, EX_DATAERR,
                        root->count == 1 ? "%s:%u: rules is no list: expected a list of rules"
                                         : "%s:%u: rules is not alone: expected nothing else",
                        file, node->line);
        return NULL;
    }
    return root;
}

bool rules_reading_open(struct rules_reading *reading, struct bytes text, const char *file, struct error *error)
{
    *reading = (struct rules_reading){.file = file};
    cow_array_init(&reading->seen, &SEEN);
    if (text.size > RULES_TEXT_MAX_BYTES)
        return error_set(error, EX_DATAERR, "%s: it has %zu bytes: expected at most %d", file, text.size,
                         RULES_TEXT_MAX_BYTES);
    reading->reader = yaml_reader_create(&reading->tree, &(const struct yaml_source){.text = text,
                                                                                     .file = file,
                                                                                     .exit_status = EX_DATAERR,
                                                                                     .nodes_max = RULES_NODES_MAX,
                                                                                     .strict = true});
    return reading->reader || error_set(error, EX_OSERR, "out of memory while reading %s", file);
}

void rules_reading_close(struct rules_reading *reading)
{
    yaml_reader_destroy(&reading->reader);
    yaml_tree_close(&reading->tree);
    cow_array_close(&reading->seen);
}

size_t rules_reading_count(const struct rules_reading *reading)
{
    return reading->seen.count;
}

struct rule_name rules_reading_name(const struct rules_reading *reading, size_t index)
{
    return ((const struct seen *)cow_array_at(&reading->seen, index))->name;
}

bool rules_reading_has(const struct rules_reading *reading, struct rule_name name)
{
    size_t at;
    return find_seen(reading, &name, &at) != NULL;
}

/* Finds the first rule once the tree is complete. */
static bool find_first(struct rules_reading *reading, struct error *error)
{
    const struct yaml_node *rules = find_rules(&reading->tree, reading->file, error);
    yaml_reader_destroy(&reading->reader);
    if (!rules)
        return false;
    reading->rules = rules;
    reading->next = rules->kind == YAML_MAP ? rules : yaml_first(rules);
    return rules->kind == YAML_MAP || rules->count <= RULES_MAX ||
           error_set(error, EX_DATAERR, "%s:%u: there are %u rules: expected at most %d", reading->file,
                     rules->line, rules->count, RULES_MAX);
}

bool rules_reading_go_on(struct rules_reading *reading, unsigned events, struct rule **rule, bool *ended,
                         struct error *error)
{
    const struct yaml_node *node = reading->next;
    *rule = NULL;
    *ended = false;
    if (reading->reader) {
        bool whole;
        return yaml_reader_go_on(reading->reader, events, &whole, error) && (!whole || find_first(reading, error));
    }
    if (!node) {
        *ended = true;
        return true;
    }
    reading->next = node == reading->rules ? NULL : yaml_next(&reading->tree, reading->rules, node);
    *rule = rule_build(&reading->tree, node, reading->file, ++reading->number, reading->kept, error);
    if (!*rule)
        return false;
    if (is_first(reading, *rule, node->line, error))
        return true;
    rule_destroy(rule);
    return false;
}

static bool add(struct rule_list *list, struct rule *rule)
{
    if (!ARRAY_RESERVE(list->rule, list->room, list->count + 1))
        return false;
    list->rule[list->count++] = rule;
    return true;
}

static bool parse(struct bytes text, const char *file, bool kept, struct rule_list *list, struct error *error)
{
    struct rules_reading reading;
    bool good = rules_reading_open(&reading, text, file, error), ended = false;
    reading.kept = kept;
    *list = (struct rule_list){0};
    while (good && !ended) {
        struct rule *rule;
        good = rules_reading_go_on(&reading, UINT_MAX, &rule, &ended, error);
        if (rule && !add(list, rule)) {
            rule_destroy(&rule);
            good = error_set(error, EX_OSERR, "out of memory while reading %s", file);
        }
    }
    rules_reading_close(&reading);
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

bool rules_parse(struct bytes text, const char *file, struct rule_list *list, struct error *error)
{
    return parse(text, file, false, list, error);
}

bool rules_append(struct rule_list *list, struct rule_list *more)
{
    if (!ARRAY_RESERVE(list->rule, list->room, list->count + more->count + 1))
        return false;
    for (size_t i = 0; i < more->count; i++)
        list->rule[list->count++] = more->rule[i];
    more->count = 0;
    return true;
}

struct rule *rule_parse_kept(struct bytes text, const char *file, struct error *error)
{
    struct rule_list list;
    struct rule *rule = NULL;
    if (!parse(text, file, true, &list, error))
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
