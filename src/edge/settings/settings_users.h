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
/* Reads the secrets that stand elsewhere. `file` is the config's name in sentences about mistakes. */
bool settings_fetch_secrets(struct settings *settings, const char *file, struct error *error);
/* Where a secret may stand that is not in the config, and how the config's keys are called that say so. */
struct secret_place {
    const char *config;          /* the config's name, */
    unsigned line;               /* and the line of the key that says so */
    const char *of, *name;       /* "central.", "password" */
    const char *file, *variable; /* what the keys name_file and name_env say; "": nothing */
};
/* The line of the first of these keys that is there; 0: none is. */
unsigned settings_line_of(const struct settings_reader *reader, const char *path, const char *other_path);
/* Reads the secret from there; leaves `secret` as it is if it stands in neither. */
bool settings_fetch_secret(const struct secret_place *place, char secret[USER_SECRET_BYTES], struct error *error);
/* False: the secret, which may be NULL, was made from a config that was shown without secrets. */
bool settings_check_hidden(const struct settings_reader *reader, const char *path, const char *secret);
/* The roles as the config has them: "check, read". Returns `text`. */
const char *settings_print_roles(unsigned set, char text[USER_ROLES_BYTES]);
/* Replaces all secrets of `settings`, so that they can be shown. */
void settings_hide_secrets(struct settings *settings);

#endif
