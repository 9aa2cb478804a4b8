/*
 * Reads the tiers, overrides, allow list, deny list, conditions (`when`) and weights of a rule, sorts them,
 * and refuses duplicates.
 */
#include "limit/limit.h"
#include "rules/rule_builder.h"
#include "rules/rule_pattern.h"

#include <stdio.h>
#include <stdlib.h>

/* False: the key of the node is no name, and the sentence begins with `what`: "tiers has a tier". */
static bool is_named(struct rule_builder *builder, const struct yaml_node *node, const char *what)
{
    if (node->key.size <= RULE_NAME_MAX_BYTES && rule_is_name(node->key, ""))
        return true;
    return rule_fail(&builder->reader, node->line,
                     "%s '%.63s': expected a name of 1 to 63 letters, digits, dots, dashes, underscores", what,
                     node->key.data);
}

static int compare_tiers(const void *a, const void *b)
{
    return bytes_compare(((const struct rule_tier *)a)->name, ((const struct rule_tier *)b)->name);
}

bool rule_read_tiers(struct rule_builder *builder)
{
    const struct yaml_node *map = builder->field[RULE_FIELD_TIERS];
    struct rule *rule = builder->rule;
    if (!map)
        return true;
    for (const struct yaml_node *node = yaml_first(map); node; node = yaml_next(builder->reader.tree, map, node)) {
        char field[RULE_NAME_MAX_BYTES + 16];
        if (!is_named(builder, node, "tiers has a tier"))
            return false;
        (void)snprintf(field, sizeof field, "tiers.%s", node->key.data);
        struct rule_tier *tier = &builder->tiers[rule->tier_count];
        if (!rule_read_amount(builder, node, field, &tier->amount))
            return false;
        tier->name = rule_keep(builder, node->key);
        rule->tier_count++;
    }
    qsort(builder->tiers, rule->tier_count, sizeof *builder->tiers, compare_tiers);
    return true;
}

/*
 * Reads the pattern of `value`. A text that is no valid pattern stays a literal in kept rules: an
 * older version took each text literally.
 */
static bool read_pattern(const struct rule_builder *builder, const struct yaml_node *node, const char *field,
                         struct bytes value, struct rule_pattern *pattern)
{
    char expected[PATTERN_EXPECTED_BYTES];
    if (rule_pattern_parse(value, pattern, expected))
        return true;
    if (!builder->reader.kept || value.size > RULE_VALUE_MAX_BYTES)
        return rule_wrong(&builder->reader, node, field, expected);
    pattern->form = RULE_EXACT;
    pattern->size = value.size;
    memcpy(pattern->value, value.data, value.size);
    return true;
}

/* Splits "dimension=value". A bare value is allowed if the rule counts by one dimension; *dimension
 * is then empty. */
static bool split(const struct rule_builder *builder, const struct yaml_node *node, const char *field,
                  struct bytes *dimension, struct rule_pattern *pattern)
{
    const struct rule *rule = builder->rule;
    static const char expected[] = "dimension=value, with 1 to 32 and 1 to 256 bytes";
    if (node->kind != YAML_TEXT)
        return rule_wrong(&builder->reader, node, field, expected);
    const char *equals = memchr(node->text.data, '=', node->text.size);
    size_t at = equals ? (size_t)(equals - node->text.data) : 0;
    *dimension = (struct bytes){.data = node->text.data, .size = at};
    struct bytes value = {.data = node->text.data + at, .size = node->text.size - at};
    if (equals)
        value = (struct bytes){.data = value.data + 1, .size = value.size - 1};
    else if (rule->by_count != 1)
        return rule_wrong(&builder->reader, node, field,
                          "dimension=value, since the rule does not count by one dimension");
    if (value.size == 0 || value.size > PATTERN_TEXT_MAX_BYTES ||
        (equals && (at > KEY_DIMENSION_MAX_BYTES || !rule_is_name(*dimension, ""))))
        return rule_wrong(&builder->reader, node, field, expected);
    return read_pattern(builder, node, field, value, pattern);
}

static struct bytes keep_value(struct rule_builder *builder, const struct rule_pattern *pattern)
{
    return rule_keep(builder, (struct bytes){pattern->value, pattern->size});
}

/* Fails with a sentence such as "overrides has user=x twice". */
static bool is_twice(const struct rule_builder *builder, const struct yaml_node *list, const char *field,
                     struct bytes dimension, enum rule_form form, struct bytes value)
{
    char text[PATTERN_TEXT_MAX_BYTES];
    int size = (int)rule_pattern_text(form, value, text);
    return rule_fail(&builder->reader, list->line, "%s has %s=%.*s twice", field, dimension.data,
                     size < 64 ? size : 64, text);
}

static int compare_overrides(const void *a, const void *b)
{
    return rule_override_compare(a, b);
}

static bool read_override(struct rule_builder *builder, const struct yaml_node *node, unsigned index)
{
    static const char expected_until[] = "a date such as 2027-01-31, or a moment such as 2027-01-31T12:00:00Z";
    struct rule *rule = builder->rule;
    struct rule_override *override = &builder->overrides[rule->override_count];
    const struct yaml_node *whom = NULL, *amount = NULL, *until = NULL;
    char field[3][40], entry[24];
    static const char *const names[3] = {"for", "amount", "until"};
    for (int i = 0; i < 3; i++)
        (void)snprintf(field[i], sizeof field[i], "overrides[%u].%s", index, names[i]);
    (void)snprintf(entry, sizeof entry, "overrides[%u].", index);
    if (node->kind != YAML_MAP)
        return rule_fail(&builder->reader, node->line, "overrides[%u] is no map: expected for, amount and until",
                         index);
    for (const struct yaml_node *child = yaml_first(node); child;
         child = yaml_next(builder->reader.tree, node, child)) {
        const struct yaml_node **place = bytes_equal(child->key, bytes_of("for"))      ? &whom
                                         : bytes_equal(child->key, bytes_of("amount")) ? &amount
                                         : bytes_equal(child->key, bytes_of("until"))  ? &until
                                                                                       : NULL;
        if (!place)
            return rule_unknown(&builder->reader, child, entry, names, 3, "for, amount and until");
        *place = child;
    }
    if (!whom || !amount)
        return rule_fail(&builder->reader, node->line, "%s is missing", field[whom ? 1 : 0]);
    struct bytes dimension = {"", 0};
    struct rule_pattern pattern = {0};
    if (!split(builder, whom, field[0], &dimension, &pattern))
        return false;
    size_t at = 0;
    while (dimension.size > 0 && at < rule->by_count && !bytes_equal(rule->by[at], dimension))
        at++;
    if (at == rule->by_count)
        return rule_wrong(&builder->reader, whom, field[0], "a dimension that the rule counts by, and its value");
    override->dimension = (uint8_t)at;
    override->form = (uint8_t)pattern.form;
    override->value = keep_value(builder, &pattern);
    if (until && (until->kind != YAML_TEXT || !rule_moment_parse(until->text, &override->until_s)))
        return rule_wrong(&builder->reader, until, field[2], expected_until);
    rule->override_count++;
    return rule_read_amount(builder, amount, field[1], &override->amount);
}

bool rule_read_overrides(struct rule_builder *builder)
{
    const struct yaml_node *list = builder->field[RULE_FIELD_OVERRIDES];
    struct rule *rule = builder->rule;
    unsigned index = 0;
    if (!list)
        return true;
    for (const struct yaml_node *node = yaml_first(list); node; node = yaml_next(builder->reader.tree, list, node))
        if (!read_override(builder, node, index++))
            return false;
    struct rule_override *overrides = builder->overrides;
    qsort(overrides, rule->override_count, sizeof *overrides, compare_overrides);
    for (size_t i = 1; i < rule->override_count; i++)
        if (compare_overrides(&overrides[i - 1], &overrides[i]) == 0)
            return is_twice(builder, list, "overrides", rule->by[overrides[i].dimension], overrides[i].form,
                            overrides[i].value);
    return true;
}

static int compare_listed(const void *a, const void *b)
{
    const struct rule_listed *left = a, *right = b;
    int order = bytes_compare(left->dimension, right->dimension);
    if (order == 0 && left->form != right->form)
        order = left->form < right->form ? -1 : 1;
    return order != 0 ? order : bytes_compare(left->value, right->value);
}

/* Sorts a list. False: an entry stands there twice. */
static bool sort_listed(const struct rule_builder *builder, enum rule_field which, struct rule_listed *listed,
                        uint16_t count)
{
    qsort(listed, count, sizeof *listed, compare_listed);
    for (size_t i = 1; i < count; i++)
        if (compare_listed(&listed[i - 1], &listed[i]) == 0)
            return is_twice(builder, builder->field[which], rule_field_names[which], listed[i].dimension,
                            (enum rule_form)listed[i].form, listed[i].value);
    return true;
}

bool rule_read_listed(struct rule_builder *builder, enum rule_field which, struct rule_listed *listed,
                      uint16_t *count)
{
    const struct yaml_node *list = builder->field[which];
    if (!list)
        return true;
    for (const struct yaml_node *node = yaml_first(list); node;
         node = yaml_next(builder->reader.tree, list, node)) {
        char field[32];
        struct bytes dimension = {"", 0};
        struct rule_pattern pattern = {0};
        (void)snprintf(field, sizeof field, "%s[%u]", rule_field_names[which], (unsigned)*count);
        if (!split(builder, node, field, &dimension, &pattern))
            return false;
        listed[*count].dimension = dimension.size > 0 ? rule_keep(builder, dimension) : builder->rule->by[0];
        listed[*count].value = keep_value(builder, &pattern);
        listed[*count].form = (uint8_t)pattern.form;
        ++*count;
    }
    return sort_listed(builder, which, listed, *count);
}

/* ---- conditions ---- */

uint32_t rule_when_entries(const struct rule_builder *builder)
{
    const struct yaml_node *map = builder->field[RULE_FIELD_WHEN];
    uint32_t count = 0;
    for (const struct yaml_node *node = map ? yaml_first(map) : NULL; node;
         node = yaml_next(builder->reader.tree, map, node))
        count += node->kind == YAML_LIST ? node->count : 1;
    return count;
}

static bool read_condition(struct rule_builder *builder, const struct yaml_node *node, const char *field,
                           struct bytes dimension)
{
    struct rule_pattern pattern = {0};
    struct rule_listed *listed = &builder->when[builder->rule->when_count];
    if (node->kind != YAML_TEXT || node->text.size == 0 || node->text.size > PATTERN_TEXT_MAX_BYTES)
        return rule_wrong(&builder->reader, node, field, "a value of 1 to 256 bytes, or a list of such values");
    if (!read_pattern(builder, node, field, node->text, &pattern))
        return false;
    *listed = (struct rule_listed){.dimension = dimension, .value = keep_value(builder, &pattern)};
    listed->form = (uint8_t)pattern.form;
    builder->rule->when_count++;
    return true;
}

/* Reads the value or the list of values of one dimension. */
static bool read_conditions(struct rule_builder *builder, const struct yaml_node *node)
{
    const struct rule_reader *reader = &builder->reader;
    char field[KEY_DIMENSION_MAX_BYTES + 8];
    if (node->key.size > KEY_DIMENSION_MAX_BYTES || !rule_is_name(node->key, ""))
        return rule_fail(reader, node->line,
                         "when has a dimension '%.32s': expected a name of 1 to 32 letters, digits, dots, dashes, "
                         "underscores",
                         node->key.data);
    (void)snprintf(field, sizeof field, "when.%s", node->key.data);
    const struct bytes dimension = rule_keep(builder, node->key);
    if (node->kind != YAML_LIST)
        return read_condition(builder, node, field, dimension);
    if (node->count == 0)
        return rule_fail(reader, node->line, "%s is empty: expected a value, or a list of values", field);
    for (const struct yaml_node *child = yaml_first(node); child; child = yaml_next(reader->tree, node, child))
        if (!read_condition(builder, child, field, dimension))
            return false;
    return true;
}

bool rule_read_when(struct rule_builder *builder)
{
    const struct yaml_node *map = builder->field[RULE_FIELD_WHEN];
    if (!map)
        return true;
    const uint32_t count = rule_when_entries(builder);
    if (map->count == 0 || count > RULE_LISTED_MAX)
        return rule_fail(&builder->reader, map->line, "when has %u values: expected 1 to %d", count,
                         RULE_LISTED_MAX);
    for (const struct yaml_node *node = yaml_first(map); node; node = yaml_next(builder->reader.tree, map, node))
        if (!read_conditions(builder, node))
            return false;
    return sort_listed(builder, RULE_FIELD_WHEN, builder->when, builder->rule->when_count);
}

/* ---- weights ---- */

static int compare_weights(const void *a, const void *b)
{
    return bytes_compare(((const struct limit_weight *)a)->region, ((const struct limit_weight *)b)->region);
}

/* Whether the rule may have weights. */
static bool check_weights(const struct rule_builder *builder, const struct yaml_node *map)
{
    if (builder->rule->home.size > 0)
        return rule_fail(
            &builder->reader, map->line,
            "weights makes no sense with home, which gives one region all of the limit: expected one of "
            "them");
    if (builder->rule->sync == RULE_CENTRAL)
        return rule_fail(&builder->reader, map->line,
                         "weights makes no sense with sync: central, where the store has the whole limit");
    return true;
}

static bool read_weight(struct rule_builder *builder, const struct yaml_node *node, uint64_t *sum)
{
    char field[RULE_NAME_MAX_BYTES + 16];
    uint64_t billionths;
    struct rule *rule = builder->rule;
    if (!is_named(builder, node, "weights has a region"))
        return false;
    (void)snprintf(field, sizeof field, "weights.%s", node->key.data);
    if (node->kind != YAML_TEXT || !rule_weight_parse(node->text, &billionths))
        return rule_wrong(&builder->reader, node, field,
                          "a decimal from 0 to 1, with at most 9 digits after the point");
    *sum += billionths;
    if (billionths > 0)
        builder->weights[rule->weights_count++] =
            (struct limit_weight){.region = rule_keep(builder, node->key), .billionths = billionths};
    return true;
}

/* Equal lists must have one number: regions are sorted, and those without a part are left out. */
bool rule_read_weights(struct rule_builder *builder)
{
    const struct yaml_node *map = builder->field[RULE_FIELD_WEIGHTS];
    struct rule *rule = builder->rule;
    uint64_t sum = 0;
    char text[RULE_WEIGHT_TEXT_BYTES];
    if (!map)
        return true;
    if (!check_weights(builder, map))
        return false;
    for (const struct yaml_node *node = yaml_first(map); node; node = yaml_next(builder->reader.tree, map, node))
        if (!read_weight(builder, node, &sum))
            return false;
    if (sum != LIMIT_WEIGHTS_WHOLE)
        return rule_fail(&builder->reader, map->line, "weights add up to %s: expected exactly 1",
                         rule_weight_text(sum, text, sizeof text));
    if (rule->weights_count == 1)
        return rule_fail(&builder->reader, map->line,
                         "weights gives all of the limit to one region: expected home: %s, or weights of several",
                         builder->weights[0].region.data);
    qsort(builder->weights, rule->weights_count, sizeof *builder->weights, compare_weights);
    rule->weights_number = limit_weights_number(builder->weights, rule->weights_count);
    return true;
}
