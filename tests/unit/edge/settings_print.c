/* --print-config: whatever the settings are, it is YAML that reads back, to us and to others. */
#include "edge/settings/settings.h"
#include "edge/settings/settings_keys.h"

#include "tests/lib/tap.h"

#include <sodium.h>
#include <stdlib.h>

#define LEAST "node: a\nlimits:\n- {name: d, capacity: 100, rate: 100/s, patience: 50ms}\n"

#define HASH "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"

static bool parse(struct settings *settings, const char *yaml, struct error *error)
{
    memset(error, 0, sizeof *error);
    return settings_parse(settings, bytes_of(yaml), "f", error);
}

struct quoted {
    const char *yaml, *printed; /* a value in double quotes; as it is printed, or NULL: in quotes of some kind */
};

static const struct quoted quoted[] = {
    {"plain", "plain"},
    {"it's", "it's"},
    {"/a/b", "/a/b"},
    {"a:b", "a:b"},
    {"(gave)", "(gave)"},
    {"yes", "'yes'"},
    {"Off", "'Off'"},
    {"NULL", "'NULL'"},
    {"~", "'~'"},
    {"1e3", "'1e3'"},
    {"0x1F", "'0x1F'"},
    {"12:30", "'12:30'"},
    {"2026-11-25", "'2026-11-25'"},
    {"-.inf", "'-.inf'"},
    {"+5", "'+5'"},
    {"<<", "'<<'"},
    {": ", "': '"},
    {"a: b", "'a: b'"},
    {"a #b", "'a #b'"},
    {"#", "'#'"},
    {"'", "''''"},
    {"\\\"", "'\"'"},
    {" a ", "' a '"},
    {"- a", "'- a'"},
    {"---", "'---'"},
    {"...", "'...'"},
    {"? a", "'? a'"},
    {"!a", "'!a'"},
    {"&a", "'&a'"},
    {"*a", "'*a'"},
    {"| a", "'| a'"},
    {"> a", "'> a'"},
    {"%a", "'%a'"},
    {"@a", "'@a'"},
    {"`a", "'`a'"},
    {"[a]", "'[a]'"},
    {"{a}", "'{a}'"},
    {"a, b", "a, b"},
    {"a\\\\b", "a\\b"},
    {"a\\nb", "\"a\\nb\""},
    {"\\n", "\"\\n\""},
    {"a\\r\\n b\\t", "\"a\\r\\n b\\t\""},
    {"\\x01\\x7f\\e", "\"\\x01\\x7F\\e\""},
    {"\\N\\L\\P\\uFEFF", "\"\\N\\L\\P\\uFEFF\""},
    {"k\xc3\xa4se \xf0\x9f\xa7\x80", NULL},
};

/* The caller frees it. */
static char *print(const struct settings *settings)
{
    char *printed = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    bool good = settings_print(settings, out);
    return fclose(out) == 0 && good ? printed : NULL;
}

/* Whatever a text contains, it is printed in one line that reads back, and other readers of YAML take it for a text. */
static void quotes(void)
{
    static struct settings first, second;
    static char yaml[4096], letters[SETTINGS_SECRET_BYTES];
    struct error error;
    for (size_t i = 0; i < sizeof quoted / sizeof quoted[0]; i++) {
        const char *value = quoted[i].yaml;
        (void)snprintf(yaml, sizeof yaml, LEAST "secret: \"%s\"\npassword: \"%s\"\n", value, value);
        char *once = parse(&first, yaml, &error) ? print(&first) : NULL, line[200];
        bool good = once && parse(&second, once, &error);
        char *twice = good ? print(&second) : NULL;
        OK(twice && strcmp(first.secret.text, second.secret.text) == 0 &&
               strcmp(first.password.text, second.password.text) == 0,
           "\"%s\" reads back%s", value, error.text);
        OK(twice && strcmp(once, twice) == 0, "... and is printed the same");
        const char *at = once ? strstr(once, "\nsecret: ") : NULL;
        (void)snprintf(line, sizeof line, "%.*s", at ? (int)strcspn(at + 9, "\n") : 0, at ? at + 9 : "");
        if (quoted[i].printed)
            OK_STRING(line, quoted[i].printed, "... as %s", quoted[i].printed);
        free(once);
        free(twice);
    }
    memset(letters, 'a', sizeof letters - 1);
    for (size_t i = 4; i + 2 < sizeof letters; i += 5)
        letters[i] = ' ';
    (void)snprintf(yaml, sizeof yaml, LEAST "secret: %s\n", letters);
    char *printed = parse(&first, yaml, &error) ? print(&first) : NULL;
    OK(printed && strstr(printed, letters) && parse(&second, printed, &error) &&
           strcmp(second.secret.text, letters) == 0,
       "a long text is one line");
    free(printed);
}

static bool is_printed(const struct settings_reader *reader, const struct settings_key *key)
{
    const char *dot = strchr(key->path, '.');
    char group[32];
    struct settings_reader entry;
    (void)snprintf(group, sizeof group, "%.*s", dot ? (int)(dot - key->path) : 0, key->path);
    for (uint32_t i = 0; dot && reader_entry(reader, group, i, &entry); i++)
        if (entry.within->kind == YAML_MAP && reader_node(&entry, dot + 1))
            return true;
    return reader_node(reader, key->path);
}

static bool is_documented(const char *text, const struct settings_key *key)
{
    const char *dot = strchr(key->path, '.');
    char name[64];
    (void)snprintf(name, sizeof name, "%s: ", dot ? dot + 1 : key->path);
    if (key->form == KEY_MAP || key->form == KEY_LIST)
        name[strlen(name) - 1] = '\n';
    for (const char *at = text; (at = strstr(at, name)); at++)
        if (strchr("\n {", at[-1]))
            return true;
    return false;
}

/* The keys of what is printed; the caller closes them, and frees the text. */
static char *read_printed(const struct settings *settings, struct yaml_tree *tree)
{
    char *printed = print(settings);
    struct error error = {0};
    const struct yaml_source source = {.text = bytes_of(printed),
                                       .file = "f",
                                       .exit_status = 1,
                                       .nodes_max = 1000,
                                       .strict = true};
    OK(yaml_tree_read(tree, &source, &error), "is printed as plain YAML%s", error.text);
    return printed;
}

/* The secrets of these settings stand elsewhere. */
static void move_secrets(struct settings *settings)
{
    struct settings_secret *const secrets[] = {&settings->secret, &settings->hash_seed, &settings->password};
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        (void)snprintf(secrets[i]->file, sizeof secrets[i]->file, "f");
        (void)snprintf(secrets[i]->variable, sizeof secrets[i]->variable, "E"); /* not both in a file */
    }
}

/* One row of the table is enough for a key to be read and printed; a comment is not forgotten either. */
static void keys(void)
{
    static struct settings settings;
    static char documented[65536] = "\n";
    struct error error;
    struct yaml_tree here, elsewhere;
    FILE *file = fopen("config/headgated.yaml", "rb");
    size_t size = file ? fread(documented + 1, 1, sizeof documented - 2, file) : 0;
    OK(file && fclose(file) == 0 && size > 0, "config/headgated.yaml");
    bool good = parse(&settings,
                      LEAST "region: x\nregions: [{name: x, weight: 1}]\nadvertise: h\nstate_dir: d\n"
                            "peers: [{node: b, region: x, gossip: 'h:1'}]\nsecret: s\npassword: p\nrefusal_log: f\n"
                            "listen: {http: '*:9', clients_tls: '*:10', http_tls: '*:11', grpc: '*:12', grpc_tls: "
                            "'*:13'}\nhttp: {request_headers: ip=X-Real-IP}\n"
                            "tls: {certificate: c, key: k, client_ca: a}\n"
                            "central: {address: 'h:1', user: u, password: p, tls: true, tls_ca: a, "
                            "tls_certificate: c, tls_key: k, tls_name: n}\n"
                            "peers_tls: {ca: p, certificate: c, key: k}\n"
                            "users:\n- {name: a, roles: check, services: s, secret: x}\n"
                            "- {name: b, roles: 'admin, read', secret_file: f}\n"
                            "- {name: c, roles: rules, secret_env: E}\n"
                            "- {name: d, roles: rules, password_hash: '" HASH "'}\nhash_seed: h\n",
                      &error);
    OK(good, "a config with all that may be absent: %s", error.text);
    settings.secrets = (struct settings_secrets){.count = 3,
                                                 .secret = {{.text = "r"},
                                                            {.file = "f"},
                                                            {.variable = "E"}}}; /* not beside secret */
    settings.node.regions[0].floor_billionths = 50000000;                        /* not of one region alone */
    (void)snprintf(settings.central.sentinels, sizeof settings.central.sentinels, "h:1"); /* likewise */
    (void)snprintf(settings.central.master, sizeof settings.central.master, "m");
    (void)snprintf(settings.central.password_file, sizeof settings.central.password_file, "f"); /* likewise */
    (void)snprintf(settings.central.password_env, sizeof settings.central.password_env, "E");
    char *printed = read_printed(&settings, &here);
    move_secrets(&settings);
    char *moved = read_printed(&settings, &elsewhere);
    const struct settings_reader reader = {"f", &here, here.nodes, &error},
                                 other = {"f", &elsewhere, elsewhere.nodes, &error};
    for (const struct settings_key *key = settings_keys; key->path; key++)
        OK((is_printed(&reader, key) || is_printed(&other, key)) && is_documented(documented, key),
           "%s is printed, and explained in config/headgated.yaml", key->path);
    OK(!reader_node(&other, "secret") && !reader_node(&other, "hash_seed") && !reader_node(&other, "password"),
       "secrets that stand elsewhere are not printed");
    yaml_tree_close(&here);
    yaml_tree_close(&elsewhere);
    free(printed);
    free(moved);
    for (enum log_level level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++) {
        char yaml[200];
        (void)snprintf(yaml, sizeof yaml, LEAST "log_level: %s\n", log_level_name(level));
        OK(parse(&settings, yaml, &error) && settings.log_level == level, "log_level: %s", log_level_name(level));
    }
}

/* Secrets that are rotated, and what keeps the hashes of keys. */
static void secrets(void)
{
    static struct settings before, settings;
    static const struct {
        const char *yaml, *wrong;
    } rows[] = {
        {"secret: a\nsecrets: [b]\nhash_seed: a\n", "f:5: secret and secrets are given: expected one of them"},
        {"secrets: [b, a]\n",
         "f:1: hash_seed is missing: expected with secrets, the text that hashes of keys come from"},
        {"hash_seed: key:0123\n", "f:4: hash_seed begins with key:: expected 32 hexadecimal digits after that"},
        {"secrets: []\nhash_seed: a\n", "f:4: secrets is empty: expected"},
        {"secrets: [a, b, c, d, e]\nhash_seed: a\n", "f:4: secrets has too many entries: expected at most 4"},
        {"secrets: b\nhash_seed: a\n", "f:4: secrets is a single value: expected a list"},
        {"secrets: [{x: y}]\nhash_seed: a\n",
         "f:4: secrets[0].x is not a known key: expected one of secret_file, secret_env"},
        {"hash_seed: a\nregion: default\nregions: [{name: default, weight: 1}]\npeers: [{node: b, region: default, "
         "gossip: 'h:1'}]\n",
         "f:7: peers are named, but secret is missing"},
    };
    struct error error;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char yaml[300];
        (void)snprintf(yaml, sizeof yaml, LEAST "%s", rows[i].yaml);
        const bool refused = !parse(&settings, yaml, &error) && strstr(error.text, rows[i].wrong) == error.text;
        OK(refused, "%s", rows[i].wrong);
        if (!refused)
            printf("# %s\n", error.text);
    }
    bool good = parse(&before, LEAST "secret: old\n", &error) &&
                parse(&settings, LEAST "secrets: [new, old]\nhash_seed: old\n", &error);
    OK(good && settings.node.seals.count == 2 && before.node.seals.count == 1, "two secrets");
    OK(memcmp(&before.node.hash_key, &settings.node.hash_key, sizeof before.node.hash_key) == 0 &&
           before.node.config_digest == settings.node.config_digest,
       "the same ids, and the same config to peers");
    OK(memcmp(&before.node.seals.key[0], &settings.node.seals.key[1], sizeof before.node.seals.key[0]) == 0 &&
           memcmp(&before.node.seals.key[0], &settings.node.seals.key[0], sizeof before.node.seals.key[0]) != 0,
       "the old one is the second");
    char *printed = print(&settings);
    OK(parse(&before, printed, &error) && before.secrets.count == 2 &&
           strcmp(before.secrets.secret[0].text, "new") == 0,
       "printed, and read back");
    free(printed);
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    quotes();
    keys();
    secrets();
    return tap_done();
}
