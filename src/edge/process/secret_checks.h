/*
 * secret_checks: holds secrets against hashes that are slow on purpose (argon2id, as `headgate hash-password` makes
 * them).
 *
 * The one idea: a thread of its own does the slow part, one check at a time, and its outcome is remembered under a
 * keyed hash, so that whoever asks again hears it at once. Of a hash whose secret is known, every other secret is
 * wrong without a check: guesses cost the daemon something only until the user has come once. What waits is bounded.
 */
#ifndef HEADGATE_EDGE_PROCESS_SECRET_CHECKS_H
#define HEADGATE_EDGE_PROCESS_SECRET_CHECKS_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SECRET_CHECKS_MAX = 192,       /* outcomes that are remembered, and checks that wait */
    SECRET_CHECKS_WAITING_MAX = 8, /* checks that wait; others must ask again */
    SECRET_BYTES_MAX = 256,        /* longer secrets are wrong */
    SECRET_HASH_BYTES = 128,       /* of a hash, with the terminator */
};

enum secret_outcome { SECRET_RIGHT, SECRET_WRONG, SECRET_WAITS };

struct secret_checks;

/* NULL: no memory. The thread starts with the first check. */
struct secret_checks *secret_checks_create(void);
/* Waits for the check that runs. */
void secret_checks_destroy(struct secret_checks **checks);

/* SECRET_WAITS: the caller must ask again a little later. `hash` must be good. Any thread may call this. */
enum secret_outcome secret_check(struct secret_checks *checks, const char *hash, struct bytes secret);

/* True: the text is a hash of argon2id that this daemon checks; its memory and time are bounded. */
bool secret_hash_is_good(const char *hash);
/* Makes a hash of a secret of 1 to SECRET_BYTES_MAX bytes. False: not enough memory (64 MiB). */
bool secret_hash_make(struct bytes secret, char hash[SECRET_HASH_BYTES]);

#endif
