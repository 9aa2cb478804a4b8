/*
 * rule_builder: a rule under construction, and the functions that read its parts.
 *
 * The one idea: rule_build.c opens the block and reads names. Amounts (rule_build_amounts.c),
 * behaviour (rule_build_behaviour.c), the home (rule_build_home.c), and tiers, overrides and lists
 * (rule_build_lists.c) fill the same rule.
 * Each function returns false after it has filled the error. Only rule_build*.c includes this
 * header.
 */
#ifndef HEADGATE_RULES_RULE_BUILDER_H
#define HEADGATE_RULES_RULE_BUILDER_H

#include "rules/rule.h"
#include "rules/rule_reader.h"

enum rule_field {
    RULE_FIELD_ID,
    RULE_FIELD_SERVICE,
    RULE_FIELD_ENDPOINT,
    RULE_FIELD_BY,
    RULE_FIELD_COUNTS,
    RULE_FIELD_WHEN,
    RULE_FIELD_REPLACES,
    RULE_FIELD_ALGORITHM,
    RULE_FIELD_RATE,
    RULE_FIELD_BURST,
    RULE_FIELD_LIMIT,
    RULE_FIELD_WINDOW,
    RULE_FIELD_ZONE,
    RULE_FIELD_BEGINS,
    RULE_FIELD_OVERSHOOT,
    RULE_FIELD_SYNC,
    RULE_FIELD_ON_ISOLATION,
    RULE_FIELD_WHEN_DOWN,
    RULE_FIELD_MODE,
    RULE_FIELD_PRIORITY_FLOOR,
    RULE_FIELD_TIERS,
    RULE_FIELD_OVERRIDES,
    RULE_FIELD_OVERRIDES_OF,
    RULE_FIELD_OVERRIDES_FILE,
    RULE_FIELD_ALLOW,
    RULE_FIELD_DENY,
    RULE_FIELD_ADAPTIVE,
    RULE_FIELD_PERSIST,
    RULE_FIELD_INHERIT,
    RULE_FIELD_PATIENCE,
    RULE_FIELD_HOME,
    RULE_FIELD_WEIGHTS,
    RULE_FIELDS,
};

extern const char *const rule_field_names[RULE_FIELDS];

struct rule_builder {
    struct rule_reader reader;
    const struct yaml_node *field[RULE_FIELDS]; /* NULL: the field is absent */
    struct rule *rule;
    struct rule_amount spoken; /* what amounts of tiers and overrides take from the rule: its window or unit */
    struct rule_tier *tiers;   /* the rule's arrays while they are still writable */
    struct rule_override *overrides;
    struct rule_listed *allow, *deny, *when;
    struct bytes *replaces;
    struct limit_weight *weights;
    char *at, *end; /* free room for texts in the block */
};

/* Copies a text into the block and returns the copy. */
struct bytes rule_keep(struct rule_builder *builder, struct bytes text);
/* Sorts texts by their bytes. The first that stands there twice, or NULL. */
const struct bytes *rule_sort_texts(struct bytes *texts, size_t count);
bool rule_missing(const struct rule_builder *builder, enum rule_field field, const char *expected);

/* Reads algorithm, rate, burst, limit, window, zone and begins. */
bool rule_read_amounts(struct rule_builder *builder);
/* Reads the amount of a tier or an override. The rule's own amount must be known. */
bool rule_read_amount(const struct rule_builder *builder, const struct yaml_node *node, const char *field,
                      struct rule_amount *amount);
/* Reads overshoot, sync, on_isolation, when_down, mode, persist, inherit and patience. */
bool rule_read_choices(struct rule_builder *builder);
bool rule_read_floors(struct rule_builder *builder);
bool rule_read_adaptive(struct rule_builder *builder);
bool rule_read_tiers(struct rule_builder *builder);
bool rule_read_overrides(struct rule_builder *builder);
/* Reads the list `which`: RULE_FIELD_ALLOW or RULE_FIELD_DENY. */
bool rule_read_listed(struct rule_builder *builder, enum rule_field which, struct rule_listed *listed,
                      uint16_t *count);
/* How many entries the map `when` has, which may be NULL. */
uint32_t rule_when_entries(const struct rule_builder *builder);
bool rule_read_when(struct rule_builder *builder);
/* Reads home. The rule's sync must be known. */
bool rule_read_home(struct rule_builder *builder);
/* Reads weights. The rule's sync and home must be known. */
bool rule_read_weights(struct rule_builder *builder);

/* Checks that a limit can have the terms of each amount. The rule must be complete. */
bool rule_check_terms(const struct rule_builder *builder);

#endif
