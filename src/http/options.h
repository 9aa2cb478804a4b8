/*
 * options: the settings that a thread serves HTTP by, while an operator changes them.
 *
 * The one idea: there are two sets. A request is served by the one in force; a request that waits keeps the set that it
 * began with, until it is answered. So new settings wait while somebody keeps a set that is no more in force, which is
 * no longer than a request may wait. No allocation. Internal to src/http.
 */
#ifndef HEADGATE_HTTP_OPTIONS_H
#define HEADGATE_HTTP_OPTIONS_H

#include "edge/settings/http_settings.h"

#include <stdbool.h>
#include <stdint.h>

struct http_options {
    struct http_settings set[2];
    uint32_t keepers[2]; /* requests that wait */
    uint8_t in_force;    /* an index of `set` */
    uint32_t edition;    /* changes whenever another set comes into force */
    bool changing;       /* `wanted` comes into force as soon as nobody keeps the other set */
    struct http_settings wanted;
};

void http_options_init(struct http_options *options, const struct http_settings *settings);
/* Replaces settings that wait to come into force. */
void http_options_change(struct http_options *options, const struct http_settings *settings);
/* *kept: 0, or what http_options_keep has written. */
const struct http_settings *http_options_of(const struct http_options *options, const uint8_t *kept);
/* The request keeps its set. Does nothing if it does so already. */
void http_options_keep(struct http_options *options, uint8_t *kept);
/* The request waits no more. Does nothing if it keeps no set. */
void http_options_leave(struct http_options *options, uint8_t *kept);

#endif
