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
#include "edge/store/secret_file.h"

#define SEED_FILE_NAME "headgate.seed"

enum secret_file seed_file_read(const char *directory, struct hash_key *key, char flaw[STATE_FLAW_BYTES]);

/* See secret_file_write. What a whole file said before is kept in headgate.seed.former. */
bool seed_file_write(const char *directory, const struct hash_key *key, char flaw[STATE_FLAW_BYTES]);

#endif
