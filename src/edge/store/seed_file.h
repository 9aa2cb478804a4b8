/*
 * seed_file: the file headgate.seed of a state directory, which keeps what hashes of keys come from.
 *
 * The one idea: counters are found again by the hashes of their keys only, so the key of these hashes is kept with the
 * counters, and outlives the secret that it once came from. The file is a line for a config, with a fingerprint that
 * tells a whole file from a torn one. Decides nothing: persist_seed.c does.
 */
#ifndef HEADGATE_EDGE_STORE_SEED_FILE_H
#define HEADGATE_EDGE_STORE_SEED_FILE_H

#include "base/hash.h"
#include "edge/store/state_dir.h"

#define SEED_FILE_NAME "headgate.seed"

enum seed_file {
    SEED_FILE_READ,
    SEED_FILE_NONE,
    SEED_FILE_WRONG, /* there is a file that is not whole, or that may not be opened: `flaw` says which */
};

enum seed_file seed_file_read(const char *directory, struct hash_key *key, char flaw[STATE_FLAW_BYTES]);

/*
 * Writes the file whole or not at all; what a whole file said before is kept in headgate.seed.former. The caller must
 * hold the directory (store_open). False: `flaw` says why, and the file is what it was.
 */
bool seed_file_write(const char *directory, const struct hash_key *key, char flaw[STATE_FLAW_BYTES]);

#endif
