/*
 * Opens the block of a rule, reads its names, dimensions and endpoint, and calls the other readers
 * of rule_builder.h in order. Names come first: the sentences about other fields name the rule.
 */
#include "rules/rule_build.h"

#include "limit/limit.h"
#include "rules/rule_builder.h"
#include "rules/rule_text.h"

#include <stdlib.h>
#include <sysexits.h>

/* ---- the block ---- */

static uint32_t entries(const struct rule_builder *builder, enum rule_field field)
{
    return builder->field[field] ? builder->field[field]->count : 0;
}

static bool make_block(struct rule_builder *builder)
{
    const struct yaml_node *map = builder->reader.node;
    uint32_t tiers = entries(builder, RULE_FIELD_TIERS), overrides = entries(builder, RULE_FIELD_OVERRIDES);
    uint32_t allow = entries(builder, RULE_FIELD_ALLOW), deny = entries(builder, RULE_FIELD_DENY);
    uint32_t when = rule_when_entries(builder), replaces = entries(builder, RULE_FIELD_REPLACES);
    uint32_t weights = entries(builder, RULE_FIELD_WEIGHTS);
    size_t arrays = replaces * sizeof(struct bytes) + tiers * sizeof(struct rule_tier) +
                    overrides * sizeof(struct rule_override) + (allow + deny + when) * sizeof(struct rule_listed) +
                    weights * sizeof(struct limit_weight);
    size_t texts = sizeof RULE_DEFAULT_SERVICE;
    for (const struct yaml_node *node = map; node < builder->reader.tree->nodes + map->end; node++)
        texts +=
            /* The text of a network may be two bytes longer than in the document. */
            node->key.size + node->text.size + 4;
    char *block = calloc(1, sizeof(struct rule) + arrays + texts);
    if (!block) {
        (void)error_set(builder->reader.error, EX_OSERR, "out of memory while reading %s", builder->reader.file);
        return false;
    }
    builder->rule = (struct rule *)(void *)block;
    builder->tiers = (struct rule_tier *)(void *)(block + sizeof(struct rule));
    builder->overrides = (struct rule_override *)(void *)(builder->tiers + tiers);
    builder->allow = (struct rule_listed *)(void *)(builder->overrides + overrides);
    builder->deny = builder->allow + allow;
    builder->when = builder->deny + deny;
    builder->replaces = (struct bytes *)(void *)(builder->when + when);
    builder->weights = (struct limit_weight *)(void *)(builder->replaces + replaces);
    builder->at = (char *)(builder->weights + weights);
    builder->end = block + sizeof(struct rule) + arrays + texts;
    return true;
}

/* ---- dimensions and endpoint ---- */

static bool read_dimension(struct rule_builder *builder, const struct yaml_node *node)
{
    struct bytes name;
    struct rule *rule = builder->rule;
    if (!rule_read_name(&builder->reader, node, "by", KEY_DIMENSION_MAX_BYTES, &name))
        return false;
    rule->by[rule->by_count++] = rule_keep(builder, name);
    return true;
}

static bool read_by(struct rule_builder *builder)
{
    const struct yaml_node *node = builder->field[RULE_FIELD_BY];
    struct rule *rule = builder->rule;
    if (!node) {
        rule->by_count = 1;
        rule->by[0] = bytes_of(RULE_DEFAULT_DIMENSION);
        return true;
    }
    if (node->kind == YAML_TEXT)
        return read_dimension(builder, node);
    if (!rule_read_group(&builder->reader, node, "by", YAML_LIST, RULE_DIMENSIONS_MAX))
        return false;
    for (const struct yaml_node *child = yaml_first(node); child;
         child = yaml_next(builder->reader.tree, node, child))
        if (!read_dimension(builder, child))
            return false;
    const struct bytes *twice = rule_sort_texts(rule->by, rule->by_count);
    return !twice ||
           rule_fail(&builder->reader, node->line, "by names %s twice: expected each dimension once", twice->data);
}

static bool read_replaces(struct rule_builder *builder)
{
    const struct yaml_node *list = builder->field[RULE_FIELD_REPLACES];
    const struct rule_reader *reader = &builder->reader;
    struct rule *rule = builder->rule;
    if (!list)
        return true;
    for (const struct yaml_node *node = yaml_first(list); node; node = yaml_next(reader->tree, list, node)) {
        struct bytes id;
        if (!rule_read_name(reader, node, "replaces", RULE_NAME_MAX_BYTES, &id))
            return false;
        if (bytes_equal(id, rule->id))
            return rule_fail(reader, node->line, "replaces names the rule itself: expected other rules");
        builder->replaces[rule->replaces_count++] = rule_keep(builder, id);
    }
    const struct bytes *twice = rule_sort_texts(builder->replaces, rule->replaces_count);
    return !twice || rule_fail(reader, list->line, "replaces names %s twice: expected each rule once", twice->data);
}

/* ---- sheets ---- */

/* Refuses the fields that a sheet does not have: it has those of its rule. */
static bool check_sheet(const struct rule_builder *builder)
{
    static const bool has[RULE_FIELDS] =
        {[RULE_FIELD_ID] = true,        [RULE_FIELD_SERVICE] = true,   [RULE_FIELD_BY] = true,
         [RULE_FIELD_ALGORITHM] = true, [RULE_FIELD_OVERRIDES] = true, [RULE_FIELD_OVERRIDES_OF] = true};
    for (int i = 0; i < RULE_FIELDS; i++)
        if (builder->field[i] && !has[i])
            return rule_fail(
                &builder->reader, builder->field[i]->line,
                "%s makes no sense with overrides_of: expected id, service, by, algorithm and overrides",
                rule_field_names[i]);
    return true;
}

static bool read_sheet(struct rule_builder *builder)
{
    const struct yaml_node *of = builder->field[RULE_FIELD_OVERRIDES_OF];
    const struct yaml_node *file = builder->field[RULE_FIELD_OVERRIDES_FILE];
    struct rule *rule = builder->rule;
    struct bytes text = {"", 0};
    rule->overrides_of = rule->overrides_file = text;
    if (file) {
        if (!rule_read_text(&builder->reader, file, "overrides_file", RULE_FILE_MAX_BYTES,
                            "the name of a file, of at most 255 bytes", &text))
            return false;
        rule->overrides_file = rule_keep(builder, text);
    }
    if (!of)
        return true;
    if (!rule_read_name(&builder->reader, of, "overrides_of", RULE_NAME_MAX_BYTES, &text))
        return false;
    if (bytes_equal(text, rule->id))
        return rule_fail(&builder->reader, of->line, "overrides_of names the rule itself: expected another rule");
    rule->overrides_of = rule_keep(builder, text);
    return check_sheet(builder);
}

static bool read_counts(struct rule_builder *builder)
{
    const struct yaml_node *node = builder->field[RULE_FIELD_COUNTS];
    struct bytes name = {"", 0};
    builder->rule->counts = name;
    if (!node)
        return true;
    if (!rule_read_name(&builder->reader, node, "counts", KEY_DIMENSION_MAX_BYTES, &name))
        return false;
    if (rule_has_trait(builder->rule->algorithm, ALGORITHM_LEASES))
        return rule_fail(&builder->reader, node->line,
                         "counts makes no sense with algorithm: concurrency, which counts requests at work");
    builder->rule->counts = rule_keep(builder, name);
    return true;
}

static bool read_endpoint(struct rule_builder *builder)
{
    static const char expected[] = "1 to 255 bytes, with * at most as the last one";
    const struct yaml_node *node = builder->field[RULE_FIELD_ENDPOINT];
    struct bytes endpoint = bytes_of(RULE_ANY_ENDPOINT);
    if (!node) {
        builder->rule->endpoint = endpoint;
        return true;
    }
    if (!rule_read_text(&builder->reader, node, "endpoint", RULE_ENDPOINT_MAX_BYTES, expected, &endpoint))
        return false;
    const char *star = memchr(endpoint.data, '*', endpoint.size);
    if (star && star + 1 != endpoint.data + endpoint.size)
        return rule_wrong(&builder->reader, node, "endpoint", expected);
    builder->rule->endpoint = rule_keep(builder, endpoint);
    return true;
}

/* ---- the whole rule ---- */

static bool find_fields(struct rule_builder *builder)
{
    const struct yaml_node *map = builder->reader.node;
    for (const struct yaml_node *node = yaml_first(map); node; node = yaml_next(builder->reader.tree, map, node)) {
        size_t field = 0;
        while (field < RULE_FIELDS && !bytes_equal(node->key, bytes_of(rule_field_names[field])))
            field++;
        if (field == RULE_FIELDS)
            return rule_unknown(&builder->reader, node, "", rule_field_names, RULE_FIELDS,
                                "a field of docs/rules.md, such as id, service, by, rate or limit");
        builder->field[field] = node;
    }
    return true;
}

/* Must be called before other fields are read: sentences about them name the rule. */
static bool read_names(struct rule_builder *builder)
{
    struct rule_reader *reader = &builder->reader;
    struct bytes service = bytes_of(RULE_DEFAULT_SERVICE), id = {"", 0};
    if (!rule_read_name(reader, builder->field[RULE_FIELD_ID], "id", RULE_NAME_MAX_BYTES, &id))
        return false;
    reader->id = id;
    if (!rule_read_name(reader, builder->field[RULE_FIELD_SERVICE], "service", RULE_NAME_MAX_BYTES, &service))
        return false;
    reader->service = service;
    return id.size > 0 || rule_missing(builder, RULE_FIELD_ID, "a name");
}

static bool read_groups(struct rule_builder *builder)
{
    const struct rule_reader *reader = &builder->reader;
    const struct yaml_node *const *field = builder->field;
    return rule_read_group(reader, field[RULE_FIELD_TIERS], "tiers", YAML_MAP, RULE_TIERS_MAX) &&
           rule_read_group(reader, field[RULE_FIELD_WHEN], "when", YAML_MAP, RULE_DIMENSIONS_MAX) &&
           rule_read_group(reader, field[RULE_FIELD_REPLACES], "replaces", YAML_LIST, RULE_REPLACES_MAX) &&
           rule_read_group(reader, field[RULE_FIELD_OVERRIDES], "overrides", YAML_LIST, RULE_OVERRIDES_MAX) &&
           rule_read_group(reader, field[RULE_FIELD_ALLOW], "allow", YAML_LIST, RULE_LISTED_MAX) &&
           rule_read_group(reader, field[RULE_FIELD_DENY], "deny", YAML_LIST, RULE_LISTED_MAX) &&
           rule_read_group(reader, field[RULE_FIELD_WEIGHTS], "weights", YAML_MAP, LIMIT_WEIGHTS_MAX) &&
           rule_read_group(reader, field[RULE_FIELD_PRIORITY_FLOOR], "priority_floor", YAML_MAP, RULE_PRIORITIES) &&
           rule_read_group(reader, field[RULE_FIELD_ADAPTIVE], "adaptive", YAML_MAP, 2);
}

static bool read_rule(struct rule_builder *builder)
{
    struct rule *rule = builder->rule;
    rule->id = rule_keep(builder, builder->reader.id);
    rule->service = rule_keep(builder, builder->reader.service);
    bool good = read_sheet(builder) && read_endpoint(builder) && read_by(builder) && rule_read_amounts(builder) &&
                read_counts(builder) && rule_read_choices(builder) && rule_read_home(builder) &&
                rule_read_weights(builder) && rule_read_floors(builder) && rule_read_tiers(builder) &&
                rule_read_overrides(builder) &&
                rule_read_listed(builder, RULE_FIELD_ALLOW, builder->allow, &rule->allow_count) &&
                rule_read_listed(builder, RULE_FIELD_DENY, builder->deny, &rule->deny_count) &&
                rule_read_when(builder) && read_replaces(builder) && rule_read_adaptive(builder);
    if (!good)
        return false;
    rule->tiers = builder->tiers;
    rule->overrides = builder->overrides;
    rule->allow = builder->allow;
    rule->deny = builder->deny;
    rule->when = builder->when;
    rule->replaces = builder->replaces;
    rule->weights = builder->weights;
    if (rule->overrides_of.size > 0)
        rule->mode = RULE_OFF;
    if (!rule_check_terms(builder))
        return false;
    size_t size = rule_print(rule, NULL, 0);
    if (size > RULE_TEXT_MAX_BYTES)
        return rule_fail(&builder->reader, builder->reader.node->line,
                         "its text has %zu bytes: expected at most %d", size, RULE_TEXT_MAX_BYTES);
    return true;
}

struct rule *rule_build(const struct yaml_tree *tree, const struct yaml_node *node, const char *file,
                        unsigned number, bool kept, struct error *error)
{
    struct rule_builder builder = {
        .reader = {.file = file, .error = error, .tree = tree, .node = node, .number = number, .kept = kept}};
    if (node->kind != YAML_MAP) {
        (void)rule_fail(&builder.reader, node->line, "it is no map: expected id, rate and so on");
        return NULL;
    }
    if (!find_fields(&builder) || !read_names(&builder) || !read_groups(&builder) || !make_block(&builder))
        return NULL;
    if (!read_rule(&builder))
        rule_destroy(&builder.rule);
    return builder.rule;
}
