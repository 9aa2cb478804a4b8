/*
 * Any text: the reader of rules must refuse it in one sentence, or take it and write it so that it comes back the same.
 */
#include "rules/rule_text.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_list(const struct rule_listed *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert(list[i].dimension.size > 0 && list[i].value.size > 0 &&
               list[i].value.data[list[i].value.size] == '\0');
}

static void check_rule(const struct rule *rule)
{
    static char text[RULE_TEXT_MAX_BYTES + 1], again[RULE_TEXT_MAX_BYTES + 1];
    struct error error;
    size_t size = rule_print(rule, text, sizeof text);
    assert(size > 0 && size <= RULE_TEXT_MAX_BYTES && strlen(text) == size);
    assert(rule->algorithm < RULE_ALGORITHMS_END && rule->by_count <= RULE_DIMENSIONS_MAX);
    for (size_t i = 0; i < rule->override_count; i++)
        assert(rule->overrides[i].dimension < rule->by_count);
    check_list(rule->allow, rule->allow_count);
    check_list(rule->deny, rule->deny_count);
    check_list(rule->when, rule->when_count);
    struct rule_list same;
    bool parsed = rules_parse((struct bytes){text, size}, "canonical", &same, &error);
    assert(parsed && same.count == 1);
    assert(rule_print(same.rule[0], again, sizeof again) == size && memcmp(text, again, size) == 0);
    rules_close(&same);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct rule_list list;
    struct error error = {0};
    if (rules_parse((struct bytes){(const char *)bytes, size}, "fuzz", &list, &error)) {
        for (size_t i = 0; i < list.count; i++)
            check_rule(list.rule[i]);
    } else {
        assert(list.count == 0 && error.exit_status != 0 && error.text[0] != '\0');
    }
    rules_close(&list);
    return 0;
}
