/*
 * settings_central: the part of the config that is about the central store of rules with sync: central: where it is,
 * and who asks it.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_CENTRAL_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_CENTRAL_H

#include "edge/settings/settings.h"
#include "edge/settings/settings_reader.h"

/* Reads `central`, but for what settings_read_simple reads. A password in a file or a variable is not read yet. */
bool settings_read_central(const struct settings_reader *reader, struct settings *settings);
/* Reads the password from where it stands. `file` is the config's name in sentences about mistakes. */
bool settings_fetch_central(struct settings *settings, const char *file, struct error *error);

#endif
