/* The config: what is accepted, and that printing reads back. */
#include "edge/settings/settings.h"

#include "tests/lib/settings_least.h"
#include "tests/lib/tap.h"

#include <sodium.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

static bool parse(struct settings *settings, const char *yaml, struct error *error)
{
    memset(error, 0, sizeof *error);
    return settings_parse(settings, bytes_of(yaml), "f", error);
}

static const char full[] =
    "node: us-east\nregion: us-east\n"
    "listen:\n  clients: \"*:7070\"\n  gossip: 0.0.0.0:7071\n  snapshots: 0.0.0.0:9999\n"
    "advertise: us.example.com\n"
    "regions:\n- {name: us-east, weight: 0.34}\n- {name: eu-west, weight: 0.33}\n- {name: ap-south, weight: 0.33}\n"
    "peers:\n- {node: eu-west, region: eu-west, gossip: 10.0.0.2:7071}\n"
    "- {node: ap-south, region: ap-south, gossip: '[fd00::1]:7071', snapshots: '[fd00::1]:8000'}\n"
    "limits:\n- {name: default, capacity: 1_000, rate: 6000/m, overshoot: 20%, default: true}\n"
    "- {name: strict, capacity: 7, rate: 5/10s, overshoot: 0, patience: 50ms}\n"
    "- {name: burst, capacity: 100, rate: 1/1.5h}\n"
    "interval: 50ms\nsilent_after: 3s\njoin_timeout: 0\nleave_timeout: 1.5s\nforget_after: 1h\n"
    "table:\n  keys: 4096\ngossip_pace: 2000\nlog_keys: 1,000\nmessage_max: 256KiB\nmax_connections: 77\n"
    "clients: {request_timeout: 3s, auth_timeout: 4s, idle_timeout: 1h}\nthreads: "
    "3\n"
    "secret: \"it's: a #secret\"\npassword: '12345'\nlog_level: warning\ndebug: true\n"
    "state_dir: /srv/headgate\nstate_sync: full\nreservations: 0\nunlisted_peers: 3\n"
    "unknown_service: open\ngrants: false\n"
    "rules: {services: 7, rules: 70, service_rules: 60, service_keys: 1000}\n";

static void accepts(void)
{
    static struct settings settings;
    struct error error;
    OK(parse(&settings, LEAST, &error), "the least config: %s", error.text);
    OK_STRING(settings.clients_address, "127.0.0.1:7070", "clients, by default");
    OK_STRING(settings.node.gossip_address, "127.0.0.1:7071", "gossip, by default");
    OK_STRING(settings.node.snapshot_address, "127.0.0.1:7072", "snapshots, by default");
    OK_U64(settings.node.interval_ns, 100000000, "interval, by default");
    OK_U64(settings.node.silent_after_ns, 1000000000, "silent_after, by default");
    OK_U64(settings.limits.limit[0].terms.overshoot, 100, "overshoot is 100%%, by default");
    OK_U64(settings.node.regions[0].weight, SHARE_ONE, "a lone region has everything");
    OK(settings.threads >= 1 && settings.threads <= SETTINGS_THREADS_MAX, "a thread for each processor");
    OK(settings.node.limits == &settings.limits && settings.limits.by_default == 0,
       "the only limit is the default");

    OK(!settings.node.unknown_service_open && settings.node.grants, "an unknown service is an error; peers grant");
    OK(settings.secret.text[0] == '\0' && !settings.secret_is_none, "alone, it needs no secret");
    OK_U64(settings.node.unlisted_max, 0, "nor takes strangers in");
    OK(parse(&settings, LEAST "secret: s\n", &error) && settings.node.unlisted_max == 8,
       "with a secret, peers that the config does not name may come");

    OK(parse(&settings, LEAST REGIONS PEER "secret: none\n", &error) && settings.secret.text[0] == '\0' &&
           settings.secret_is_none,
       "peers without a secret, if the config says so: %s", error.text);

    OK(parse(&settings,
             "node: a\nregion: x\nregions: [{name: x, weight: 0.9}, {name: y, weight: 0.1}]\n" PEER
             "secret: none\ngrants: false\nlimits: [{name: d, capacity: 2, rate: 1/h}]\n",
             &error),
       "without grants, a limit that admits nothing in a small region: %s", error.text);
    OK_STRING(
        settings.warning,
        "limits[0] 'd': a request of cost 1 is ever admitted at 1 of 2 daemons only, since each uses its share of "
        "the limit: expected overshoot: 9, or a capacity or burst of 9",
        "... is told");
    OK(parse(&settings, "node: a\nlimits: [{name: d, capacity: 1, rate: 1/h, overshoot: 0}]\n", &error) &&
           settings.warning[0] == '\0',
       "a node alone admits whatever is there");

    OK(parse(&settings, full, &error), "everything: %s", error.text);
    OK(!settings.secret_is_none, "a secret");
    OK_STRING(settings.clients_address, "*:7070", "clients");
    OK_STRING(settings.gossip_address, "0.0.0.0:7071", "gossip listens");
    OK_STRING(settings.node.gossip_address, "us.example.com:7071", "gossip is advertised");
    OK_STRING(settings.node.snapshot_address, "us.example.com:9999", "snapshots are advertised");
    OK_STRING(settings.node.peers[0].snapshot_address, "10.0.0.2:7072", "a peer's snapshots: the next port");
    OK_STRING(settings.node.peers[1].gossip_address, "[fd00::1]:7071", "a v6 address");
    uint64_t sum = 0;
    for (int i = 0; i < 3; i++)
        sum += settings.node.regions[i].weight;
    OK(sum <= SHARE_ONE && sum >= SHARE_ONE - 3, "weights, rounded down, never exceed the whole");
    OK_U64(settings.limits.limit[0].terms.overshoot, 200, "20%% of 1,000");
    OK_U64(settings.limits.limit[1].terms.overshoot, 0, "0");
    OK_U64(settings.limits.limit[0].terms.capacity, 1000, "capacity");
    OK_U64(settings.limits.limit[1].terms.period_ns, 10000000000, "5/10s");
    OK_U64(settings.node.leave_timeout_ns, 1500000000, "1.5s");
    OK_U64(settings.node.forget_after_ns, 3600000000000, "1h");
    OK_STRING(settings.secret.text, "it's: a #secret", "a quoted secret");
    OK_STRING(settings.password.text, "12345", "a password of digits");
    OK(settings.log_level == LOG_LEVEL_WARNING && settings.debug, "log level and debug");
    OK(settings.node.rules.services_max == 7 && settings.node.rules.rules_max == 70 &&
           settings.node.rules.service_rules_max == 60 && settings.service_keys_max == 1000 &&
           settings.node.reservations_max == 0 && settings.node.unlisted_max == 3,
       "what a service may have");
    OK(!settings.node.grants, "peers grant nothing");
    OK(settings.node.unknown_service_open, "services without rules are open");
    OK(settings.max_connections == 77 && settings.threads == 3, "connections and threads");
    OK(settings.request_timeout_ns == 3000000000u && settings.auth_timeout_ns == 4000000000u &&
           settings.idle_timeout_ns == 3600000000000u,
       "deadlines of clients");
    OK(strcmp(settings.state_dir, "/srv/headgate") == 0 && settings.state_sync == STORE_SYNC_FULL, "the store");
}

static void accepts_what_editors_write(void)
{
    static struct settings settings;
    struct error error;
    OK(parse(&settings,
             "\xef\xbb\xbfnode: &n a\r\nlimits: !!seq\r\n- {name: d, capacity: 100, rate: 100/s}\r\n...\r\n",
             &error),
       "lines of Windows, a byte order mark, a tag, an anchor that nobody uses: %s", error.text);
}

static void accepts_reservations(void)
{
    static struct settings settings;
    struct error error;
    OK(parse(&settings, LEAST "reservations: 40\nreservation_ttl_max: 10m\n", &error) &&
           settings.node.reservations_max == 40 && settings.node.service_reservations_max == 30 &&
           settings.node.address_reservations_max == 15 && settings.reservation_ttl_max_ns == 600000000000u,
       "one service may have three quarters of all reservations, one address half of that");
}

/* Printing, reading, printing gives the same text and the same settings. */
static void prints(const char *yaml, const char *name)
{
    static struct settings first, second;
    struct error error;
    char *once = NULL, *twice = NULL;
    size_t once_size, twice_size;
    FILE *out = open_memstream(&once, &once_size);
    OK(parse(&first, yaml, &error) && settings_print(&first, out) && fclose(out) == 0, "%s: prints", name);
    OK(parse(&second, once, &error), "reads back: %s", error.text);
    out = open_memstream(&twice, &twice_size);
    OK(settings_print(&second, out) && fclose(out) == 0, "prints again");
    OK_STRING(twice, once, "to the same text");
    first.node.limits = second.node.limits = NULL;
    /* where a weight or a key stands means nothing */
    memcpy(second.region_line, first.region_line, sizeof first.region_line);
    memcpy(second.key_line, first.key_line, sizeof first.key_line);
    OK(memcmp(&first, &second, sizeof first) == 0, "and it means the same");
    free(once);
    free(twice);
}

static uint64_t digest_of(const char *yaml)
{
    static struct settings settings;
    struct error error;
    return parse(&settings, yaml, &error) ? settings.node.config_digest : 0;
}

static void digests(void)
{
    uint64_t digest = digest_of(LEAST REGIONS);
    OK(digest != 0, "a digest");
    OK_U64(digest_of("node: b\n" LIMITS
                     "region: y\nregions:\n- {name: y, weight: 0.50}\n- {name: x, weight: 0.5}\n"),
           digest, "another node, regions in another order: the same");
    OK_U64(digest_of("node: a\nlimits:\n- {name: d, capacity: 100, rate: 6000/m, overshoot: 100%}\n" REGIONS),
           digest, "6000/m is 100/s: the same");
    OK(digest_of(LEAST REGIONS "interval: 99ms\n") != digest, "another interval");
    OK(digest_of(LEAST REGIONS "secret: s\n") != digest, "another secret");
    OK(digest_of(LEAST "region: x\nregions:\n- {name: x, weight: 0.4}\n- {name: y, weight: 0.6}\n") != digest,
       "other weights");
    OK(digest_of("node: a\nlimits:\n- {name: d, capacity: 101, rate: 100/s}\n" REGIONS) != digest,
       "another capacity");
    OK(digest_of("node: a\nlimits:\n- {name: d, capacity: 100, rate: 101/s}\n" REGIONS) != digest, "another rate");
    OK(digest_of("node: a\nlimits:\n- {name: d, capacity: 100, rate: 100/s, overshoot: 0}\n" REGIONS) != digest,
       "another overshoot");
    OK(digest_of("node: a\nlimits:\n- {name: e, capacity: 100, rate: 100/s}\n" REGIONS) != digest, "another name");
}

static void files(void)
{
    static struct settings settings;
    struct error error;
    OK(!settings_read(&settings, "/nonexistent/f.yaml", &error) && error.exit_status == EX_NOINPUT, "no file");
    OK_STRING(error.text, "/nonexistent/f.yaml cannot be read: No such file or directory", "the sentence");
    OK(!settings_read(&settings, "/", &error) && error.exit_status == EX_NOINPUT, "a directory");
    OK_STRING(error.text, "/ is a directory: expected a config file", "the sentence");
    OK(!settings_read(&settings, "/dev/zero", &error) && error.exit_status == EX_CONFIG, "endless zeros");
    OK_STRING(error.text, "/dev/zero is larger than 1 MiB: expected a config file", "the sentence");
    char path[] = "/tmp/headgate-settings-XXXXXX";
    int fd = mkstemp(path);
    OK(fd >= 0 && write(fd, LEAST, sizeof LEAST - 1) == (ssize_t)sizeof LEAST - 1 && close(fd) == 0, "a real file");
    OK(settings_read(&settings, path, &error), "is read");
    (void)unlink(path);
}

/* Whatever the bytes are: a sentence or settings, never a crash. */
static void survives_damage(void)
{
    static struct settings settings;
    static char text[sizeof full];
    struct error error;
    unsigned refused = 0, rounds = 3000;
    srand(1);
    for (unsigned i = 0; i < rounds; i++) {
        memcpy(text, full, sizeof full);
        for (int j = rand() % 4; j >= 0; j--)
            text[(size_t)rand() % (sizeof full - 1)] = (char)rand();
        size_t size = rand() % 4 == 0 ? (size_t)rand() % sizeof full : sizeof full - 1;
        bool read = settings_parse(&settings, (struct bytes){text, size}, "f", &error);
        refused += !read;
        if (!read && (strncmp(error.text, "f:", 2) != 0 || error.exit_status != EX_CONFIG))
            OK(false, "an odd sentence: %s", error.text);
    }
    OK(refused > rounds / 2 && refused < rounds, "damaged configs: %u of %u refused", refused, rounds);
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    accepts();
    accepts_what_editors_write();
    accepts_reservations();
    prints(LEAST, "the least config");
    prints(LEAST REGIONS PEER "secret: none\n", "no secret");
    prints(full, "everything");
    digests();
    files();
    survives_damage();
    return tap_done();
}
