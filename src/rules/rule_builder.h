/*
 * rule_builder: a rule in the making, and the parts of reading it.
 *
 * The one idea: rule_build.c opens the block and reads names; what a rule counts with, for whom and how it behaves
 * stands in files of its own, which all fill the same rule. Each function returns false after filling the error.
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
    RULE_FIELD_ALGORITHM,
    RULE_FIELD_RATE,
    RULE_FIELD_BURST,
    RULE_FIELD_LIMIT,
    RULE_FIELD_WINDOW,
    RULE_FIELD_ZONE,
    RULE_FIELD_OVERSHOOT,
    RULE_FIELD_SYNC,
    RULE_FIELD_ON_ISOLATION,
    RULE_FIELD_MODE,
    RULE_FIELD_PRIORITY_FLOOR,
    RULE_FIELD_TIERS,
    RULE_FIELD_OVERRIDES,
    RULE_FIELD_ALLOW,
    RULE_FIELD_DENY,
    RULE_FIELD_ADAPTIVE,
    RULE_FIELD_PERSIST,
    RULE_FIELD_INHERIT,
    RULE_FIELDS,
};

extern const char *const rule_field_names[RULE_FIELDS];

struct rule_builder {
    struct rule_reader reader;
    const struct rule_node *field[RULE_FIELDS]; /* NULL: absent */
    struct rule *rule;
    struct rule_tier *tiers; /* the rule's arrays, not yet constant */
    struct rule_override *overrides;
    struct rule_listed *allow, *deny;
    char *at, *end; /* room for texts */
};

/* Copies a text into the block. */
struct bytes rule_keep(struct rule_builder *builder, struct bytes text);
/* The order of bytes. */
int rule_compare(struct bytes a, struct bytes b);
bool rule_missing(const struct rule_builder *builder, enum rule_field field, const char *expected);

/* algorithm, rate, burst, limit, window, zone. */
bool rule_read_amounts(struct rule_builder *builder);
/* An amount of a tier or an override, once the rule's own is known. */
bool rule_read_amount(const struct rule_builder *builder, const struct rule_node *node, const char *field,
                      struct rule_amount *amount);
/* overshoot, sync, on_isolation, mode, persist, inherit. */
bool rule_read_choices(struct rule_builder *builder);
bool rule_read_floors(struct rule_builder *builder);
bool rule_read_adaptive(struct rule_builder *builder);
bool rule_read_tiers(struct rule_builder *builder);
bool rule_read_overrides(struct rule_builder *builder);
/* allow, deny */
bool rule_read_listed(struct rule_builder *builder, enum rule_field which, struct rule_listed *listed,
                      uint16_t *count);

/* Every amount of the rule, which is complete, has terms that a limit can have. */
bool rule_check_terms(const struct rule_builder *builder);

#endif
