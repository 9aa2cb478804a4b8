/*
 * effects grows what a step returns: bytes of messages in one arena, and lists of what the caller
 * must do with them. The caller reads all of it before the next step, which begins anew in the same
 * memory. A node that can get no memory for it ends.
 */
#include "cluster/codec/effects.h"

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
    while (effects->version_count > 0)
        rule_version_release(&effects->version[--effects->version_count]);
    effects->rules = (struct rules_result){0};
    effects->weights_text = (struct bytes){0};
    effects->keys_text = (struct bytes){0};
    effects->limits_text = (struct bytes){0};
}

/*
 * Room for `more` elements. One step emits a bounded amount, so growth is bounded. The process
 * cannot go on without memory.
 */
static void *grow(void *array, size_t count, size_t *room, size_t element_bytes, size_t more)
{
    if (count + more <= *room)
        return array;
    size_t wanted = *room ? *room * 2 : 16;
    while (wanted < count + more)
        wanted *= 2;
    void *grown = realloc(array, wanted * element_bytes);
    assert(grown && "out of memory");
    *room = wanted;
    return grown;
}

void effects_append(struct effects *effects, const void *data, size_t size)
{
    if (size == 0)
        return; /* data may be NULL */
    effects->arena = grow(effects->arena, effects->arena_size, &effects->arena_room, 1, size);
    memcpy(effects->arena + effects->arena_size, data, size);
    effects->arena_size += size;
}

void effects_emit_to(struct effects *effects, enum effect_kind kind, const char *name, const char *address,
                     size_t offset)
{
    effects->effect =
        grow(effects->effect, effects->effect_count, &effects->effect_room, sizeof *effects->effect, 1);
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

void effects_counter(struct effects *effects, const struct counter *counter)
{
    effects->counter =
        grow(effects->counter, effects->counter_count, &effects->counter_room, sizeof *effects->counter, 1);
    effects->counter[effects->counter_count++] = *counter;
}

void effects_add_version(struct effects *effects, struct rule_version *version)
{
    effects->version =
        grow(effects->version, effects->version_count, &effects->version_room, sizeof(struct rule_version *), 1);
    effects->version[effects->version_count++] = rule_version_retain(version);
}

void effects_notice(struct effects *effects, enum notice_level level, const char *format, ...)
{
    if (effects->notice_count == NOTICES_MAX)
        return;
    effects->notice =
        grow(effects->notice, effects->notice_count, &effects->notice_room, sizeof *effects->notice, 1);
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
