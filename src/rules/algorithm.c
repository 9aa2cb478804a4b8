/*
 * algorithm holds the properties of algorithms, made of the table in algorithm.h.
 */
#include "rules/algorithm.h"

#include "limit/kind.h"

#include <assert.h>

struct properties {
    const char *word;
    enum limit_kind kind;
    enum rule_amount_form form;
    unsigned traits; /* of enum algorithm_trait */
};

static const struct properties *properties_of(enum rule_algorithm algorithm)
{
#define PROPERTIES(name, word, kind, form, traits) [name] = {word, kind, form, traits},
    static const struct properties of[RULE_ALGORITHMS_END] = {RULE_ALGORITHMS(PROPERTIES)};
#undef PROPERTIES
    assert(algorithm < RULE_ALGORITHMS_END);
    return &of[algorithm];
}

const char *rule_algorithm_name(enum rule_algorithm algorithm)
{
    return properties_of(algorithm)->word;
}

enum limit_kind rule_kind(enum rule_algorithm algorithm)
{
    return properties_of(algorithm)->kind;
}

enum rule_amount_form rule_amount_form(enum rule_algorithm algorithm)
{
    return properties_of(algorithm)->form;
}

bool rule_has_trait(enum rule_algorithm algorithm, enum algorithm_trait trait)
{
    return (properties_of(algorithm)->traits & trait) != 0;
}

bool rule_has_rate(enum rule_algorithm algorithm)
{
    return rule_amount_form(algorithm) == RULE_AMOUNT_RATE;
}

bool rule_has_calendar(enum rule_algorithm algorithm)
{
    return rule_amount_form(algorithm) == RULE_AMOUNT_CALENDAR;
}

bool rule_is_listed(enum rule_algorithm algorithm)
{
    return kind_lists(rule_kind(algorithm));
}

bool rule_has_windows(enum rule_algorithm algorithm)
{
    return kind_expires(rule_kind(algorithm));
}
