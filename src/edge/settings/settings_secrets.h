/*
 * settings_secrets: the secrets of the config, and where a secret may stand that is not in the config itself.
 *
 * The one idea: the key NAME has a secret, NAME_file the path of a file whose first line it is, and NAME_env the name
 * of a variable of the environment; one of the three. A secret outside the config is fetched after the whole config
 * was read, and again at each reload; no secret is printed. settings_users.c and settings_central.c read the secrets of
 * users and of the central store.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_SECRETS_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_SECRETS_H

#include "edge/settings/settings.h"
#include "edge/settings/settings_reader.h"

/* Reads what the config says of the cluster's secrets, of the seed of hashes and of the password. Fetches nothing. */
bool settings_read_secrets(const struct settings_reader *reader, struct settings *settings);
/* Reads all secrets that stand elsewhere. `file` is the config's name in sentences about mistakes. */
bool settings_fetch_secrets(struct settings *settings, const char *file, struct error *error);
/* Makes keys of the secrets that are known: of the hash of ids, with the digest of the config, and of seals. */
void settings_derive_keys(struct settings *settings);

/* True: some secret stands in the config itself. */
bool settings_has_secrets_here(const struct settings *settings);
/* What is wrong with a secret that peers are known by, if anybody can guess it; else NULL. */
const char *settings_weak_secret(const struct settings *settings);
/* Replaces all secrets of `settings`, so that they can be shown. */
void settings_hide_secrets(struct settings *settings);

/* ---- one secret ---- */

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
/* As read_text, but no sentence shows the value: it is a secret, or may be one by mistake. */
bool settings_read_hidden(const struct settings_reader *reader, const char *path, char *out, size_t room,
                          const char *expected);

#endif
