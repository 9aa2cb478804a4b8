/*
 * A compiled service as a thing: its making and its end, its slots by id, and what was left out of it.
 */
#include "rules/ruleset_state.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct service *service_create(struct bytes name)
{
    assert(name.size > 0 && name.size <= RULE_NAME_MAX_BYTES);
    struct service *service = calloc(1, sizeof *service);
    if (!service)
        return NULL;
    arena_init(&service->arena);
    memcpy(service->name_text, name.data, name.size);
    service->name = (struct bytes){service->name_text, name.size};
    service->hash = text_hash(name, SEED_SERVICE);
    return service;
}

void service_destroy(struct service **service)
{
    if (!*service)
        return;
    for (uint32_t i = 0; i < (*service)->variant_count; i++)
        variant_close(&(*service)->variant[i]);
    arena_close(&(*service)->arena);
    free(*service);
    *service = NULL;
}

struct slot *service_slot(const struct service *service, struct bytes id)
{
    uint32_t low = 0, high = service->slot_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = bytes_compare(service->slot[middle].ruled.id, id);
        if (order == 0)
            return &service->slot[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* The sentence about the first doubt is kept, or about a circle. */
bool service_doubt(struct service *service, enum ruleset_doubt kind, const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    va_list arguments;
    if (service->doubt_count++ > 0 && kind != RULESET_CIRCLE)
        return true;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    service->doubt = kind;
    service->doubt_text = arena_copy(&service->arena, bytes_of(text)).data;
    return service->doubt_text != NULL;
}
