/*
 * rule_value: single values of a rule between text and number: amounts, moments, percents, names of choices.
 *
 * The one idea: exact or refused, and one spelling for each value when it is written. Parsers leave their result
 * alone when they return false; whose value it was is the caller's business.
 */
#ifndef HEADGATE_RULES_RULE_VALUE_H
#define HEADGATE_RULES_RULE_VALUE_H

#include "base/bytes.h"
#include "rules/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RULE_AMOUNT_TEXT_BYTES = 160, /* room for any amount, with the terminator */
    RULE_CHOICES_MAX = 8,
};

/* What a field may say; ends with NULL. The index is the enum's value. */
struct rule_choices {
    const char *name[RULE_CHOICES_MAX];
};
extern const struct rule_choices rule_algorithms, rule_modes, rule_syncs, rule_isolations, rule_inherits,
    rule_calendars, rule_priorities, rule_booleans;

/* The index of the name, or -1. */
int rule_choice(const struct rule_choices *choices, struct bytes text);
/* "a, b or c", for sentences; cut if it does not fit. Returns `out`. */
const char *rule_choices_text(const struct rule_choices *choices, char *out, size_t room);

/*
 * "100/m", "100/m burst 200" (buckets); "500", "500/m" (windows, concurrency); "500", "500/month" (quotas);
 * "unlimited".
 * What is left out (the window, the unit) comes from `of`, an amount of the same rule, which has none if it is
 * unlimited. Ranges are not looked at.
 */
bool rule_amount_parse(enum rule_algorithm algorithm, const struct rule_amount *of, struct bytes text,
                       struct rule_amount *amount);
/* What rule_amount_parse reads with the same `of`; at most RULE_AMOUNT_TEXT_BYTES. Returns `out`. */
const char *rule_amount_text(enum rule_algorithm algorithm, const struct rule_amount *of,
                             const struct rule_amount *amount, char *out, size_t room);
/* What is expected there, for sentences; static. */
const char *rule_amount_expected(enum rule_algorithm algorithm);

/* "2027-01-31" (its first moment), "2027-01-31T12:00:00Z" (UTC): seconds since 1970, years 1971 to 9999. */
bool rule_moment_parse(struct bytes text, uint64_t *at_s);
const char *rule_moment_text(uint64_t at_s, char *out, size_t room);

/* "1m", "1.5h" as units_parse_duration reads it, without the space. */
const char *rule_duration_text(uint64_t ns, char *out, size_t room);
/* "20%", "0.5%" of millionths. */
const char *rule_percent_text(uint64_t millionths, char *out, size_t room);

#endif
