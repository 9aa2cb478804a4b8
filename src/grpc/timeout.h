/*
 * timeout: grpc-timeout, the time that a client still waits for the answer: "100m". Pure.
 */
#ifndef HEADGATE_GRPC_TIMEOUT_H
#define HEADGATE_GRPC_TIMEOUT_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* False: it is not one to eight digits and a unit. */
bool grpc_timeout_read(struct bytes text, uint64_t *ns);

#endif
