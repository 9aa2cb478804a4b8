/*
 * state_file: a small file of a state directory, such as headgate.seed.
 *
 * The one idea: the file is there whole or not at all, mode 600, and never behind a link. Its callers say what its
 * bytes mean, and whether they are whole. It is not the store's own file: that is store_file.h.
 */
#ifndef HEADGATE_EDGE_STORE_STATE_FILE_H
#define HEADGATE_EDGE_STORE_STATE_FILE_H

#include "base/bytes.h"
#include "edge/store/state_dir.h"

#include <stdbool.h>
#include <stddef.h>

enum state_file {
    STATE_FILE_READ,
    STATE_FILE_NONE,
    STATE_FILE_WRONG, /* there is a file that may not be opened, or cannot be read: `flaw` says which */
};

/* Reads the file of that name, up to `room` bytes of it. */
enum state_file state_file_read(const char *directory, const char *name, char *bytes, size_t room, size_t *size,
                                char flaw[STATE_FLAW_BYTES]);

/* Reads all of it into memory that the caller frees; NULL unless STATE_FILE_READ. */
enum state_file state_file_load(const char *directory, const char *name, char **bytes, size_t *size,
                                char flaw[STATE_FLAW_BYTES]);

/*
 * Writes the file. A crash leaves the file that was there or the new one, each whole. The caller must hold the
 * directory (store_open). False: `flaw` says why, and the file is what it was.
 */
bool state_file_write(const char *directory, const char *name, struct bytes bytes, char flaw[STATE_FLAW_BYTES]);
/*
 * Removes the file, if there is one; no crash brings it back. The caller must hold the directory. False: `flaw` says
 * why, and it may be there.
 */
bool state_file_remove(const char *directory, const char *name, char flaw[STATE_FLAW_BYTES]);

#endif
