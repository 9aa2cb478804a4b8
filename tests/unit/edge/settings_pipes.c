/* A daemon that runs opens no pipe that its config names, since nobody may write to it: a sentence names the key. */
#include "edge/settings/settings.h"

#include "tests/lib/tap.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/headgate-pipes-XXXXXX", pipe_path[64], config_path[64];

/* `before` ends where the key that names the pipe stands. */
static void write_config(const char *before, const char *key)
{
    FILE *file = fopen(config_path, "w");
    assert(file);
    (void)fprintf(file, "node: a\nlimits: [{name: default, capacity: 5, rate: 1/s}]\n%s%s: %s\n", before, key,
                  pipe_path);
    (void)fclose(file);
}

struct named {
    const char *before, *key, *path; /* of the key in the sentence */
    unsigned line;
};

static const struct named all[] = {
    {"", "secret_file", "secret_file", 3},
    {"hash_seed: some-long-text\nsecrets:\n- secret_env: HOME\n- ", "secret_file", "secrets[1].secret_file", 6},
    {"secret: none\n", "hash_seed_file", "hash_seed_file", 4},
    {"", "password_file", "password_file", 3},
    {"users:\n- name: u\n  roles: check\n  ", "secret_file", "users[0].secret_file", 6},
    {"listen: {clients_tls: '127.0.0.1:1'}\ntls:\n  key: F\n  ", "certificate", "tls.certificate", 6},
    {"listen: {clients_tls: '127.0.0.1:1'}\ntls:\n  certificate: F\n  ", "key", "tls.key", 6},
    {"listen: {clients_tls: '127.0.0.1:1'}\ntls:\n  certificate: F\n  key: F\n  ", "client_ca", "tls.client_ca", 7},
    {"peers_tls:\n  certificate: F\n  key: F\n  ", "ca", "peers_tls.ca", 6},
    {"peers_tls:\n  ca: F\n  key: F\n  ", "certificate", "peers_tls.certificate", 6},
    {"peers_tls:\n  ca: F\n  certificate: F\n  ", "key", "peers_tls.key", 6},
    {"central:\n  address: 127.0.0.1:1\n  ", "password_file", "central.password_file", 5},
    {"central:\n  address: 127.0.0.1:1\n  tls: true\n  ", "tls_ca", "central.tls_ca", 6},
    {"central:\n  address: 127.0.0.1:1\n  tls: true\n  tls_key: F\n  ", "tls_certificate",
     "central.tls_certificate", 7},
    {"central:\n  address: 127.0.0.1:1\n  tls: true\n  tls_certificate: F\n  ", "tls_key", "central.tls_key", 7},
};

static void each_key(void)
{
    static struct settings settings;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct error error = {0};
        char expected[ERROR_TEXT_BYTES];
        (void)snprintf(expected, sizeof expected,
                       "%s:%u: %s is '%s': expected a file that is no pipe, as a daemon that runs waits for nobody",
                       config_path, all[i].line, all[i].path, pipe_path);
        write_config(all[i].before, all[i].key);
        (void)alarm(10); /* whoever waits for a writer ends here */
        OK(!settings_read_again(&settings, config_path, &error), "%s is refused", all[i].path);
        OK_STRING(error.text, expected, "the sentence");
    }
    (void)alarm(0);
}

int main(void)
{
    if (sodium_init() < 0 || !mkdtemp(directory))
        return 1;
    (void)snprintf(pipe_path, sizeof pipe_path, "%s/pipe", directory);
    (void)snprintf(config_path, sizeof config_path, "%s/config.yaml", directory);
    assert(mkfifo(pipe_path, 0600) == 0);
    each_key();
    (void)unlink(pipe_path);
    (void)unlink(config_path);
    (void)rmdir(directory);
    return tap_done();
}
