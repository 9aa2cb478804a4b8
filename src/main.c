/*
 * headgated: the entry of the daemon. It reads the options, prepares what the process needs of the
 * system, and ends with an exit code.
 */
#include "base/error.h"
#include "base/version.h"
#include "edge/clients/tls.h"
#include "edge/peers/transport.h"
#include "edge/peers/transport_tunnel.h"
#include "edge/process/clock.h"
#include "edge/process/descriptors.h"
#include "edge/settings/settings.h"
#include "edge/settings/settings_secrets.h"
#include "edge/settings/settings_tls.h"
#include "server.h"

#include <getopt.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sysexits.h>

enum {
    /* descriptors for the loop, the store and the libraries */
    OTHER_FILES = 28,
    SPARE_FILES = OTHER_FILES + TRANSPORT_FILES_MAX,
    /* descriptors for each further loop, beside those of its ports and its connection to the central store */
    THREAD_FILES = 5,
};

static const char usage[] =
    "Usage: headgated --config FILE [--check-config | --print-config [--show-secrets]]\n"
    "       headgated --version | --help\n"
    "\n"
    "One rate limit for many daemons: this is one of them.\n"
    "\n"
    "  -c, --config FILE   the config, in YAML; config/headgated.yaml explains every key\n"
    "      --check-config  read it, say what is wrong with it, and end\n"
    "      --print-config  print it with all defaults as YAML, and end\n"
    "      --show-secrets  with --print-config: print its secrets as well\n"
    "      --version       print the version, and end\n"
    "  -h, --help          print this, and end\n"
    "\n"
    "SIGTERM and SIGINT: leave the cluster and end; a second one ends at once.\n"
    "SIGHUP: read the config, secrets and certificates again. SIGHUP and SIGUSR1: open the log of refusals\n"
    "again. SIGUSR2: a line in the log.\n"
    "Exit status: 0, or of sysexits(3): 64 wrong usage, 66 the config cannot be read, 68 unknown host,\n"
    "69 a port is in use, 71 the system has not enough of something, 73 the state directory cannot be used,\n"
    "74 the output could not be written, 77 a port needs root, 78 a mistake in the config; 130 or 143 after\n"
    "a second SIGINT or SIGTERM.\n";

enum action { ACTION_RUN, ACTION_CHECK, ACTION_PRINT };

struct request {
    enum action action;
    const char *config;
    bool shows_secrets;
};

/* False: the process must end with *status. */
static bool read_options(int argc, char **argv, struct request *request, int *status)
{
    enum { OPTION_CHECK = 256, OPTION_PRINT, OPTION_SECRETS, OPTION_VERSION };
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"check-config", no_argument, NULL, OPTION_CHECK},
        {"print-config", no_argument, NULL, OPTION_PRINT},
        {"show-secrets", no_argument, NULL, OPTION_SECRETS},
        {"version", no_argument, NULL, OPTION_VERSION},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *status = EX_OK;
    for (int option; (option = getopt_long(argc, argv, "c:h", options, NULL)) != -1;) {
        if (option == 'c' && request->config) {
            (void)fprintf(stderr, "headgated: --config is given twice, %s and %s: expected one config\n",
                          request->config, optarg);
            *status = EX_USAGE;
            return false;
        } else if (option == 'c') {
            request->config = optarg;
        } else if (option == OPTION_CHECK) {
            request->action = ACTION_CHECK;
        } else if (option == OPTION_PRINT) {
            request->action = ACTION_PRINT;
        } else if (option == OPTION_SECRETS) {
            request->shows_secrets = true;
        } else if (option == OPTION_VERSION) {
            (void)printf("headgated %s\n", HEADGATE_VERSION);
            return false;
        } else if (option == 'h') {
            (void)fputs(usage, stdout);
            return false;
        } else {
            *status = EX_USAGE; /* getopt has written which option is wrong */
            return false;
        }
    }
    if (optind < argc)
        (void)fprintf(stderr, "headgated: '%s' is not an option: expected --config FILE\n", argv[optind]);
    else if (!request->config)
        (void)fprintf(stderr, "headgated: --config is missing: expected --config FILE, or --help\n");
    else if (request->shows_secrets && request->action != ACTION_PRINT)
        (void)fprintf(stderr, "headgated: --show-secrets has no effect without --print-config\n");
    else
        return true;
    *status = EX_USAGE;
    return false;
}

/* The descriptors that each thread has for what it listens at, and for the central store. */
static rlim_t count_sockets(const struct settings *settings)
{
    const char *const ports[] = {settings->clients_address, settings->clients_tls_address,
                                 settings->http_address,    settings->http_tls_address,
                                 settings->grpc_address,    settings->grpc_tls_address};
    rlim_t count = settings_have_central(settings);
    for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++)
        count += ports[i][0] != '\0';
    return count;
}

/*
 * Raises the limit of descriptors to the number that all connections need. If the system allows
 * fewer, it lowers the number of connections. False: not even a few connections are possible.
 */
static bool make_room_for_files(struct settings *settings, struct error *error)
{
    struct rlimit limit;
    const rlim_t sockets = count_sockets(settings);
    rlim_t spare = SPARE_FILES + (settings_has_peers_tls(settings) ? (rlim_t)TUNNEL_FILES_MAX : 0) + sockets - 1 +
                   (THREAD_FILES + sockets) * (settings->threads - 1),
           wanted = settings->max_connections + spare;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return true;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return true;
    if (limit.rlim_cur <= spare)
        return error_set(error, EX_OSERR,
                         "only %llu file descriptors are allowed: expected more than %llu (ulimit -n)",
                         (unsigned long long)limit.rlim_cur, (unsigned long long)spare);
    uint32_t possible = (uint32_t)(limit.rlim_cur - spare);
    (void)fprintf(stderr,
                  "headgated: max_connections is %u, but only %llu file descriptors are allowed (ulimit -n): "
                  "going on with %u connections\n",
                  settings->max_connections, (unsigned long long)limit.rlim_cur, possible);
    settings->max_connections = possible;
    settings->connections_cut = true;
    return true;
}

/* The files that the config names. */
static bool check_files(const struct settings *settings, const char *config, struct error *error)
{
    struct tls *tls = NULL;
    struct transport_tls *peers = NULL;
    const bool good =
        (!settings_has_tls(settings) || settings_tls_open(settings, config, &tls, error)) &&
        (!settings_has_peers_tls(settings) || settings_peers_tls_open(settings, config, &peers, error));
    tls_destroy(&tls);
    transport_tls_release(&peers);
    return good;
}

static bool run(struct settings *settings, const struct request *request, struct error *error)
{
    if (!settings_read(settings, request->config, error))
        return false;
    switch (request->action) {
    case ACTION_CHECK:
        if (!check_files(settings, request->config, error))
            return false;
        if (settings->warning[0])
            (void)fprintf(stderr, "headgated: %s: %s\n", request->config, settings->warning);
        (void)printf("%s is good: node %s in region %s, limits: %u, peers: %u\n", request->config,
                     settings->node.name, settings->node.region, settings->limits.count, settings->node.peer_count);
        return true;
    case ACTION_PRINT:
        if (!request->shows_secrets)
            settings_hide_secrets(settings);
        (void)settings_print(settings, stdout); /* finish_output says what failed */
        return true;
    case ACTION_RUN:
        break;
    }
    if (!make_room_for_files(settings, error))
        return false;
    settings->connections_room = settings->max_connections;
    settings->grpc_room_bytes = settings->grpc.memory_bytes;
    /* other users must not read the files that this process keeps */
    (void)umask(umask(0) | (S_IWGRP | S_IRWXO));
    settings->node.incarnation = clock_wall_ns();
    settings->node.sleepless_ns = clock_sleepless_ns;
    randombytes_buf(&settings->node.seed, sizeof settings->node.seed);
    return server_run(settings, request->config, error);
}

/* The exit status of a process that has done what was asked, if its output could be written. */
static int finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EX_OK;
    (void)fprintf(stderr, "headgated: the standard output did not take all that there is to say\n");
    return EX_IOERR;
}

int main(int argc, char **argv)
{
    struct request request = {0};
    struct error error = {0};
    int status;
    server_hold_signals();
    if (!descriptors_open_standard())
        return EX_OSERR;
    if (!read_options(argc, argv, &request, &status))
        return status == EX_OK ? finish_output() : status;
    tls_prepare();
    if (sodium_init() < 0) {
        (void)fprintf(stderr, "headgated: libsodium cannot be initialised\n");
        return EX_OSERR;
    }
    struct settings *settings = calloc(1, sizeof *settings);
    if (!settings) {
        (void)fprintf(stderr, "headgated: out of memory\n");
        return EX_OSERR;
    }
    bool good = run(settings, &request, &error);
    if (!good)
        (void)fprintf(stderr, "headgated: %s\n", error.text);
    sodium_memzero(settings, sizeof *settings);
    free(settings);
    return good ? finish_output() : error.exit_status;
}
