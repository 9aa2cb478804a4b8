#include "edge/settings/settings_users.h"

#include "edge/process/secret_checks.h"
#include "edge/process/text_file.h"
#include "edge/settings/settings_central.h"
#include "wire/role.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

enum { SECRET_FILE_MAX_BYTES = 4096 };

/* Stands for a secret in what is shown. A config must not have it: it was made from what was shown. */
static const char HIDDEN[] = "(given)";

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

bool settings_check_hidden(const struct settings_reader *reader, const char *path, const char *secret)
{
    return secret == NULL || strcmp(secret, HIDDEN) != 0 ||
           reader_wrong(reader, path, secret, "the value itself: headgated prints it with --show-secrets");
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
    if (!secret_hash_is_good(text))
        return reader_wrong(reader, "password_hash", text, "%s", expected);
    return read_text(reader, "password_hash", user->password_hash, sizeof user->password_hash, expected);
}

unsigned settings_line_of(const struct settings_reader *reader, const char *path, const char *other_path)
{
    const struct yaml_node *node = reader_node(reader, path);
    if (node == NULL)
        node = reader_node(reader, other_path);
    return node != NULL ? node->line : 0;
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
    return read_text(reader, "secret", user->secret, sizeof user->secret, "1 to 256 bytes") &&
           read_text(reader, "secret_file", user->secret_file, sizeof user->secret_file, "the path of a file") &&
           read_text(reader, "secret_env", user->secret_env, sizeof user->secret_env,
                     "the name of a variable of the environment") &&
           read_hash(reader, user);
}

bool settings_read_users(const struct settings_reader *reader, struct settings *settings)
{
    struct users_settings *users = &settings->users;
    struct settings_reader entry;
    if (!settings_check_hidden(reader, "secret", settings->secret) ||
        !settings_check_hidden(reader, "password", settings->password) ||
        !settings_check_hidden(reader, "hash_seed", settings->hash_seed) ||
        (settings->secrets.count > 0 && !settings_check_hidden(reader, "secrets", settings->secrets.secret[0])))
        return false;
    for (uint32_t i = 0; reader_entry(reader, "users", i, &entry); i++) {
        struct user_settings *user = &users->user[i];
        if (!read_name(&entry, "name", user->name, sizeof user->name, "the user's name"))
            return false;
        for (uint32_t other = 0; other < i; other++)
            if (strcmp(users->user[other].name, user->name) == 0)
                return reader_wrong(&entry, "name", user->name, "a name that users[%u] does not have already",
                                    other);
        if (strcmp(user->name, "default") == 0 && settings->password[0])
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

/* The first line of a text; false: it is empty or too long. */
static bool take_line(const char *text, size_t size, char secret[USER_SECRET_BYTES])
{
    const char *end = memchr(text, '\n', size);
    const size_t line = end != NULL ? (size_t)(end - text) : size;
    if (line == 0 || line >= USER_SECRET_BYTES || memchr(text, '\0', line) != NULL)
        return false;
    memcpy(secret, text, line);
    secret[line] = '\0';
    return true;
}

/* "FILE:LINE: users[0].secret_file is 'VALUE': expected ..." */
__attribute__((format(printf, 5, 6))) static bool wrong(struct error *error, const struct secret_place *place,
                                                        const char *key, const char *value, const char *format, ...)
{
    char expected[ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    return error_set(error, EX_CONFIG, "%s:%u: %s%s%s is '%s': expected %s", place->config, place->line, place->of,
                     place->name, key, value, expected);
}

static bool fetch_file(const struct secret_place *place, char secret[USER_SECRET_BYTES], struct error *error)
{
    struct error why;
    struct stat status;
    size_t size;
    char *text = text_file_read(place->file, SECRET_FILE_MAX_BYTES, "a file with a secret", &size, &why);
    if (text == NULL)
        return wrong(error, place, "_file", place->file, "a file with a secret in its first line, but %s",
                     why.text);
    const bool good = size <= SECRET_FILE_MAX_BYTES && take_line(text, size, secret);
    sodium_memzero(text, size);
    free(text);
    if (!good)
        return wrong(error, place, "_file", place->file, "a file whose first line has 1 to 256 bytes");
    if (stat(place->file, &status) == 0 && (status.st_mode & S_IRWXO) != 0)
        return wrong(error, place, "_file", place->file,
                     "a file that others cannot read, such as mode 600 (it has %03o)",
                     (unsigned)(status.st_mode & 0777));
    return true;
}

bool settings_fetch_secret(const struct secret_place *place, char secret[USER_SECRET_BYTES], struct error *error)
{
    const char *value = place->variable[0] ? getenv(place->variable) : NULL;
    if (place->variable[0] && (value == NULL || !take_line(value, strlen(value), secret)))
        return wrong(error, place, "_env", place->variable, "a variable with 1 to 256 bytes");
    return !place->file[0] || fetch_file(place, secret, error);
}

bool settings_fetch_secrets(struct settings *settings, const char *file, struct error *error)
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
    return settings_fetch_central(settings, file, error);
}

/* ---- showing ---- */

static void hide(char *secret, size_t size)
{
    if (secret[0])
        (void)snprintf(secret, size, "%s", HIDDEN);
}

void settings_hide_secrets(struct settings *settings)
{
    hide(settings->secret, sizeof settings->secret);
    hide(settings->hash_seed, sizeof settings->hash_seed);
    for (uint32_t i = 0; i < settings->secrets.count; i++)
        hide(settings->secrets.secret[i], sizeof settings->secrets.secret[i]);
    hide(settings->password, sizeof settings->password);
    hide(settings->central.password, sizeof settings->central.password);
    for (uint32_t i = 0; i < settings->users.count; i++)
        hide(settings->users.user[i].secret, sizeof settings->users.user[i].secret);
    for (uint32_t i = 0; i < settings->users.count; i++)
        hide(settings->users.user[i].password_hash, sizeof settings->users.user[i].password_hash);
}
