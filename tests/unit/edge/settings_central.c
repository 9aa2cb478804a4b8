/*
 * What a config says of the central store, and what it may not say.
 */
#include "edge/settings/settings_central.h"

#include "edge/settings/settings_secrets.h"
#include "tests/lib/tap.h"

#include <sodium.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct settings settings;
static struct error error;

/* A config with these words under `central`. */
static bool reads(const char *words)
{
    char text[2048];
    (void)snprintf(text, sizeof text, "node: a\nlimits: [{name: default, capacity: 5, rate: 1/s}]\ncentral: {%s}\n",
                   words);
    error.text[0] = '\0';
    return settings_parse(&settings, bytes_of(text), "c.yaml", &error);
}

static bool refuses(const char *words, const char *sentence)
{
    return !reads(words) && strcmp(error.text, sentence) == 0;
}

static void test_values(void)
{
    OK(reads("address: 'redis.internal:6379'") && settings_have_central(&settings) && settings.node.has_central,
       "an address alone is enough");
    OK(strcmp(settings.central.prefix, "headgate:") == 0 && settings.central.timeout_ns == 50000000,
       "what else is by default");
    OK(reads("address: '[::1]:6379', user: u, password: p, prefix: 'a:', timeout: 1s") &&
           strcmp(settings.central.address, "[::1]:6379") == 0 && settings.central.timeout_ns == 1000000000,
       "all of it");
    OK(settings_fetch_secrets(&settings, "c.yaml", &error) && strcmp(settings.central.secret, "p") == 0,
       "the password is what is sent");
    settings_hide_secrets(&settings);
    OK_STRING(settings.central.password, "(given)", "and not shown");
}

static void test_tls(void)
{
    OK(reads("address: 'h:1', tls: true, tls_ca: a, tls_certificate: b, tls_key: c, tls_name: d") &&
           settings.central.tls && strcmp(settings.central.tls_name, "d") == 0,
       "TLS with all that it may have");
    OK(reads("address: 'h:1', tls: true") && settings.central.tls && settings.central.tls_ca[0] == '\0',
       "or by the system's authorities");
    OK(refuses("address: 'h:1', tls_ca: a", "c.yaml:3: central.tls_ca has no effect without central.tls: true"),
       "no file without TLS");
    OK(refuses("address: 'h:1', tls: false, tls_name: a",
               "c.yaml:3: central.tls_name has no effect without central.tls: true"),
       "nor a name");
    OK(refuses("address: 'h:1', tls: true, tls_key: a",
               "c.yaml:3: central has one of tls_certificate and tls_key: expected both, or neither"),
       "no key without its certificate");
    OK(refuses("address: 'h:1', tls: perhaps", "c.yaml:3: central.tls is 'perhaps': expected true or false"),
       "true or false");
}

static void test_sentinels(void)
{
    OK(reads("sentinels: 'a:26379, b:26379,[::1]:26379', master: m") && settings_have_central(&settings) &&
           settings.central.address[0] == '\0' && strcmp(settings.central.master, "m") == 0,
       "sentinels know where the store is");
    OK(refuses("sentinels: 'a:26379', master: m, address: 'h:1'",
               "c.yaml:3: central has address and sentinels: expected one of them"),
       "or an address says it");
    OK(refuses("sentinels: 'a:26379'",
               "c.yaml:3: central.master is missing: expected the name that the sentinels know the store by"),
       "by a name");
    OK(refuses("address: 'h:1', master: m",
               "c.yaml:3: central.master is 'm': expected no such key, as there are no sentinels"),
       "which needs them");
    OK(refuses("sentinels: 'a:26379, b', master: m",
               "c.yaml:3: central.sentinels is 'a:26379, b': expected hosts and ports of sentinels such as "
               "a.internal:26379, b.internal:26379"),
       "each has a host and a port");
}

static void test_places(void)
{
    char path[] = "/tmp/headgate-central-XXXXXX", words[128];
    const int file = mkstemp(path);
    OK(file >= 0 && write(file, "of-a-file\n", 10) == 10 && close(file) == 0, "a file");
    (void)snprintf(words, sizeof words, "address: 'h:1', password_file: %s", path);
    OK(reads(words) && settings_fetch_secrets(&settings, "c.yaml", &error) &&
           strcmp(settings.central.secret, "of-a-file") == 0 && settings.central.password[0] == '\0',
       "a password in a file");
    (void)chmod(path, 0644);
    OK(!settings_fetch_secrets(&settings, "c.yaml", &error) &&
           strstr(error.text, "c.yaml:3: central.password_file is '") && strstr(error.text, "others cannot read"),
       "which others may not read");
    (void)unlink(path);
    OK(!settings_fetch_secrets(&settings, "c.yaml", &error) &&
           strstr(error.text, "c.yaml:3: central.password_file is '") && strstr(error.text, "No such file"),
       "and which must be there");
    (void)setenv("CENTRAL_PASSWORD", "of-a-variable", 1);
    OK(reads("address: 'h:1', password_env: CENTRAL_PASSWORD") &&
           settings_fetch_secrets(&settings, "c.yaml", &error) &&
           strcmp(settings.central.secret, "of-a-variable") == 0,
       "a password in a variable");
    (void)unsetenv("CENTRAL_PASSWORD");
    OK(!settings_fetch_secrets(&settings, "c.yaml", &error) &&
           strstr(error.text, "c.yaml:3: central.password_env is 'CENTRAL"),
       "which must be there as well");
}

static void test_mistakes(void)
{
    OK(refuses("timeout: 50ms", "c.yaml:3: central.address is missing: expected the store's host and port such as "
                                "redis.internal:6379"),
       "no address");
    OK(refuses("address: '*:6379'",
               "c.yaml:3: central.address is '*:6379': expected the store's host and port such as "
               "redis.internal:6379"),
       "no host");
    OK(refuses("address: 'h:1', password: a, password_env: B",
               "c.yaml:3: central has 2 of password, password_file and password_env: expected one of them"),
       "two passwords");
    OK(refuses("address: 'h:1', user: a",
               "c.yaml:3: central.user is 'a': expected a password with it, or no such key"),
       "a user without a password");
    OK(refuses("address: 'h:1', timeout: 6s",
               "c.yaml:3: central.timeout is '6s': expected a duration from 1 ms to 5 s, such as 100ms or 2s"),
       "a timeout that is too long");
    OK(refuses("address: 'h:1', password: (given)", "c.yaml:3: central.password is '(given)': expected the value "
                                                    "itself: headgated prints it with --show-secrets"),
       "a config that was printed without secrets");
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    test_values();
    test_tls();
    test_sentinels();
    test_places();
    test_mistakes();
    return tap_done();
}
