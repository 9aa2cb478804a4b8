/*
 * refused_log: lines of the log about clients that send wrong passwords.
 *
 * The one idea: a client can send wrong passwords as fast as it likes, so lines are few and count
 * what they leave out. Each worker has such a log of its own, on the clock of its loop.
 */
#ifndef HEADGATE_REFUSED_LOG_H
#define HEADGATE_REFUSED_LOG_H

#include "edge/process/log.h"

#include <stdbool.h>
#include <stdint.h>

/* All zero: no line was written. */
struct refused_log {
    uint64_t count;     /* wrong passwords since the last line about them */
    uint64_t barred_ms; /* when the last line about a barred address was written; 0: never */
    uint64_t wrong_ms;  /* when the last line about wrong passwords was written; 0: never */
};

/* A wrong password came from `address`. `barred`: the address is barred from now on. */
void refused_log_note(struct refused_log *refused, struct log *log, const char *address, bool barred,
                      uint64_t now_ms);

#endif
