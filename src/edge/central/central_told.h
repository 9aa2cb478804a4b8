/*
 * central_told: the reasons for which a store was said to be down, so that the log has each of them once.
 *
 * The one idea: a store that is away gives one reason, and sentinels that are asked in turn give several, again and
 * again. A log that has only the first of them may name a sentinel that nobody misses. This file writes no log.
 */
#ifndef HEADGATE_EDGE_CENTRAL_CENTRAL_TOLD_H
#define HEADGATE_EDGE_CENTRAL_CENTRAL_TOLD_H

#include "edge/central/central.h"

#include <stdbool.h>
#include <stdint.h>

enum { CENTRAL_REASONS_MAX = 4 };

/* All zero: none was told. */
struct central_told {
    uint32_t count;
    char reason[CENTRAL_REASONS_MAX][CENTRAL_ERROR_BYTES];
};

/* True: the reason was not told yet, and it is noted. False: it was, or there is no room for more. */
bool central_told_note(struct central_told *told, const char *reason);

#endif
