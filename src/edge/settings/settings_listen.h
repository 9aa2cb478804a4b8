/*
 * settings_listen: whether this machine knows the names of the hosts on which a daemon is to listen.
 *
 * The one idea: a name is looked up before any port is opened, so one that nobody knows is told as a mistake in the
 * config, whatever kind of port it is for. A check of the config on another machine does not look names up.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_LISTEN_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_LISTEN_H

#include "edge/settings/settings.h"

/* `file` is the name of the config. False: a name does not resolve, and `error` (EX_NOHOST) names its line. */
bool settings_check_hosts(const struct settings *settings, const char *file, struct error *error);

#endif
