/*
 * text_file: a whole file as text on the heap, for programs that parse it in one piece.
 *
 * The one idea: the caller names the most bytes that it can use, and gets one byte more of a longer
 * file, so that the caller can refuse the file in its own words.
 */
#ifndef HEADGATE_EDGE_PROCESS_TEXT_FILE_H
#define HEADGATE_EDGE_PROCESS_TEXT_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Reads at most `bytes_max` + 1 bytes of the file at `path`, or of stdin if `path` is NULL. The
 * caller must free the text. NULL: `error` is set, with EX_NOINPUT or EX_OSERR. `expected`
 * says what the file should be, for the sentence about a directory.
 */
char *text_file_read(const char *path, size_t bytes_max, const char *expected, size_t *size, struct error *error);
/* True if to open the file may wait for whoever writes to it. */
bool text_file_is_pipe(const char *path);

#endif
