#include "rules/rule_ended.h"

#include "rules/rule_pattern.h"
#include "rules/rule_value.h"

#include <inttypes.h>
#include <sysexits.h>

enum { MOMENT_BYTES = 32 };

bool rule_override_has_ended(const struct rule_override *override, uint64_t now_s)
{
    return override->until_s > 0 && override->until_s <= now_s;
}

static void say(const struct rule *rule, const struct rule_override *first, uint32_t count, struct error *sentence)
{
    char value[PATTERN_TEXT_MAX_BYTES], moment[MOMENT_BYTES];
    const struct bytes dimension = rule->by[first->dimension];
    const int size = (int)rule_pattern_text(first->form, first->value, value);
    (void)rule_moment_text(first->until_s, moment, sizeof moment);
    if (count == 1)
        (void)error_set(sentence, EX_DATAERR,
                        "rule %s/%s: the override for %.*s=%.*s has ended, at %s: it has no effect",
                        rule->service.data, rule->id.data, (int)dimension.size, dimension.data, size, value, moment);
    else
        (void)error_set(sentence, EX_DATAERR,
                        "rule %s/%s: %" PRIu32 " overrides have ended, that for %.*s=%.*s at %s: they have no effect",
                        rule->service.data, rule->id.data, count, (int)dimension.size, dimension.data, size, value,
                        moment);
}

uint32_t rule_count_ended(const struct rule *rule, uint64_t now_s, struct error *sentence)
{
    const struct rule_override *first = NULL;
    uint32_t count = 0;
    for (uint16_t i = 0; i < rule->override_count; i++) {
        if (!rule_override_has_ended(&rule->overrides[i], now_s))
            continue;
        if (count++ == 0)
            first = &rule->overrides[i];
    }
    if (first != NULL)
        say(rule, first, count, sentence);
    return count;
}
