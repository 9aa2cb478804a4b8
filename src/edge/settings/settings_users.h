/*
 * settings_users: the part of the config that is about users: names, roles, scopes, and where their secrets are.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_USERS_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_USERS_H

#include "edge/settings/settings.h"
#include "edge/settings/settings_reader.h"

enum { USER_ROLES_BYTES = 64 };

/* Reads `users`; `password` must be known. Secrets in files and variables are not read yet. */
bool settings_read_users(const struct settings_reader *reader, struct settings *settings);
/* Reads the secrets of users that stand elsewhere. `file` is the config's name in sentences about mistakes. */
bool settings_fetch_users(struct settings *settings, const char *file, struct error *error);
/* The roles as the config has them: "check, read". Returns `text`. */
const char *settings_print_roles(unsigned set, char text[USER_ROLES_BYTES]);

#endif
