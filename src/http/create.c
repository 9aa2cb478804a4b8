/*
 * What a thread serves HTTP with is made once: nothing is allocated for a request.
 */
#include "http/call.h"

#include <stdlib.h>

struct http *http_create(struct commands *commands, const struct http_settings *settings)
{
    struct http *http = calloc(1, sizeof *http);
    if (http == NULL)
        return NULL;
    http->commands = commands;
    http_options_init(&http->options, settings);
    http->usual_s = UINT64_MAX;
    json_arena_init(&http->arena, http->arena_room, sizeof http->arena_room);
    return http;
}

void http_take_settings(struct http *http, const struct http_settings *settings)
{
    http_options_change(&http->options, settings);
}

void http_leave(struct http *http)
{
    http->leaves = true;
}

void http_destroy(struct http **http)
{
    free(*http);
    *http = NULL;
}
