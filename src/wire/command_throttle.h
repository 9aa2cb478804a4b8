/*
 * command_throttle: the requests of two other servers: redis-cell's CL.THROTTLE and throttlecrab's
 * THROTTLE.
 *
 *     CL.THROTTLE key max_burst count period [quantity]
 *
 * The one idea: as in those servers, numbers are whole, signed and of 64 bits ("+5" and "-1" are
 * numbers). The caller checks their values, which the two dialects limit differently. Pure.
 */
#ifndef HEADGATE_WIRE_COMMAND_THROTTLE_H
#define HEADGATE_WIRE_COMMAND_THROTTLE_H

#include "base/bytes.h"
#include "wire/resp.h"

#include <stdbool.h>
#include <stdint.h>

struct command_throttle {
    struct bytes key; /* any bytes, also none */
    int64_t max_burst, count, period_s, quantity;
};

/* Parses a whole number with or without a sign. */
bool word_signed(struct bytes word, int64_t *number);

/*
 * Each parses its command of at least five words. On failure returns false, with that server's
 * sentence for the client in `error` (COMMAND_ERROR_BYTES).
 */
bool command_parse_cl_throttle(const struct resp_command *command, struct command_throttle *throttle, char *error);
bool command_parse_throttle(const struct resp_command *command, struct command_throttle *throttle, char *error);

#endif
