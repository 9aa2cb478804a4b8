/*
 * user_settings: the users of the config. Plain data, which the settings fill and src/commands/users.c reads.
 */
#ifndef HEADGATE_EDGE_SETTINGS_USER_SETTINGS_H
#define HEADGATE_EDGE_SETTINGS_USER_SETTINGS_H

#include <stdint.h>

enum {
    USERS_MAX = 64,
    USER_NAME_BYTES = 64,      /* with the terminator */
    USER_SERVICES_BYTES = 257, /* likewise: all of them */
    USER_SECRET_BYTES = 257,   /* likewise */
    USER_HASH_BYTES = 128,     /* likewise */
};

struct user_settings {
    char name[USER_NAME_BYTES];
    unsigned roles;                      /* of wire/role.h */
    char services[USER_SERVICES_BYTES];  /* as the config has them, between commas or blanks; "": all */
    char secret[USER_SECRET_BYTES];      /* from wherever it comes */
    char secret_file[USER_SECRET_BYTES]; /* "": it is in no file */
    char secret_env[USER_NAME_BYTES];    /* "": in no variable */
    unsigned secret_line;                /* of the config, which says that it is in one of these */
    char password_hash[USER_HASH_BYTES]; /* of argon2id; "": the secret is known, as one of the others */
};

struct users_settings {
    uint32_t count;
    struct user_settings user[USERS_MAX];
};

#endif
