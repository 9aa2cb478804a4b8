/*
 * settings_listen: the addresses on which a daemon is to listen, and whether this machine knows the names in them.
 *
 * The one idea: a name is looked up before any port is opened, so a name that nobody knows is told as a mistake in
 * the config, whatever kind of port it is for. A check of the config on another machine does not look names up.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_LISTEN_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_LISTEN_H

#include "edge/settings/settings.h"

enum { SETTINGS_LISTENS = 8 };

/* A key such as "listen.http", and the address that it has; "": none. Both are views. */
struct settings_listen {
    const char *path, *address;
};
/* All addresses on which the daemon may listen. */
void settings_listens(const struct settings *settings, struct settings_listen listens[SETTINGS_LISTENS]);

/* `file` is the name of the config. False: a name does not resolve, and `error` (EX_NOHOST) names its line. */
bool settings_check_hosts(const struct settings *settings, const char *file, struct error *error);
/* Names the line of the key whose address stands in the sentence, as "cannot listen on ADDRESS: ...". Returns false. */
bool settings_locate_listen(const struct settings *settings, const char *file, struct error *error);

#endif
