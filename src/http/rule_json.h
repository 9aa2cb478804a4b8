/*
 * rule_json: a rule as JSON, with the keys and the units of rule files.
 *
 * The one idea: a rule has one canonical text, and its JSON is that text in other brackets. Whole numbers and booleans
 * are those of JSON where a rule file has them without quotes; all else is a text.
 */
#ifndef HEADGATE_HTTP_RULE_JSON_H
#define HEADGATE_HTTP_RULE_JSON_H

#include "base/bytes.h"
#include "wire/output.h"

#include <stdbool.h>

/* Puts the object of a canonical text (rule_print). False: memory is short. */
bool put_rule(struct output *output, struct bytes text);

#endif
