/*
 * patient: requests that may wait for their share, or for the central store (centrally.h), in any protocol: how long
 * they may, and what becomes of one after each try.
 *
 * The one idea: a request is decided between patient_begin and patient_end. If it is held then, the caller answers
 * nothing, charges nothing, and decides the same request again when its ticket is due. A ticket is a number that the
 * session keeps; 0: the session holds nothing. Internal to the commands and to the protocols over them.
 */
#ifndef HEADGATE_COMMANDS_PATIENT_H
#define HEADGATE_COMMANDS_PATIENT_H

#include "cluster/node.h"
#include "rules/match.h"

#include <stdbool.h>
#include <stdint.h>

struct commands;

/* What a request says of its patience (COMMAND_PATIENCE_NONE: nothing) replaces what its rules say. */
void patient_say(struct match *match, int32_t patience_ms);
/* True: some charge that can refuse the request lets it wait, or is the central store's. */
bool patient_is(const struct match *match);

struct patient {
    struct await await; /* for the run */
    uint32_t *ticket;
    bool crowded; /* it would have had to wait, and nobody more can */
};

/* `charges` with their ids. *ticket: 0, or of this request. */
void patient_begin(struct commands *commands, struct patient *patient, uint32_t *ticket,
                   const struct charge *charges, uint32_t count, uint64_t now_ns);
/* The request was decided. True: it is held. */
bool patient_end(struct commands *commands, struct patient *patient, bool allowed, const struct verdict *verdicts,
                 uint32_t count, uint64_t now_ns);

/* Drops the ticket: its client has gone, or its request is another one. Does nothing without one. */
void patient_leave(struct commands *commands, uint32_t *ticket);
/* True: the request of the ticket must be decided again. */
bool patient_is_due(struct commands *commands, uint32_t ticket, uint64_t now_ns);
/* From now on nobody waits: all tickets are due, and no request is held. */
void patient_stop(struct commands *commands);

#endif
