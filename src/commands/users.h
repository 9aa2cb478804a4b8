/*
 * users: who may do what. A client says a name and a secret, and is a user from then on.
 *
 * The one idea: secrets are compared by keyed hashes, under a key that the daemon draws at its start. To compare a
 * secret costs the same whether it is right or not, and takes no time worth a thread of its own. Of a user whose
 * secret the config has only as a slow hash, secret_checks.h finds out once what is right. Which role a command or a
 * path needs stands in their tables (wire/command.h, http/routes.c).
 */
#ifndef HEADGATE_COMMANDS_USERS_H
#define HEADGATE_COMMANDS_USERS_H

#include "base/bytes.h"
#include "edge/process/secret_checks.h"
#include "edge/settings/user_settings.h"
#include "wire/role.h"

#include <stdbool.h>
#include <stdint.h>

enum { USERS_KEY_BYTES = 32, USER_DIGEST_BYTES = 32 };

struct user {
    char name[USER_NAME_BYTES]; /* "": the place is free */
    uint32_t edition;           /* grows when the user goes: the place may become another's */
    unsigned roles;
    char services[USER_SERVICES_BYTES]; /* between commas or blanks; "": all */
    unsigned char digest[USER_DIGEST_BYTES];
    char password_hash[USER_HASH_BYTES]; /* "": the digest is that of the secret */
};

/*
 * All threads may read it. Apart from checks it changes in users_update alone. A user keeps its place as long as there
 * is one of its name.
 */
struct users {
    unsigned char key[USERS_KEY_BYTES];
    struct secret_checks *checks;
    uint32_t count; /* places in use, free ones between them included */
    struct user user[USERS_MAX];
};

/* Whoever is there where nobody is asked, and who says the password of the config: all roles, all services. */
extern const struct user user_default;

/* The caller may forget the settings' secrets. NULL: no memory. */
struct users *users_create(const struct users_settings *settings);
void users_destroy(struct users **users);
/*
 * Replaces the users by those of `settings`. No other thread may use `users` meanwhile. Who holds a pointer to a user
 * finds by the edition that this user is gone; the roles and services of one who stays are new.
 */
void users_update(struct users *users, const struct users_settings *settings);

/* The user of that name. NULL: there is none. */
const struct user *users_named(const struct users *users, struct bytes name);
/*
 * SECRET_RIGHT: *user is the user of that name and secret, else NULL. SECRET_WRONG: there is none. SECRET_WAITS: that
 * is being found out; the caller must ask again a little later. `users` may be NULL.
 */
enum secret_outcome users_find(const struct users *users, struct bytes name, struct bytes secret,
                               const struct user **user);

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
