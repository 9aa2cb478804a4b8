/*
 * command_throttle: the requests of two other servers: redis-cell's CL.THROTTLE and throttlecrab's THROTTLE.
 *
 *     CL.THROTTLE key max_burst count period [quantity]
 *
 * The one idea: numbers are whole, signed and of 64 bits, as there ("+5" and "-1" are numbers); whether their
 * values make sense is decided where they are used, and differs between the two. Pure.
 */
#ifndef HEADGATE_WIRE_COMMAND_THROTTLE_H
#define HEADGATE_WIRE_COMMAND_THROTTLE_H

#include "base/bytes.h"
#include "wire/resp.h"

#include <stdbool.h>
#include <stdint.h>

struct command_throttle {
    struct bytes key; /* any bytes, none included */
    int64_t max_burst, count, period_s, quantity;
};

/* A whole number with or without a sign. */
bool word_signed(struct bytes word, int64_t *number);

/*
 * Either command of five words at least. False, with that server's sentence for the client in `error`
 * (COMMAND_ERROR_BYTES).
 */
bool command_parse_cl_throttle(const struct resp_command *command, struct command_throttle *throttle, char *error);
bool command_parse_throttle(const struct resp_command *command, struct command_throttle *throttle, char *error);

#endif
