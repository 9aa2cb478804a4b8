/*
 * rule_pattern: the values that an entry of a list or an override names: one value, all values with
 * a prefix, or the addresses of a network.
 *
 * The one idea: a text that looks like a pattern is a pattern or is refused; it is never quietly
 * taken for a literal. A backslash makes a literal of \, *, ?, [, / and -. Printing gives the one
 * text that reads back as the same pattern.
 */
#ifndef HEADGATE_RULES_RULE_PATTERN_H
#define HEADGATE_RULES_RULE_PATTERN_H

#include "rules/rule.h"

#include <stdbool.h>

enum {
    PATTERN_TEXT_MAX_BYTES = 2 * RULE_VALUE_MAX_BYTES, /* escapes included */
    PATTERN_EXPECTED_BYTES = 160,
};

struct rule_pattern {
    enum rule_form form;
    size_t size;
    char value[RULE_VALUE_MAX_BYTES]; /* RULE_NETWORK: the network's text */
};

/* False: `expected` says which texts are right. */
bool rule_pattern_parse(struct bytes text, struct rule_pattern *pattern, char expected[PATTERN_EXPECTED_BYTES]);
/* Writes the text of a value. Returns its size, at most PATTERN_TEXT_MAX_BYTES. */
size_t rule_pattern_text(enum rule_form form, struct bytes value, char out[PATTERN_TEXT_MAX_BYTES]);

#endif
