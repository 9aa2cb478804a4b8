/*
 * Where secrets of the config may stand: what is read there, what is refused, and that none of it is printed.
 */
#include "edge/settings/settings_secrets.h"

#include "tests/lib/tap.h"

#include <sodium.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct settings settings, same;
static struct error error;
static char path[] = "/tmp/headgate-secret-XXXXXX";

static bool parses(struct settings *into, const char *lines)
{
    char text[2048];
    (void)snprintf(text, sizeof text, "node: a\nlimits: [{name: default, capacity: 5, rate: 1/s}]\n%s\n", lines);
    error.text[0] = '\0';
    return settings_parse(into, bytes_of(text), "c.yaml", &error);
}

/* These lines, and what stands elsewhere. */
static bool reads(struct settings *into, const char *lines)
{
    const bool good = parses(into, lines) && settings_fetch_secrets(into, "c.yaml", &error);
    if (good)
        settings_derive_keys(into);
    return good;
}

/* `lines` with the path of the file for each %s. */
static const char *with_path(const char *lines)
{
    static char text[512];
    size_t size = 0;
    for (const char *at = lines; *at && size < sizeof text - sizeof path; at++)
        if (at[0] == '%' && at[1] == 's')
            size += (size_t)snprintf(text + size, sizeof text - size, "%s", path), at++;
        else
            text[size++] = *at;
    text[size] = '\0';
    return text;
}

static bool refuses(const char *lines, const char *sentence)
{
    const bool good = !reads(&settings, lines) && strstr(error.text, sentence) == error.text;
    if (!good)
        printf("# %s\n", error.text);
    return good;
}

static void write_file(const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    OK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0 && chmod(path, mode) == 0, "a file");
}

static bool same_keys(void)
{
    return memcmp(&settings.node.hash_key, &same.node.hash_key, sizeof same.node.hash_key) == 0 &&
           settings.node.config_digest == same.node.config_digest &&
           settings.node.seals.count == same.node.seals.count &&
           memcmp(settings.node.seals.key, same.node.seals.key,
                  same.node.seals.count * sizeof same.node.seals.key[0]) == 0;
}

/* What anybody can guess is told. */
static void test_weak(void)
{
    OK(reads(&settings, "secret: none") && settings_weak_secret(&settings) == NULL, "no secret is said elsewhere");
    OK(reads(&settings, "secret: 8 bytes.") && settings_weak_secret(&settings) == NULL, "8 bytes are enough");
    OK(reads(&settings, "secret: 7 bytes") &&
           strcmp(settings_weak_secret(&settings), "is so short that it can be guessed") == 0,
       "7 bytes are not");
    OK(reads(&settings, "secrets: [long enough, short]\nhash_seed: a") && settings_weak_secret(&settings) != NULL,
       "nor is one of several");
    OK(reads(&settings, "secret: put a long random text here, for instance of `openssl rand -base64 33`") &&
           strstr(settings_weak_secret(&settings), "is the example's text") != NULL,
       "an example that was copied");
}

static void test_places(void)
{
    write_file("a b\nmore\n", 0600);
    (void)setenv("HEADGATE_SECRET", "of-a-variable", 1);
    OK(reads(&settings, with_path("secret_file: %s")) && reads(&same, "secret: a b") && same_keys(),
       "the first line of a file is the secret, without its end");
    OK(reads(&settings, "secret_env: HEADGATE_SECRET") && reads(&same, "secret: of-a-variable") && same_keys(),
       "so is a variable");
    OK(reads(&settings,
             with_path("secrets: [{secret_env: HEADGATE_SECRET}, b, {secret_file: %s}]\nhash_seed_file: %s")) &&
           reads(&same, "secrets: [of-a-variable, b, a b]\nhash_seed: a b") && same_keys(),
       "each of several, and the seed of hashes, may stand in its own place");
    OK(reads(&settings, with_path("password_file: %s")) && strcmp(settings.password.text, "a b") == 0 &&
           settings_have_passwords(&settings),
       "the password, too");
    OK(!settings_has_secrets_here(&settings) && reads(&same, "password: a") && settings_has_secrets_here(&same),
       "a config that only says where secrets are has none");
    write_file("key:00112233445566778899aabbccddeeff\n", 0640);
    OK(reads(&settings, with_path("hash_seed_file: %s")) &&
           reads(&same, "hash_seed: key:00112233445566778899aabbccddeeff") && same_keys(),
       "a seed may be a key, and the group may read its file");
}

static void test_peers(void)
{
    static const char peers[] =
        "region: default\nregions: [{name: default, weight: 1}]\npeers: [{node: b, region: default, "
        "gossip: 'h:1'}]\n";
    char lines[512];
    (void)snprintf(lines, sizeof lines, "%ssecret_file: /x", peers);
    OK(parses(&settings, lines) && settings_have_secret(&settings) && settings.node.unlisted_max == 8,
       "a secret in a file is a secret");
    OK(refuses(peers, "c.yaml:5: peers are named, but secret is missing"), "without any nobody has peers");
}

static void test_mistakes(void)
{
    write_file("none\n", 0600);
    OK(refuses(with_path("secret_file: %s"), "c.yaml:3: secret_file is '/tmp/headgate-secret-") &&
           strstr(error.text, "': expected a long random text there, and not none") != NULL,
       "that there is no secret is said in the config alone");
    write_file("key:0011\n", 0600);
    OK(refuses(with_path("hash_seed_file: %s"), "c.yaml:3: hash_seed_file is '/tmp/headgate-secret-") &&
           strstr(error.text, "': expected 32 hexadecimal digits there after key:, or another text") != NULL,
       "a seed that is cut off");
    write_file("\nsecret\n", 0600);
    OK(refuses(with_path("secret_file: %s"), "c.yaml:3: secret_file is '") &&
           strstr(error.text, "expected a file whose first line has 1 to 256 bytes") != NULL,
       "an empty line");
    write_file("secret\n", 0604);
    OK(refuses(with_path("hash_seed: a\nsecrets:\n- a\n- {secret_file: %s}"),
               "c.yaml:6: secrets[1].secret_file is '") &&
           strstr(error.text, "a file that others cannot read, such as mode 600 (it has 604)") != NULL,
       "a file that others may read");
    (void)unlink(path);
    OK(refuses(with_path("password_file: %s"), "c.yaml:3: password_file is '") &&
           strstr(error.text, "No such file") != NULL,
       "no file");
    (void)setenv("HEADGATE_SECRET", "", 1);
    OK(refuses("secret_env: HEADGATE_SECRET",
               "c.yaml:3: secret_env is 'HEADGATE_SECRET': expected a variable with 1 to 256 bytes"),
       "an empty variable");
    OK(refuses("secret: a\nsecret_file: /b",
               "c.yaml:3: the file has 2 of secret, secret_file and secret_env: expected one of them"),
       "two places");
    OK(refuses("secret_file: ''", "c.yaml:3: secret_file is '': expected the path of a file"), "no path");
    OK(refuses("secret_env: A\nsecrets: [b]\nhash_seed: a",
               "c.yaml:4: secret_env and secrets are given: expected one of them"),
       "a secret beside secrets");
    OK(refuses("secrets: [{secret_env: A, secret_file: b}]\nhash_seed: a",
               "c.yaml:3: secrets[0] has 2 of secret, secret_file and secret_env: expected one of them"),
       "two places of one of several");
    OK(refuses("secrets: [a, none]\nhash_seed: a",
               "c.yaml:3: secrets[1] is 'none': expected a long random text: that there is no secret is said by "
               "secret: none"),
       "none among several");
    OK(refuses("password: ~", "c.yaml:3: password is null: expected a value, in quotes if it is that word"),
       "what YAML calls nothing is no password");
    OK(refuses("secret: null", "c.yaml:3: secret is null: expected a value, in quotes if it is that word"),
       "and no secret");
    OK(refuses("secrets: [{}]\nhash_seed: a", "c.yaml:3: secrets[0] is empty: expected secret_file or secret_env"),
       "no place");
    OK(refuses("secrets: [{secret: b}]\nhash_seed: a", "c.yaml:3: secrets[0].secret is not a known key: "),
       "one of several stands in the list itself");
    OK(refuses("secrets: [a, (given)]\nhash_seed: a",
               "c.yaml:3: secrets[1] is '(given)': expected the value itself"),
       "a config that was printed without secrets");
}

static void test_shown(void)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    (void)setenv("HEADGATE_SECRET", "of-a-variable", 1);
    OK(reads(&settings, "secrets: [{secret_env: HEADGATE_SECRET}]\nhash_seed_env: HEADGATE_SECRET\n"
                        "password_env: HEADGATE_SECRET") &&
           out != NULL && settings_print(&settings, out) && fclose(out) == 0,
       "a config with secrets elsewhere");
    OK(strstr(text, "of-a-variable") == NULL && strstr(text, "secrets:\n- secret_env: HEADGATE_SECRET\n") != NULL &&
           strstr(text, "\nhash_seed_env: HEADGATE_SECRET\npassword_env: HEADGATE_SECRET\n") != NULL,
       "is printed without them");
    free(text);
}

int main(void)
{
    const int file = mkstemp(path);
    if (sodium_init() < 0 || file < 0 || close(file) < 0)
        return 1;
    test_weak();
    test_places();
    test_peers();
    test_mistakes();
    test_shown();
    return tap_done();
}
