#include "edge/settings/settings_users.h"

#include "edge/process/secret_checks.h"
#include "edge/settings/settings_secrets.h"
#include "wire/role.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum role role;
} roles[] = {{"check", ROLE_CHECK}, {"read", ROLE_READ}, {"rules", ROLE_RULES}, {"admin", ROLE_ADMIN}};
enum { ROLES = sizeof roles / sizeof roles[0] };

const char *settings_print_roles(unsigned set, char text[USER_ROLES_BYTES])
{
    size_t size = 0;
    text[0] = '\0';
    for (size_t i = 0; i < ROLES; i++)
        if ((set & roles[i].role) != 0)
            size +=
                (size_t)snprintf(text + size, USER_ROLES_BYTES - size, "%s%s", size > 0 ? ", " : "", roles[i].name);
    return text;
}

/* The next word of a list with commas or blanks; size 0: there is none. */
static struct bytes next_word(const char **at)
{
    *at += strspn(*at, ", ");
    const struct bytes word = {*at, strcspn(*at, ", ")};
    *at += word.size;
    return word;
}

static unsigned role_of(struct bytes word)
{
    for (size_t i = 0; i < ROLES; i++)
        if (bytes_equal(word, bytes_of(roles[i].name)))
            return roles[i].role;
    return 0;
}

/* `reader` is within the user's entry, as in what follows. */
static bool read_roles(const struct settings_reader *reader, unsigned *set)
{
    const char *text = reader_text(reader, "roles");
    if (text == NULL)
        return reader_missing(reader, "roles", "some of check, read, rules and admin");
    const char *at = text;
    for (struct bytes word; (word = next_word(&at)).size > 0;) {
        const unsigned role = role_of(word);
        *set |= role;
        if (role == 0)
            return reader_wrong(reader, "roles", text, "some of check, read, rules and admin");
    }
    return *set != 0 || reader_wrong(reader, "roles", text, "some of check, read, rules and admin");
}

/* The figures of all services, and the rules of all, are no secret before other roles. */
static bool read_services(const struct settings_reader *reader, struct user_settings *user)
{
    static const char expected[] = "names of services such as shop, mail, or no such key for all of them";
    const char *text = reader_text(reader, "services"), *at = text;
    if (text == NULL)
        return true;
    if (!read_text(reader, "services", user->services, sizeof user->services, expected))
        return false;
    if (next_word(&at).size == 0)
        return reader_wrong(reader, "services", text, "%s", expected);
    return user->roles == ROLE_CHECK ||
           reader_wrong(reader, "services", text, "no such key, as roles other than check are for all services");
}

static bool read_hash(const struct settings_reader *reader, struct user_settings *user)
{
    static const char expected[] =
        "what headgate hash-password prints, in quotes: $argon2id$v=19$m=65536,t=2,p=1$...";
    const char *text = reader_text(reader, "password_hash");
    if (text == NULL)
        return true;
    if (!settings_check_hidden(reader, "password_hash", text))
        return false;
    if (!secret_hash_is_good(text)) /* it may be the password itself, by mistake: nobody is to read it in a log */
        return reader_is(reader, "password_hash", "no such hash: expected %s", expected);
    return read_text(reader, "password_hash", user->password_hash, sizeof user->password_hash, expected);
}

static bool read_secret(const struct settings_reader *reader, struct user_settings *user)
{
    static const char *const keys[] = {"secret", "secret_file", "secret_env", "password_hash"};
    unsigned count = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        count += reader_text(reader, keys[i]) != NULL;
    if (count != 1)
        return reader_fail(
            reader, "",
            "users has %u of secret, secret_file, secret_env and password_hash for '%s': expected one "
            "of them",
            count, user->name);
    user->secret_line = settings_line_of(reader, "secret_file", "secret_env");
    return settings_read_hidden(reader, "secret", user->secret, sizeof user->secret, "1 to 256 bytes") &&
           read_text(reader, "secret_file", user->secret_file, sizeof user->secret_file, "the path of a file") &&
           settings_read_hidden(reader, "secret_env", user->secret_env, sizeof user->secret_env,
                                "the name of a variable of the environment") &&
           read_hash(reader, user);
}

bool settings_read_users(const struct settings_reader *reader, struct settings *settings)
{
    struct users_settings *users = &settings->users;
    struct settings_reader entry;
    for (uint32_t i = 0; reader_entry(reader, "users", i, &entry); i++) {
        struct user_settings *user = &users->user[i];
        if (!read_name(&entry, "name", user->name, sizeof user->name, "the user's name"))
            return false;
        for (uint32_t other = 0; other < i; other++)
            if (strcmp(users->user[other].name, user->name) == 0)
                return reader_wrong(&entry, "name", user->name, "a name that users[%u] does not have already",
                                    other);
        if (strcmp(user->name, "default") == 0 && settings_secret_is_given(&settings->password))
            return reader_wrong(&entry, "name", user->name,
                                "another name, or no password: the password is that of the user default");
        if (!read_roles(&entry, &user->roles) || !read_services(&entry, user) || !read_secret(&entry, user) ||
            !settings_check_hidden(&entry, "secret", user->secret))
            return false;
        users->count++;
    }
    return true;
}

/* ---- secrets that stand elsewhere ---- */

bool settings_fetch_users(struct settings *settings, const char *file, struct error *error)
{
    for (uint32_t i = 0; i < settings->users.count; i++) {
        struct user_settings *user = &settings->users.user[i];
        char of[32];
        (void)snprintf(of, sizeof of, "users[%u].", i);
        const struct secret_place place = {.config = file,
                                           .line = user->secret_line,
                                           .of = of,
                                           .name = "secret",
                                           .file = user->secret_file,
                                           .variable = user->secret_env};
        if (!settings_fetch_secret(&place, user->secret, error))
            return false;
    }
    return true;
}
