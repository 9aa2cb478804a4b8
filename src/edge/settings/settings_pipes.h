/*
 * settings_pipes: refuses the files that a config names where they are pipes.
 *
 * The one idea: to open a pipe waits until somebody writes to it. A daemon that starts may wait; a daemon that runs
 * would serve nobody meanwhile. So all paths are looked at before one of the files is opened.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_PIPES_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_PIPES_H

#include "edge/settings/settings.h"

/* False: some secret, certificate or key is to be read from a pipe. `file` is the config's name in the sentence. */
bool settings_refuse_pipes(const struct settings *settings, const char *file, struct error *error);

#endif
