/*
 * grpc_settings: what an operator chose for gRPC. Plain data, which the settings fill and src/grpc reads.
 */
#ifndef HEADGATE_EDGE_SETTINGS_GRPC_SETTINGS_H
#define HEADGATE_EDGE_SETTINGS_GRPC_SETTINGS_H

#include "edge/settings/http_settings.h"

#include <stdint.h>

struct grpc_settings {
    enum http_limit_fields limit_fields; /* of response_headers_to_add */
    enum path_spelling endpoint_spelling;
    uint64_t memory_bytes; /* of all connections of all threads together */
};

#endif
