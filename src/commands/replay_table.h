/*
 * replay_table: the memory of replay.h, for the two files that know it.
 *
 * The one idea: a key has its row by its hash, and one of the places of that row. A row has a lock of its own. Nothing
 * here is written to a file as it stands.
 */
#ifndef HEADGATE_COMMANDS_REPLAY_TABLE_H
#define HEADGATE_COMMANDS_REPLAY_TABLE_H

#include "commands/replay.h"

#include <stdatomic.h>

struct replay_place {
    struct key_id id;
    uint64_t request;
    uint64_t until_ns; /* 0: empty */
    uint64_t owner;    /* the hash of the user's name */
    struct replay_answer answer;
};

struct replay_row {
    atomic_bool locked;
    struct replay_place place[REPLAY_ROW_PLACES];
};

struct replays {
    struct hash_key key;
    atomic_bool any; /* something was remembered since the start: until then no row need be read */
    struct replay_row row[REPLAY_ROWS];
};

#endif
