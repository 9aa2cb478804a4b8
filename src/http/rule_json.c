#include "http/rule_json.h"

#include "base/yaml_tree.h"
#include "http/put.h"
#include "rules/rule_text.h"

#include <sysexits.h>

/* The keys whose values are amounts of tokens, if they are whole numbers. */
static bool is_amount(struct bytes key)
{
    static const char *const names[] = {"limit", "burst", "overshoot", "amount"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (bytes_equal(key, bytes_of(names[i])))
            return true;
    return false;
}

static bool is_whole_number(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return text.size > 0 && (text.data[0] != '0' || text.size == 1);
}

static void put_value(struct output *output, struct bytes key, struct bytes text, bool amounts)
{
    const bool bare = (amounts || is_amount(key)) ? is_whole_number(text) : bytes_equal(key, bytes_of("persist"));
    if (bare)
        put_bytes(output, text);
    else
        put_utf8(output, text);
}

/* `amounts`: the node is a map of names and amounts. The depth of a tree is bounded. */
static void put_node(struct output *output, const struct yaml_tree *tree, const struct yaml_node *node,
                     bool amounts)
{
    const bool is_map = node->kind == YAML_MAP;
    put_text(output, is_map ? "{" : "[");
    for (const struct yaml_node *child = yaml_first(node); child; child = yaml_next(tree, node, child)) {
        if (child != yaml_first(node))
            put_text(output, ",");
        if (is_map) {
            put_utf8(output, child->key);
            put_text(output, ":");
        }
        if (child->kind == YAML_TEXT)
            put_value(output, child->key, child->text, amounts);
        else
            put_node(output, tree, child, bytes_equal(child->key, bytes_of("tiers")));
    }
    put_text(output, is_map ? "}" : "]");
}

bool put_rule(struct output *output, struct bytes text)
{
    struct yaml_tree tree = {0};
    struct error error;
    const struct yaml_source source = {.text = text,
                                       .file = "rule",
                                       .exit_status = EX_SOFTWARE,
                                       .nodes_max = RULES_NODES_MAX,
                                       .strict = true};
    const bool read = yaml_tree_read(&tree, &source, &error);
    if (read && tree.count > 0)
        put_node(output, &tree, tree.nodes, false);
    yaml_tree_close(&tree);
    return read;
}
