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
    randombytes_buf(users->key, sizeof users->key);
    for (uint32_t i = 0; i < settings->count; i++) {
        const struct user_settings *from = &settings->user[i];
        struct user *user = &users->user[users->count++];
        memcpy(user->name, from->name, sizeof user->name);
        memcpy(user->services, from->services, sizeof user->services);
        user->roles = from->roles;
        hash(users, bytes_of(from->secret), user->digest);
    }
    return users;
}

void users_destroy(struct users **users)
{
    if (*users != NULL)
        sodium_memzero(*users, sizeof **users);
    free(*users);
    *users = NULL;
}

const struct user *users_named(const struct users *users, struct bytes name)
{
    for (uint32_t i = 0; users != NULL && i < users->count; i++)
        if (bytes_equal(bytes_of(users->user[i].name), name))
            return &users->user[i];
    return NULL;
}

const struct user *users_find(const struct users *users, struct bytes name, struct bytes secret)
{
    unsigned char digest[USER_DIGEST_BYTES];
    if (users == NULL)
        return NULL;
    hash(users, secret, digest);
    const struct user *user = users_named(users, name);
    return user != NULL && sodium_memcmp(digest, user->digest, sizeof digest) == 0 ? user : NULL;
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
