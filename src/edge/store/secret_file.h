/*
 * secret_file: a small file of a state directory with something that nobody else may read: headgate.seed, headgate.key.
 *
 * The one idea: it is a state_file, and nothing of its text stays in memory. seed_file.c and key_file.c say
 * what the text means, and whether it is whole.
 */
#ifndef HEADGATE_EDGE_STORE_SECRET_FILE_H
#define HEADGATE_EDGE_STORE_SECRET_FILE_H

#include "edge/store/state_dir.h"

#include <stdbool.h>

enum { SECRET_FILE_BYTES = 1024 }; /* of a text, its end included; a longer file is cut off, and so is of no use */

enum secret_file {
    SECRET_FILE_READ,
    SECRET_FILE_NONE,
    SECRET_FILE_WRONG, /* there is a file that is not whole, or that may not be opened: `flaw` says which */
};

/* Reads the text of the file of that name. The caller wipes `text`. */
enum secret_file secret_file_read(const char *directory, const char *name, char text[SECRET_FILE_BYTES],
                                  char flaw[STATE_FLAW_BYTES]);
/* The text is not what the daemon writes: wipes it, and says so. Returns SECRET_FILE_WRONG. */
enum secret_file secret_file_refuse(char text[SECRET_FILE_BYTES], char flaw[STATE_FLAW_BYTES]);

/*
 * Writes the file, and wipes `text`. A crash leaves the file that was there or the new one, each whole. The caller must
 * hold the directory (store_open). False: `flaw` says why, and the file is what it was.
 */
bool secret_file_write(const char *directory, const char *name, char text[SECRET_FILE_BYTES],
                       char flaw[STATE_FLAW_BYTES]);

#endif
