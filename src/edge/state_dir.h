/*
 * state_dir: which directory a daemon keeps its state in, made if it is not there, and who may look at what is in it.
 *
 * The one idea: whoever asks for a directory gets it or an error; whoever asks for nothing gets a good place where
 * there is one (systemd's, or one below /var/lib) and else goes on without, and is told so.
 */
#ifndef HEADGATE_EDGE_STATE_DIR_H
#define HEADGATE_EDGE_STATE_DIR_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    STATE_DIR_BYTES = 384,  /* with the terminator */
    STATE_FILE_MODE = 0640, /* whatever the directory is: its owner's, and its group may read it */
    STATE_FLAW_BYTES = 96,
};

enum state_dir {
    STATE_DIR_READY, /* `path` is a directory that may be written; `error` has a text if others may, too */
    STATE_DIR_OFF,   /* nothing is to be kept, as was asked for */
    STATE_DIR_NONE,  /* nothing was asked for, and there is no place: `error` says why */
    STATE_DIR_WRONG, /* what was asked for cannot be had: `error` says why */
};

struct state_dir_options {
    const char *wanted;  /* the config's: "none", "" for the default, else a path */
    const char *systemd; /* $STATE_DIRECTORY: paths with colons between, or NULL */
    const char *parent;  /* where the default is made: a directory with the node's name */
    const char *node;
};

enum state_dir state_dir_find(const struct state_dir_options *options, char path[STATE_DIR_BYTES],
                              struct error *error);

/*
 * Whether the file at `path` may be opened, or made if there is none: it is a plain file of this user's or root's,
 * under this name alone. A symbolic link is not followed. Others lose the right to read or write it: then *closed.
 * False with `flaw`: what it is instead.
 */
bool state_file_prepare(const char *path, char flaw[STATE_FLAW_BYTES], bool *closed);

#endif
