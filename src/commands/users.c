#include "commands/users.h"

#include "rules/rule.h"
#include "wire/command.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)USERS_KEY_BYTES == (int)crypto_generichash_KEYBYTES &&
                   (int)USER_DIGEST_BYTES == (int)crypto_generichash_BYTES,
               "of the hash that is used");

const struct user user_default = {.name = "default", .roles = ROLE_ALL};

static void hash(const struct users *users, struct bytes secret, unsigned char digest[USER_DIGEST_BYTES])
{
    (void)crypto_generichash(digest, USER_DIGEST_BYTES, (const unsigned char *)secret.data, secret.size, users->key,
                             sizeof users->key);
}

struct users *users_create(const struct users_settings *settings)
{
    struct users *users = calloc(1, sizeof *users);
    if (users == NULL)
        return NULL;
    users->checks = secret_checks_create();
    if (users->checks == NULL) {
        free(users);
        return NULL;
    }
    randombytes_buf(users->key, sizeof users->key);
    users_update(users, settings);
    return users;
}

static bool is_named(const struct users_settings *settings, const char *name)
{
    for (uint32_t i = 0; i < settings->count; i++)
        if (strcmp(settings->user[i].name, name) == 0)
            return true;
    return false;
}

static void forget(struct user *user)
{
    const uint32_t edition = user->edition + 1;
    sodium_memzero(user, sizeof *user);
    user->edition = edition;
}

/* The place of the user of that name, or a free one: there are as many places as users may be. */
static struct user *place_of(struct users *users, const char *name)
{
    struct user *free_place = NULL;
    for (uint32_t i = 0; i < users->count; i++) {
        struct user *user = &users->user[i];
        if (strcmp(user->name, name) == 0)
            return user;
        if (user->name[0] == '\0' && free_place == NULL)
            free_place = user;
    }
    return free_place != NULL ? free_place : &users->user[users->count++];
}

void users_update(struct users *users, const struct users_settings *settings)
{
    for (uint32_t i = 0; i < users->count; i++)
        if (users->user[i].name[0] && !is_named(settings, users->user[i].name))
            forget(&users->user[i]);
    for (uint32_t i = 0; i < settings->count; i++) {
        const struct user_settings *from = &settings->user[i];
        struct user *user = place_of(users, from->name);
        memcpy(user->name, from->name, sizeof user->name);
        memcpy(user->services, from->services, sizeof user->services);
        user->roles = from->roles;
        memcpy(user->password_hash, from->password_hash, sizeof user->password_hash);
        hash(users, bytes_of(from->secret), user->digest);
    }
}

void users_destroy(struct users **users)
{
    if (*users != NULL) {
        secret_checks_destroy(&(*users)->checks);
        sodium_memzero(*users, sizeof **users);
    }
    free(*users);
    *users = NULL;
}

const struct user *users_named(const struct users *users, struct bytes name)
{
    for (uint32_t i = 0; users != NULL && name.size > 0 && i < users->count; i++)
        if (bytes_equal(bytes_of(users->user[i].name), name))
            return &users->user[i];
    return NULL;
}

enum secret_outcome users_find(const struct users *users, struct bytes name, struct bytes secret,
                               const struct user **user)
{
    unsigned char digest[USER_DIGEST_BYTES];
    enum secret_outcome outcome = SECRET_WRONG;
    *user = NULL;
    if (users == NULL)
        return SECRET_WRONG;
    hash(users, secret, digest);
    const struct user *found = users_named(users, name);
    if (found != NULL && found->password_hash[0])
        outcome = secret_check(users->checks, found->password_hash, secret);
    else if (found != NULL && sodium_memcmp(digest, found->digest, sizeof digest) == 0)
        outcome = SECRET_RIGHT;
    *user = outcome == SECRET_RIGHT ? found : NULL;
    return outcome;
}

void users_read_bearer(const struct users *users, struct bytes bearer, struct bytes *name, struct bytes *secret)
{
    const char *colon = bearer.size > 0 ? memchr(bearer.data, ':', bearer.size) : NULL;
    const struct bytes before = {bearer.data, colon != NULL ? (size_t)(colon - bearer.data) : 0};
    const bool named = colon != NULL && users_named(users, before) != NULL;
    *name = named ? before : bytes_of(user_default.name);
    *secret = named ? (struct bytes){colon + 1, bearer.size - before.size - 1} : bearer;
}

bool user_serves(const struct user *user, struct bytes service)
{
    const struct bytes name = service.size > 0 ? service : bytes_of(RULE_DEFAULT_SERVICE);
    for (const char *at = user->services; *at;) {
        at += strspn(at, ", ");
        const struct bytes word = {at, strcspn(at, ", ")};
        if (word.size > 0 && bytes_equal(word, name))
            return true;
        at += word.size;
    }
    return user->services[0] == '\0';
}

bool user_asks(const struct user *user, struct bytes service, char *error)
{
    if (user_serves(user, service))
        return true;
    (void)snprintf(error, COMMAND_ERROR_BYTES, "NOPERM user '%s' may ask for the services %.180s only", user->name,
                   user->services);
    return false;
}
