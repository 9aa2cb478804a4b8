/*
 * rule_build_home reads the home of a rule: a region, a daemon, a list of these, or a word.
 */
#include "rules/homes.h"
#include "rules/rule_builder.h"
#include "rules/rule_value.h"

#include <string.h>

static const char home_expected[] = "a region, a daemon as REGION/NAME, a list of these, by_key, or none";

/* REGION, or REGION/NAME. */
static bool is_home(struct bytes text)
{
    const char *slash = memchr(text.data, '/', text.size);
    const size_t before = slash ? (size_t)(slash - text.data) : text.size,
                 behind = slash ? text.size - before - 1 : 1;
    return rule_is_name(text, "/") && before > 0 && behind > 0 && before <= RULE_NAME_MAX_BYTES &&
           behind <= RULE_NAME_MAX_BYTES && (!slash || !memchr(slash + 1, '/', behind));
}

/* `expected` is what may stand there. */
static bool read_home_at(const struct rule_builder *builder, const struct yaml_node *node, const char *expected,
                         struct bytes *home)
{
    return rule_read_text(&builder->reader, node, "home", RULE_HOME_MAX_BYTES, expected, home) &&
           (is_home(*home) || rule_wrong(&builder->reader, node, "home", expected));
}

/* The texts with HOME_COMMA between. */
static struct bytes keep_joined(struct rule_builder *builder, const struct bytes *texts, uint32_t count)
{
    struct bytes joined = {builder->at, 0};
    for (uint32_t i = 0; i < count; i++) {
        const struct bytes kept = rule_keep(builder, texts[i]);
        joined.size += kept.size + 1;
        builder->at[-1] = i + 1 < count ? HOME_COMMA : '\0';
    }
    joined.size--;
    return joined;
}

/* Sorted, so that equal lists have one text. */
static bool read_home_list(struct rule_builder *builder, const struct yaml_node *list, struct bytes *text)
{
    static const char expected[] = "a region, or a daemon as REGION/NAME";
    const struct rule_reader *reader = &builder->reader;
    struct bytes home[HOMES_MAX];
    uint32_t count = 0;
    if (!rule_read_group(reader, list, "home", YAML_LIST, HOMES_MAX))
        return false;
    for (const struct yaml_node *node = yaml_first(list); node; node = yaml_next(reader->tree, list, node)) {
        struct bytes *next = &home[count++];
        if (!read_home_at(builder, node, expected, next))
            return false;
        if (home_is_by_key(*next) || bytes_equal(*next, bytes_of(HOME_NONE)))
            return rule_wrong(reader, node, "home", expected);
    }
    if (count == 0)
        return rule_fail(reader, list->line, "home is an empty list: expected %s", home_expected);
    const struct bytes *twice = rule_sort_texts(home, count);
    if (twice)
        return rule_fail(reader, list->line, "home names %.*s twice: expected each home once", (int)twice->size,
                         twice->data);
    *text = keep_joined(builder, home, count);
    return true;
}

/* That a region has that name, the daemons say: a rule knows nothing of them. */
bool rule_read_home(struct rule_builder *builder)
{
    const struct yaml_node *node = builder->field[RULE_FIELD_HOME];
    struct rule *rule = builder->rule;
    struct bytes name = {"", 0};
    rule->home = name;
    rule->home_none = node && node->kind == YAML_TEXT && bytes_equal(node->text, bytes_of(HOME_NONE));
    if (!node || rule->home_none)
        return true;
    if (rule->sync != RULE_GOSSIP)
        return rule_fail(&builder->reader, node->line, "home makes no sense with sync: %s, %s",
                         rule->sync == RULE_BUDGET ? "budget" : "central",
                         rule->sync == RULE_BUDGET ? "whose shares never move"
                                                   : "where the store has the whole limit");
    if (node->kind == YAML_LIST)
        return read_home_list(builder, node, &rule->home);
    if (!read_home_at(builder, node, home_expected, &name))
        return false;
    rule->home = rule_keep(builder, name);
    return true;
}
