/*
 * settings_place: where the keys of a config stand in its file.
 *
 * The one idea: the line of each key is kept beside the settings. So a failure after the config was read (a file that
 * is missing, a port that is taken) is told with its line, as a mistake in the config is. Entries of lists have no
 * place here; the reader of a list keeps the lines that are needed.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_PLACE_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_PLACE_H

#include "edge/settings/settings.h"
#include "edge/settings/settings_reader.h"

struct tls_fault;

/* Notes the lines of all keys that the config has. */
void settings_note_lines(const struct settings_reader *reader, struct settings *settings);

/* The line of the key at `path`, such as "tls.key"; 0: the config does not have it. */
unsigned settings_line(const struct settings *settings, const char *path);

/*
 * Puts "FILE:LINE: " before the sentence, or "FILE: " if the config does not have the key. `file` is the name of the
 * config. Returns false.
 */
bool settings_locate(const struct settings *settings, const char *file, const char *path, struct error *error);

/* "FILE:LINE: GROUP.key is 'VALUE': expected ...", of a file of a certificate or of its key. Returns false. */
bool settings_tell_fault(const struct settings *settings, const char *file, const char *group,
                         const struct tls_fault *fault, struct error *error);

#endif
