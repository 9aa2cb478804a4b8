/*
 * centrally: requests that some rule with sync: central counts: the central store decides these charges, all of a
 * request in one call, and this node decides the others.
 *
 * The one idea: a request waits for the store as others wait for their share (patient.h): nothing is charged here
 * until the store has answered, and what the store has granted is given back if another rule refuses then. Where the
 * store is down, or fails, each rule says by when_down what counts. Internal to the commands and to the protocols over
 * them.
 */
#ifndef HEADGATE_COMMANDS_CENTRALLY_H
#define HEADGATE_COMMANDS_CENTRALLY_H

#include "limit/charge.h"
#include "limit/verdict.h"
#include "rules/match.h"

#include <stdbool.h>
#include <stdint.h>

struct commands;

/* Tickets with this bit are of requests that wait for the store. */
#define CENTRALLY_TICKET ((uint32_t)1 << 31)

/* True: some charge is the store's. */
bool centrally_is(const struct match *match);
/*
 * False: the store has a say, and the request is of a kind that never waits: `error` (COMMAND_ERROR_BYTES) says so.
 * `what`: such as "RESERVE".
 */
bool centrally_spares(const struct match *match, const char *what, char *error);

/*
 * Decides a request, whose charges have their ids: as node_decide with the same verdicts, and counted likewise.
 * *ticket: 0, or of this request. False: it has to wait, and must be decided again when centrally_is_due.
 */
bool centrally_decide(struct commands *commands, const struct charge *charges, uint32_t count, bool take,
                      uint32_t *ticket, uint64_t now_ns, struct verdict *verdicts, bool *allowed);
bool centrally_is_due(const struct commands *commands, uint32_t ticket);
/* Nobody asks for the request any more: what the store has granted is given back. */
void centrally_leave(const struct commands *commands, uint32_t *ticket);

#endif
