/*
 * effects grows what a step returns: bytes of messages in one arena, and lists of what the caller
 * must do with them. The caller reads all of it before the next step, which begins anew in the same
 * memory. A node that can get no memory for it ends.
 */
#include "cluster/codec/effects.h"

#include "base/array.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTICE_GAP_NS UINT64_C(60000000000)

enum { NOTICES_MAX = 64 }; /* per step; the last one says that more notices were dropped */

void effects_init(struct effects *effects)
{
    memset(effects, 0, sizeof *effects);
    effects->next_wake_ns = UINT64_MAX;
}

void effects_close(struct effects *effects)
{
    free(effects->effect);
    free(effects->notice);
    free(effects->arena);
    free(effects->counter);
    free(effects->counter_part);
    for (size_t i = 0; i < effects->version_count; i++)
        rule_version_release(&effects->version[i]);
    free(effects->version);
    effects_init(effects);
}

void effects_clear(struct effects *effects)
{
    effects->effect_count = 0;
    effects->notice_count = 0;
    effects->arena_size = 0;
    effects->next_wake_ns = UINT64_MAX;
    effects->left = false;
    effects->counter_count = 0;
    effects->counter_part_count = 0;
    while (effects->version_count > 0)
        rule_version_release(&effects->version[--effects->version_count]);
    effects->rules = (struct rules_result){0};
    effects->weights_text = (struct bytes){0};
    effects->keys_text = (struct bytes){0};
    effects->limits_text = (struct bytes){0};
}

void effects_append(struct effects *effects, const void *data, size_t size)
{
    if (size == 0)
        return; /* data may be NULL */
    ARRAY_REQUIRE(effects->arena, effects->arena_room, effects->arena_size + size);
    memcpy(effects->arena + effects->arena_size, data, size);
    effects->arena_size += size;
}

void effects_emit_to(struct effects *effects, enum effect_kind kind, const char *name, const char *address,
                     size_t offset)
{
    ARRAY_REQUIRE(effects->effect, effects->effect_room, effects->effect_count + 1);
    struct effect *effect = &effects->effect[effects->effect_count++];
    memset(effect, 0, sizeof *effect);
    effect->kind = kind;
    effect->offset = offset;
    effect->size = effects->arena_size - offset;
    (void)snprintf(effect->name, sizeof effect->name, "%s", name);
    (void)snprintf(effect->address, sizeof effect->address, "%s", address);
}

void effects_emit(struct effects *effects, enum effect_kind kind, size_t offset)
{
    effects_emit_to(effects, kind, "", "", offset);
}

void effects_counter(struct effects *effects, const struct counter *counter, const struct counter_part *parts)
{
    ARRAY_REQUIRE(effects->counter, effects->counter_room, effects->counter_count + 1);
    struct counter *added = &effects->counter[effects->counter_count++];
    *added = *counter;
    added->first_part = effects->counter_part_count;
    if (counter->part_count == 0)
        return;
    ARRAY_REQUIRE(effects->counter_part, effects->counter_part_room,
                  effects->counter_part_count + counter->part_count);
    memcpy(effects->counter_part + effects->counter_part_count, parts, counter->part_count * sizeof *parts);
    effects->counter_part_count += counter->part_count;
}

void effects_add_version(struct effects *effects, struct rule_version *version)
{
    ARRAY_REQUIRE(effects->version, effects->version_room, effects->version_count + 1);
    effects->version[effects->version_count++] = rule_version_retain(version);
}

void effects_notice(struct effects *effects, enum notice_level level, const char *format, ...)
{
    if (effects->notice_count == NOTICES_MAX)
        return;
    ARRAY_REQUIRE(effects->notice, effects->notice_room, effects->notice_count + 1);
    struct notice *notice = &effects->notice[effects->notice_count++];
    notice->level = level;
    if (effects->notice_count == NOTICES_MAX) {
        (void)snprintf(notice->text, sizeof notice->text, "more happened in this moment than can be told");
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(notice->text, sizeof notice->text, format, arguments);
    va_end(arguments);
}

bool effects_notice_is_due(uint64_t *told_ns, uint64_t now_ns)
{
    if (*told_ns > 0 && now_ns - *told_ns < NOTICE_GAP_NS)
        return false;
    *told_ns = now_ns;
    return true;
}
