#include "rules/rule_builder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const rule_field_names[RULE_FIELDS] = {
    "id",        "service",      "endpoint",       "by",        "counts", "when",           "replaces",
    "algorithm", "rate",         "burst",          "limit",     "window", "zone",           "begins",
    "overshoot", "sync",         "on_isolation",   "when_down", "mode",   "priority_floor", "tiers",
    "overrides", "overrides_of", "overrides_file", "allow",     "deny",   "adaptive",       "persist",
    "inherit",   "patience",     "home",           "weights",
};

struct bytes rule_keep(struct rule_builder *builder, struct bytes text)
{
    assert((size_t)(builder->end - builder->at) > text.size);
    char *kept = builder->at;
    if (text.size > 0)
        memcpy(kept, text.data, text.size);
    kept[text.size] = '\0';
    builder->at += text.size + 1;
    return (struct bytes){.data = kept, .size = text.size};
}

bool rule_missing(const struct rule_builder *builder, enum rule_field field, const char *expected)
{
    return rule_fail(&builder->reader, builder->reader.node->line, "%s is missing: expected %s",
                     rule_field_names[field], expected);
}

static int compare_texts(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

const struct bytes *rule_sort_texts(struct bytes *texts, size_t count)
{
    qsort(texts, count, sizeof *texts, compare_texts);
    for (size_t i = 1; i < count; i++)
        if (bytes_equal(texts[i - 1], texts[i]))
            return &texts[i];
    return NULL;
}
