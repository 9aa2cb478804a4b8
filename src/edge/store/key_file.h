/*
 * key_file: the file headgate.key of a state directory, which keeps the key of this daemon (member_key.h).
 *
 * The one idea: peers know a daemon by its key, so the key lives as long as the daemon's state. The file has the seed,
 * the public half that comes from it, which tells a whole file from a torn one, and what the key before has
 * signed of this one. persist_key.c decides.
 */
#ifndef HEADGATE_EDGE_STORE_KEY_FILE_H
#define HEADGATE_EDGE_STORE_KEY_FILE_H

#include "edge/peers/member_key.h"
#include "edge/store/secret_file.h"

#define KEY_FILE_NAME "headgate.key"

enum secret_file key_file_read(const char *directory, struct member_key *member_key, char flaw[STATE_FLAW_BYTES]);

/* See secret_file_write. */
bool key_file_write(const char *directory, const struct member_key *member_key, char flaw[STATE_FLAW_BYTES]);

#endif
