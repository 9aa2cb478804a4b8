#include "edge/settings/settings_secrets.h"

#include "edge/process/text_file.h"
#include "edge/settings/settings_central.h"
#include "edge/settings/settings_users.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

enum { SECRET_FILE_MAX_BYTES = 4096, KEY_BYTES = 32, GUESSED_BYTES = 8 };

_Static_assert((int)USER_SECRET_BYTES == (int)SETTINGS_SECRET_BYTES,
               "secrets of users and of the cluster are as long");

/* Stands for a secret in what is shown. A config must not have it: it was made from what was shown. */
static const char HIDDEN[] = "(given)";
static const char SOME[] = "1 to 256 bytes, or no such key";

/* ---- what the config says ---- */

unsigned settings_line_of(const struct settings_reader *reader, const char *path, const char *other_path)
{
    const struct yaml_node *node = reader_node(reader, path);
    if (node == NULL)
        node = reader_node(reader, other_path);
    return node != NULL ? node->line : 0;
}

bool settings_check_hidden(const struct settings_reader *reader, const char *path, const char *secret)
{
    return secret == NULL || strcmp(secret, HIDDEN) != 0 ||
           reader_wrong(reader, path, secret, "the value itself: headgated prints it with --show-secrets");
}

bool settings_read_hidden(const struct settings_reader *reader, const char *path, char *out, size_t room,
                          const char *expected)
{
    const char *text = reader_text(reader, path);
    if (text != NULL && strlen(text) >= room)
        return reader_is(reader, path, "too long: expected %s", expected);
    return read_text(reader, path, out, room, expected);
}

/* Reads NAME, NAME_file or NAME_env. `owner` has these keys, for the sentence about two of them. */
static bool read_one(const struct settings_reader *reader, const char *owner, const char *name,
                     struct settings_secret *secret)
{
    char in_file[KEY_BYTES], in_variable[KEY_BYTES];
    (void)snprintf(in_file, sizeof in_file, "%s_file", name);
    (void)snprintf(in_variable, sizeof in_variable, "%s_env", name);
    unsigned count = reader_text(reader, name) != NULL;
    count += reader_text(reader, in_file) != NULL;
    count += reader_text(reader, in_variable) != NULL;
    if (count > 1)
        return reader_fail(reader, name, "%s has %u of %s, %s and %s: expected one of them", owner, count, name,
                           in_file, in_variable);
    secret->line = settings_line_of(reader, in_file, in_variable);
    return settings_check_hidden(reader, name, reader_text(reader, name)) &&
           settings_read_hidden(reader, name, secret->text, sizeof secret->text, SOME) &&
           read_text(reader, in_file, secret->file, sizeof secret->file, "the path of a file") &&
           settings_read_hidden(reader, in_variable, secret->variable, sizeof secret->variable,
                                "the name of a variable of the environment");
}

/* An entry of `secrets`: a secret, or {secret_file: PATH} or {secret_env: NAME}. */
static bool read_entry(const struct settings_reader *entry, uint32_t index, struct settings_secret *secret)
{
    char owner[KEY_BYTES];
    (void)snprintf(owner, sizeof owner, "secrets[%u]", index);
    if (entry->within->kind != YAML_MAP)
        return settings_check_hidden(entry, "", reader_text(entry, "")) &&
               settings_read_hidden(entry, "", secret->text, sizeof secret->text, SOME) &&
               (strcmp(secret->text, "none") != 0 ||
                reader_wrong(entry, "", secret->text,
                             "a long random text: that there is no secret is said by "
                             "secret: none"));
    return read_one(entry, owner, "secret", secret) &&
           (settings_secret_is_given(secret) || reader_is(entry, "", "empty: expected secret_file or secret_env"));
}

/*
 * Keys of ids must stay what they are while secrets come and go, or all counters would begin anew: so a rotation needs
 * a seed of its own.
 */
static bool read_list(const struct settings_reader *reader, struct settings *settings)
{
    struct settings_secrets *secrets = &settings->secrets;
    struct settings_reader entry;
    if (!reader_node(reader, "secrets"))
        return true;
    if (settings_secret_is_given(&settings->secret) || settings->secret_is_none)
        return reader_fail(reader, "secrets", "%s and secrets are given: expected one of them",
                           settings->secret.file[0]       ? "secret_file"
                           : settings->secret.variable[0] ? "secret_env"
                                                          : "secret");
    if (!settings_secret_is_given(&settings->hash_seed))
        return reader_missing(reader, "hash_seed",
                              "with secrets, the text that hashes of keys come from, the same at all peers: what "
                              "secret was until now keeps all counters");
    for (; reader_entry(reader, "secrets", secrets->count, &entry); secrets->count++) {
        if (secrets->count == NODE_SEALS_MAX)
            return reader_fail(&entry, "", "secrets has too many entries: expected at most %d", NODE_SEALS_MAX);
        if (!read_entry(&entry, secrets->count, &secrets->secret[secrets->count]))
            return false;
    }
    return secrets->count > 0 || reader_is(reader, "secrets", "empty: expected the secret that seals, first");
}

/* A key that is cut off would otherwise be a text like any other, and begin all counters anew. */
static bool is_seed(const char *text)
{
    struct hash_key key;
    return strncmp(text, HASH_KEY_TEXT, sizeof HASH_KEY_TEXT - 1) != 0 || hash_key_from_text(&key, text);
}

static bool read_hash_seed(const struct settings_reader *reader, struct settings *settings)
{
    return read_one(reader, "the file", "hash_seed", &settings->hash_seed) &&
           (is_seed(settings->hash_seed.text) ||
            reader_fail(reader, "hash_seed",
                        "hash_seed begins with " HASH_KEY_TEXT
                        ": expected 32 hexadecimal digits after that, as in the "
                        "file headgate.seed, or another text"));
}

/* Without a secret everybody who reaches the ports for peers is a peer. A missing line must not allow that. */
bool settings_read_secrets(const struct settings_reader *reader, struct settings *settings)
{
    struct settings_secret *secret = &settings->secret;
    if (!read_one(reader, "the file", "password", &settings->password) ||
        !read_one(reader, "the file", "secret", secret) || !read_hash_seed(reader, settings))
        return false;
    settings->secret_is_none = strcmp(secret->text, "none") == 0;
    if (settings->secret_is_none)
        memset(secret->text, 0, sizeof secret->text);
    if (!read_list(reader, settings))
        return false;
    return settings_have_secret(settings) || settings->secret_is_none || settings->node.peer_count == 0 ||
           reader_fail(reader, "peers",
                       "peers are named, but secret is missing: expected a long random text, the same at all "
                       "peers, or none where no stranger can reach their ports");
}

/* ---- secrets that stand elsewhere ---- */

/* The first line of a text; false: it is empty or too long. */
static bool take_line(const char *text, size_t size, char secret[USER_SECRET_BYTES])
{
    const char *end = memchr(text, '\n', size);
    const size_t line = end != NULL ? (size_t)(end - text) : size;
    if (line == 0 || line >= USER_SECRET_BYTES || memchr(text, '\0', line) != NULL)
        return false;
    memset(secret, 0, USER_SECRET_BYTES);
    memcpy(secret, text, line);
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

/*
 * Whatever is not spelled as variables mostly are may be the secret itself, by mistake: nobody is to read it in a log.
 * Most secrets have letters of both cases, or are of hexadecimal digits.
 */
static bool is_surely_name(const char *name)
{
    return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

bool settings_fetch_secret(const struct secret_place *place, char secret[USER_SECRET_BYTES], struct error *error)
{
    const char *value = place->variable[0] ? getenv(place->variable) : NULL;
    if (place->variable[0] && (value == NULL || !take_line(value, strlen(value), secret)))
        return is_surely_name(place->variable)
                   ? wrong(error, place, "_env", place->variable, "a variable with 1 to 256 bytes")
                   : error_set(error, EX_CONFIG,
                               "%s:%u: %s%s_env names no variable that there is: expected one with 1 to 256 bytes",
                               place->config, place->line, place->of, place->name);
    return !place->file[0] || fetch_file(place, secret, error);
}

/* `of` and `name` make the key: see struct secret_place. `is_good` and `expected`: of a secret that is found there. */
static bool fetch_one(struct secret_place place, struct settings_secret *secret, bool (*is_good)(const char *text),
                      const char *expected, struct error *error)
{
    place.line = secret->line;
    place.file = secret->file;
    place.variable = secret->variable;
    if (!settings_fetch_secret(&place, secret->text, error))
        return false;
    const bool is_elsewhere = secret->file[0] || secret->variable[0];
    return !is_elsewhere || is_good == NULL || is_good(secret->text) ||
           wrong(error, &place, secret->file[0] ? "_file" : "_env",
                 secret->file[0] ? secret->file : secret->variable, "%s", expected);
}

/* That a cluster has no secret is said in the config, where it is seen. */
static bool is_not_none(const char *text)
{
    return strcmp(text, "none") != 0;
}

static bool fetch_cluster(struct settings *settings, const char *file, struct error *error)
{
    static const char a_secret[] = "a long random text there, and not none: that is said by secret: none";
    static const char a_seed[] = "32 hexadecimal digits there after " HASH_KEY_TEXT ", or another text";
    const struct secret_place place = {.config = file, .of = "", .name = "secret"};
    struct settings_secrets *secrets = &settings->secrets;
    for (uint32_t i = 0; i < secrets->count; i++) {
        char of[KEY_BYTES];
        struct secret_place entry = place;
        (void)snprintf(of, sizeof of, "secrets[%u].", i);
        entry.of = of;
        if (!fetch_one(entry, &secrets->secret[i], is_not_none, a_secret, error))
            return false;
    }
    struct secret_place seed = place, password = place;
    seed.name = "hash_seed";
    password.name = "password";
    return fetch_one(place, &settings->secret, is_not_none, a_secret, error) &&
           fetch_one(seed, &settings->hash_seed, is_seed, a_seed, error) &&
           fetch_one(password, &settings->password, NULL, "", error);
}

bool settings_fetch_secrets(struct settings *settings, const char *file, struct error *error)
{
    return fetch_cluster(settings, file, error) && settings_fetch_users(settings, file, error) &&
           settings_fetch_central(settings, file, error);
}

void settings_derive_keys(struct settings *settings)
{
    const struct settings_secrets *secrets = &settings->secrets;
    struct node_seals *seals = &settings->node.seals;
    const char *named = settings->hash_seed.text, *seed = named[0] ? named : settings->secret.text;
    if (!named[0] || !hash_key_from_text(&settings->node.hash_key, seed))
        hash_key_from_secret(&settings->node.hash_key, seed, strlen(seed));
    seals->count = secrets->count > 0 ? secrets->count : 1;
    for (uint32_t i = 0; i < seals->count; i++) {
        const char *secret = secrets->count > 0 ? secrets->secret[i].text : settings->secret.text;
        hash_key_from_secret(&seals->key[i], secret, strlen(secret));
    }
    settings->node.config_digest = settings_digest(settings);
}

/* One message of a peer is enough to try texts by the billion. */
static const char *weakness(const char *secret)
{
    static const char example[] = "put a long random text here"; /* as config/headgated.yaml has it */
    if (strncmp(secret, example, sizeof example - 1) == 0)
        return "is the example's text, which everybody knows";
    return strlen(secret) < GUESSED_BYTES ? "is so short that it can be guessed" : NULL;
}

const char *settings_weak_secret(const struct settings *settings)
{
    const char *found = settings_secret_is_given(&settings->secret) ? weakness(settings->secret.text) : NULL;
    for (uint32_t i = 0; i < settings->secrets.count && found == NULL; i++)
        found = weakness(settings->secrets.secret[i].text);
    return found;
}

/* ---- showing ---- */

bool settings_has_secrets_here(const struct settings *settings)
{
    bool has = settings_secret_is_here(&settings->secret) || settings_secret_is_here(&settings->hash_seed) ||
               settings_secret_is_here(&settings->password) || settings->central.password[0];
    for (uint32_t i = 0; i < settings->secrets.count && !has; i++)
        has = settings_secret_is_here(&settings->secrets.secret[i]);
    for (uint32_t i = 0; i < settings->users.count && !has; i++) {
        const struct user_settings *user = &settings->users.user[i];
        has = (user->secret[0] && !user->secret_file[0] && !user->secret_env[0]) || user->password_hash[0];
    }
    return has;
}

static void hide(char *secret, size_t size)
{
    if (secret[0])
        (void)snprintf(secret, size, "%s", HIDDEN);
}

void settings_hide_secrets(struct settings *settings)
{
    hide(settings->secret.text, sizeof settings->secret.text);
    hide(settings->hash_seed.text, sizeof settings->hash_seed.text);
    for (uint32_t i = 0; i < settings->secrets.count; i++)
        hide(settings->secrets.secret[i].text, sizeof settings->secrets.secret[i].text);
    hide(settings->password.text, sizeof settings->password.text);
    hide(settings->central.password, sizeof settings->central.password);
    for (uint32_t i = 0; i < settings->users.count; i++)
        hide(settings->users.user[i].secret, sizeof settings->users.user[i].secret);
    for (uint32_t i = 0; i < settings->users.count; i++)
        hide(settings->users.user[i].password_hash, sizeof settings->users.user[i].password_hash);
}
