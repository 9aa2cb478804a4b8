/*
 * users: who may do what. A client says a name and a secret, and is a user from then on.
 *
 * The one idea: secrets are compared by keyed hashes, under a key that the daemon draws at its start. To compare a
 * secret costs the same whether it is right or not, and takes no time worth a thread of its own. Which role a
 * command or a path needs stands in their tables (wire/command.h, http/routes.c).
 */
#ifndef HEADGATE_COMMANDS_USERS_H
#define HEADGATE_COMMANDS_USERS_H

#include "base/bytes.h"
#include "edge/settings/user_settings.h"
#include "wire/role.h"

#include <stdbool.h>
#include <stdint.h>

enum { USERS_KEY_BYTES = 32, USER_DIGEST_BYTES = 32 };

struct user {
    char name[USER_NAME_BYTES];
    unsigned roles;
    char services[USER_SERVICES_BYTES]; /* between commas or blanks; "": all */
    unsigned char digest[USER_DIGEST_BYTES];
};

/* Never changes, so that all threads may read it. */
struct users {
    unsigned char key[USERS_KEY_BYTES];
    uint32_t count;
    struct user user[USERS_MAX];
};

/* Whoever is there where nobody is asked, and who says the password of the config: all roles, all services. */
extern const struct user user_default;

/* The caller may forget the settings' secrets. NULL: no memory. */
struct users *users_create(const struct users_settings *settings);
void users_destroy(struct users **users);

/* The user of that name. NULL: there is none. */
const struct user *users_named(const struct users *users, struct bytes name);
/* The user of that name and secret. NULL: there is none. `users` may be NULL. */
const struct user *users_find(const struct users *users, struct bytes name, struct bytes secret);

/*
 * What a bearer token says: NAME:SECRET of a user that is there, or the password of user_default, which may have a
 * colon as well. `users` may be NULL.
 */
void users_read_bearer(const struct users *users, struct bytes bearer, struct bytes *name, struct bytes *secret);

/* True: the user has one of the roles, or none is needed. */
static inline bool user_has(const struct user *user, unsigned roles)
{
    return roles == 0 || (user->roles & roles) != 0;
}
/* True: requests of that service ("": the default one) are the user's business. */
bool user_serves(const struct user *user, struct bytes service);
/* The same. False: `error` (COMMAND_ERROR_BYTES) says so. */
bool user_asks(const struct user *user, struct bytes service, char *error);

#endif
