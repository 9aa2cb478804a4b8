#include "edge/settings/settings_pipes.h"

#include "edge/process/text_file.h"
#include "edge/settings/settings_place.h"

#include <stdio.h>
#include <sysexits.h>

/* "": no file is named. `line` 0: the line of the key at `key`. */
static bool refuse(const struct settings *settings, const char *file, const char *key, unsigned line,
                   const char *path, struct error *error)
{
    if (path[0] == '\0' || !text_file_is_pipe(path))
        return true;
    (void)error_set(error, EX_CONFIG,
                    "%s:%u: %s is '%s': expected a file that is no pipe, as a daemon that runs "
                    "waits for nobody",
                    file, line > 0 ? line : settings_line(settings, key), key, path);
    return false;
}

static bool refuse_certificates(const struct settings *settings, const char *file, struct error *error)
{
    const struct central_settings *central = &settings->central;
    const struct {
        const char *key, *path;
    } named[] = {{"tls.certificate", settings->tls_certificate},
                 {"tls.key", settings->tls_key},
                 {"tls.client_ca", settings->tls_client_ca},
                 {"peers_tls.ca", settings->peers_tls_ca},
                 {"peers_tls.certificate", settings->peers_tls_certificate},
                 {"peers_tls.key", settings->peers_tls_key},
                 {"central.tls_ca", central->tls_ca},
                 {"central.tls_certificate", central->tls_certificate},
                 {"central.tls_key", central->tls_key},
                 {"central.password_file", central->password_file}};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (!refuse(settings, file, named[i].key, 0, named[i].path, error))
            return false;
    return true;
}

static bool refuse_entries(const struct settings *settings, const char *file, struct error *error)
{
    char key[48];
    for (uint32_t i = 0; i < settings->secrets.count; i++) {
        const struct settings_secret *secret = &settings->secrets.secret[i];
        (void)snprintf(key, sizeof key, "secrets[%u].secret_file", i);
        if (!refuse(settings, file, key, secret->line, secret->file, error))
            return false;
    }
    for (uint32_t i = 0; i < settings->users.count; i++) {
        const struct user_settings *user = &settings->users.user[i];
        (void)snprintf(key, sizeof key, "users[%u].secret_file", i);
        if (!refuse(settings, file, key, user->secret_line, user->secret_file, error))
            return false;
    }
    return true;
}

bool settings_refuse_pipes(const struct settings *settings, const char *file, struct error *error)
{
    return refuse(settings, file, "secret_file", settings->secret.line, settings->secret.file, error) &&
           refuse(settings, file, "hash_seed_file", settings->hash_seed.line, settings->hash_seed.file, error) &&
           refuse(settings, file, "password_file", settings->password.line, settings->password.file, error) &&
           refuse_entries(settings, file, error) && refuse_certificates(settings, file, error);
}
