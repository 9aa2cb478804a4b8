/*
 * state_dir: finds or makes the directory in which a daemon keeps its state, and guards its files.
 *
 * The one idea: if the config names a directory, the daemon gets that directory or an error. If the
 * config names none, the daemon gets a good place if there is one (systemd's, or one below
 * /var/lib); otherwise it runs without state, and is told so. Reads and writes no file's content.
 */
#ifndef HEADGATE_EDGE_STORE_STATE_DIR_H
#define HEADGATE_EDGE_STORE_STATE_DIR_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    STATE_DIR_BYTES = 384,      /* with the terminator */
    STATE_DIR_FILE_MODE = 0640, /* of its files, at most: the owner may write, the group may read */
    STATE_FLAW_BYTES = 96,
};

enum state_dir {
    STATE_DIR_READY, /* `path` is a writable directory; `error` has a warning if other users may write to it */
    STATE_DIR_OFF,   /* the config asks for no state */
    STATE_DIR_NONE,  /* the config names no directory, and no default exists: `error` says why */
    STATE_DIR_WRONG, /* the directory of the config is unusable: `error` says why */
};

struct state_dir_options {
    const char *wanted;  /* the config's value: "none", "" for the default, or a path */
    const char *systemd; /* $STATE_DIRECTORY: paths separated by colons, or NULL */
    const char *parent;  /* the place of the default: a directory named after the node */
    const char *node;
};

enum state_dir state_dir_find(const struct state_dir_options *options, char path[STATE_DIR_BYTES],
                              struct error *error);

/*
 * True if the file at `path` may be opened, or made if it is absent: it must be a regular file of
 * this user or of root, with no other name. Symbolic links are not followed. Takes the right to
 * read or write the file from other users, and says so in *closed. False: `flaw` says what the file
 * is.
 */
bool state_dir_guard_file(const char *path, char flaw[STATE_FLAW_BYTES], bool *closed);

#endif
