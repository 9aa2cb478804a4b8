/*
 * http_settings: what an operator chose for HTTP. Plain data, which the settings fill and src/http reads.
 */
#ifndef HEADGATE_EDGE_SETTINGS_HTTP_SETTINGS_H
#define HEADGATE_EDGE_SETTINGS_HTTP_SETTINGS_H

#include "wire/path.h"

#include <stdint.h>

enum {
    HTTP_SOURCES_MAX = 12,  /* fields of gateways' requests that are read */
    HTTP_SOURCE_BYTES = 64, /* a name, with the terminator */
};

/* The fields of an answer that tell of the limit. */
enum http_limit_fields {
    HTTP_LIMIT_X,        /* X-RateLimit-Limit, -Remaining, -Reset */
    HTTP_LIMIT_DRAFT_10, /* RateLimit and RateLimit-Policy of draft-ietf-httpapi-ratelimit-headers-10 */
    HTTP_LIMIT_NONE,
};

/* A field of a gateway's request, and what it gives: a dimension, or a name of src/http/words.c. */
struct http_source {
    char header[HTTP_SOURCE_BYTES]; /* in small letters */
    char gives[HTTP_SOURCE_BYTES];
};

struct http_settings {
    enum http_limit_fields limit_fields;
    enum path_spelling endpoint_spelling;
    uint32_t source_count;
    struct http_source source[HTTP_SOURCES_MAX];
};

#endif
