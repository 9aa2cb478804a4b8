/*
 * rule_value: single values of a rule between text and number: amounts, moments, percents, choices.
 *
 * The one idea: a parser reads a value exactly or refuses it, and each value has one spelling when
 * it is written. A parser leaves its result unchanged if it returns false. Sentences that name the
 * field are the caller's task.
 */
#ifndef HEADGATE_RULES_RULE_VALUE_H
#define HEADGATE_RULES_RULE_VALUE_H

#include "base/bytes.h"
#include "rules/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RULE_AMOUNT_TEXT_BYTES = 160, /* holds any amount, with the terminator */
    RULE_CHOICES_MAX = 8,
    RULE_WEIGHT_TEXT_BYTES = 32,
};

/* The names that a field accepts, ended by NULL. The index is the value of the enum. */
struct rule_choices {
    const char *name[RULE_CHOICES_MAX];
};
extern const struct rule_choices rule_algorithms, rule_modes, rule_syncs, rule_isolations, rule_inherits,
    rule_calendars, rule_begins, rule_priorities, rule_booleans;

/* The index of the name, or -1. */
int rule_choice(const struct rule_choices *choices, struct bytes text);
/* Writes "a, b or c" for sentences, cut to the room. Returns `out`. */
const char *rule_choices_text(const struct rule_choices *choices, char *out, size_t room);

/*
 * Reads "100/m", "100/m burst 200" (buckets); "500", "500/m" (windows, concurrency); "500",
 * "500/month" (quotas); "unlimited". A window or unit that the text leaves out comes from `of`, an
 * amount of the same rule; an unlimited `of` has none. Does not check ranges.
 */
bool rule_amount_parse(enum rule_algorithm algorithm, const struct rule_amount *of, struct bytes text,
                       struct rule_amount *amount);
/* Writes the text that rule_amount_parse reads with the same `of`, at most RULE_AMOUNT_TEXT_BYTES.
 * Returns `out`. */
const char *rule_amount_text(enum rule_algorithm algorithm, const struct rule_amount *of,
                             const struct rule_amount *amount, char *out, size_t room);
/* The forms that rule_amount_parse accepts, for sentences; static. */
const char *rule_amount_expected(enum rule_algorithm algorithm, const struct rule_amount *of);

/* Reads "2027-01-31" (its first moment) or "2027-01-31T12:00:00Z" (UTC) as seconds since 1970, for
 * the years 1971 to 9999. */
bool rule_moment_parse(struct bytes text, uint64_t *at_s);
const char *rule_moment_text(uint64_t at_s, char *out, size_t room);

/* Writes "1m", "1.5h": the spelling that units_parse_duration reads, without a space. */
const char *rule_duration_text(uint64_t ns, char *out, size_t room);
/* Writes millionths as "20%", "0.5%". */
const char *rule_percent_text(uint64_t millionths, char *out, size_t room);

/* Reads a decimal from 0 to 1 with at most 9 digits after the point, exactly. */
bool rule_weight_parse(struct bytes text, uint64_t *billionths);
/* Writes billionths as "0.25", "1". */
const char *rule_weight_text(uint64_t billionths, char *out, size_t room);

#endif
