/*
 * headgate: the operator's command. It asks daemons as any other client does; no daemon needs it.
 */
#include "base/nearest.h"
#include "base/units.h"
#include "base/version.h"
#include "edge/process/descriptors.h"
#include "operator/command.h"
#include "operator/options.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sysexits.h>

enum {
    AT,
    TIMEOUT,
    COMMAND_ACCESS_INDICES,
    JSON,
    HELP,
    VERSION,
    COST,
    SERVICE,
    ENDPOINT,
    TIER,
    PRIORITY,
    RULE,
    OPTION_COUNT
};

enum { IDS_MAX = 8 };

static const struct option_spec options[OPTION_COUNT] = {
    [AT] = {"at", "host:port", "the daemon to ask; default: $HEADGATE_AT or 127.0.0.1:7070"},
    [TIMEOUT] = {"timeout", "duration", "how long to wait for it; default: 2s"},
    COMMAND_ACCESS_OPTIONS,
    [JSON] = {"json", NULL, "for programs"},
    [HELP] = {"help", NULL, "this text"},
    [VERSION] = {"version", NULL, "the version"},
    [COST] = {"cost", "n", "tokens to take; default: 1"},
    [SERVICE] = {"service", "name", "whose rules count; default: default"},
    [ENDPOINT] = {"endpoint", "path", "what is asked for; default: none, so only rules for * count"},
    [TIER] = {"tier", "name", "the caller's tier; default: none"},
    [PRIORITY] = {"priority", "level", "low, normal, high or critical; default: normal"},
    [RULE] = {"rule", "name", "that rule, or limit of the config, alone; default: all that match"},
};

static const struct subcommand {
    const char *name, *words, *summary;
    uint32_t words_min, words_max;
    bool takes_rule, takes_cost;
    int (*run)(const struct invocation *invocation);
    const char *details;
} subcommands[] = {
    {"check", "id ...", "may this go ahead? takes tokens if so", 1, IDS_MAX, true, true, command_check,
     "An id is user=alice, ip=1.2.3.4 or just alice, which means user=alice. \"Left here\" is what the asked "
     "daemon\n"
     "could still hand out now, by itself: not what is left of the whole limit.\n"
     "Exit status: 0 allowed, 1 refused.\n"},
    {"peek", "id ...", "would this go ahead? takes nothing", 1, IDS_MAX, true, true, command_peek,
     "Exit status: 0 it would be allowed, 1 it would be refused.\n"},
    {"explain", "id ...", "why it is allowed or refused at this daemon", 1, IDS_MAX, true, false, command_explain,
     ""},
    {"hot", "[service [rule]]", "which keys were refused most, or asked most, at this daemon", 0, 8, false, false,
     command_hot,
     "Further words: count 1..64 (keys of each rule), by refused|asked, over minutes|hours. Keys have names only "
     "where\n"
     "the config says remember_names: true; else headgate fingerprint NAME tells whose fingerprint it is.\n"},
    {"fingerprint", "id ...", "how headgate hot and the log of refusals call a key", 1, IDS_MAX, true, false,
     command_fingerprint, ""},
    {"nodes", "", "the daemons of the cluster, as this one sees them", 0, 0, false, false, command_nodes, ""},
    {"info", "[section ...]", "figures of the daemon: all, or those of some sections", 0, COMMAND_WORDS_MAX - 1,
     false, false, command_info, "Sections: " COMMAND_INFO_SECTIONS ".\n"},
    {"top", "[word value ...]", "what the daemon decides each second, live, until q is typed", 0, 4, false, false,
     command_top,
     "Further words: interval 100ms..1h (default 1s), count n (looks, then the end). Where it does not write to a\n"
     "terminal, and with --json, which writes a line of JSON for each look, it looks once; with interval and "
     "without\n"
     "count it looks until it is ended.\n"},
    {"forget", "node", "declares a daemon gone for good, so that others get its share", 1, 1, false, false,
     command_forget, "Only for a daemon that will not come back: if it still runs, the limit no longer holds.\n"},
    {"weights", "[action ...]", "the weights of regions: shows them, or changes them in all regions", 0,
     COMMAND_WORDS_MAX, false, false, command_weights,
     "  set region=weight ...  changes weights; a region that is not named keeps its own. No sum above 1\n"
     "  history                who changed them, and when\n"
     "  suggest                weights by what each region was asked for lately\n"
     "A smaller weight is in force at once, a larger one when all daemons have heard it and what was spent before "
     "has\n"
     "settled. set needs the role admin, where the daemon has users.\n"},
    {"key", "action ...", "keys of daemons, with which they sign what they say of themselves", 1, 3, false, false,
     command_key,
     "  show                     the fingerprint of the asked daemon's key\n"
     "  rotate                   the asked daemon makes another key; the former one signs that, and peers take it\n"
     "  accept node fingerprint  the asked daemon takes that key for that peer's from now on; none: it learns the "
     "next\n"
     "                           one. Say so to each daemon, and compare with what show says there\n"
     "headgate nodes shows whose key is known. accept and rotate need the role admin, where the daemon has "
     "users.\n"},
    {"reload", "", "makes the daemon read its config again, with the files that it names", 0, 0, false, false,
     command_reload,
     "It says what has changed and is in force now, and what has changed and waits for a restart of the daemon. A\n"
     "mistake in the config changes nothing, and is told (exit status 65). It needs the role admin, where the "
     "daemon "
     "has\nusers.\n"},
    {"hash-password", "", "reads a password, and prints its hash for the config of a daemon", 0, 0, false, false,
     command_hash_password,
     "The password is the first line of the standard input; a terminal does not show it. The hash is for "
     "password_hash\nof a user: in quotes. It asks no daemon.\n"},
};
enum { SUBCOMMAND_COUNT = sizeof subcommands / sizeof subcommands[0] };

static const char statuses[] =
    "Exit status otherwise: 64 wrong usage, 65 the daemon refused the request, 66 a file cannot be read,\n"
    "69 no daemon answers, 76 what answers is not a daemon.\n";

static const char hash_statuses[] =
    "Exit status: 0, or 64 wrong usage, 65 no password of 1 to 256 bytes, 71 too little memory.\n";

/* Otherwise it has no options about one. */
static bool asks_daemon(const struct subcommand *subcommand)
{
    return subcommand->run != command_hash_password;
}

static void help(FILE *out)
{
    static const char row[] = "  %-14s%-18s%s\n";
    fputs("Usage: headgate [options] command [words]\n\n", out);
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        fprintf(out, row, subcommands[i].name, subcommands[i].words, subcommands[i].summary);
    fprintf(out, row, "rules", "action ...",
            "rules of all services: check, lint, test, apply, diff, export, list, get, delete,\n"
            "                                  history, rollback");
    fprintf(out, row, "certs", "name [host ...]", "makes certificates for TLS, and what signs them");
    fprintf(out, row, "load", "", "sends requests to several daemons and measures speed and accuracy");
    fputs("\n\"headgate command --help\" tells more.\n\n", out);
    option_help(out, options, COST);
    fputs("\nA password is taken from $HEADGATE_PASSWORD.\n", out);
    fputs(statuses, out);
}

static void help_subcommand(FILE *out, const struct subcommand *subcommand)
{
    fprintf(out, "Usage: headgate %s [options]%s%s\n\n%s.\n%s\n", subcommand->name, subcommand->words[0] ? " " : "",
            subcommand->words, subcommand->summary, subcommand->details);
    if (!asks_daemon(subcommand)) {
        option_help(out, options + JSON, 1);
        option_help(out, options + HELP, 1);
        fprintf(out, "\n%s", hash_statuses);
        return;
    }
    option_help(out, options, VERSION);
    if (subcommand->takes_cost)
        option_help(out, options + COST, 1);
    if (subcommand->takes_rule)
        option_help(out, options + SERVICE, OPTION_COUNT - SERVICE);
    fprintf(out, "\n%s", statuses);
}

static const struct subcommand *find_subcommand(const char *name)
{
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        if (strcmp(subcommands[i].name, name) == 0)
            return &subcommands[i];
    return NULL;
}

/* Options as bits. */
static uint64_t taken_by(const struct subcommand *subcommand)
{
    uint64_t taken = UINT64_C(1) << HELP | UINT64_C(1) << JSON;
    for (int option = 0; option < OPTION_COUNT && asks_daemon(subcommand); option++)
        if (option >= SERVICE ? subcommand->takes_rule
            : option == COST  ? subcommand->takes_cost
                              : option != VERSION)
            taken |= UINT64_C(1) << option;
    return taken;
}

/* True, and stderr says so: "cost", as redis-cli has it, where --cost is meant. */
static bool has_bare_option(const struct subcommand *subcommand, const struct arguments *arguments)
{
    for (uint32_t i = 1; i < arguments->word_count; i++)
        for (int option = COST; option < OPTION_COUNT; option++) {
            if (!(taken_by(subcommand) >> option & 1) || strcasecmp(arguments->word[i], options[option].name) != 0)
                continue;
            fprintf(stderr, "headgate %s: \"%s\" is no identifier: expected --%s\n", subcommand->name,
                    arguments->word[i], options[option].name);
            return true;
        }
    return false;
}

static bool take_cost(const char *name, const char *value, uint64_t *cost)
{
    *cost = 1;
    if (!value || units_parse_count(bytes_of(value), cost))
        return true;
    fprintf(stderr, "headgate %s: --cost is \"%s\": expected a number of tokens\n", name, value);
    return false;
}

static int run_subcommand(const struct subcommand *subcommand, int argc, char **argv, const char *at)
{
    const struct arguments_expected expected = {.allowed = taken_by(subcommand),
                                                .words_min = subcommand->words_min,
                                                .words_max = subcommand->words_max,
                                                .words = subcommand->words};
    const char *name = subcommand->name;
    char called[32];
    struct arguments given;
    (void)snprintf(called, sizeof called, "headgate %s", name);
    struct option_reader reader = option_reader_of(called, options, OPTION_COUNT, argc, argv);
    if (!arguments_read(&reader, &given))
        return EX_USAGE;
    if (given.value[HELP]) {
        help_subcommand(stdout, subcommand);
        return EX_OK;
    }
    struct invocation invocation = {.name = name,
                                    .at = given.value[AT] ? given.value[AT] : at,
                                    .rule = given.value[RULE],
                                    .service = given.value[SERVICE],
                                    .endpoint = given.value[ENDPOINT],
                                    .tier = given.value[TIER],
                                    .priority = given.value[PRIORITY],
                                    .access = command_access_of(&given.value[USER]),
                                    .json = given.value[JSON] != NULL,
                                    .word = given.word,
                                    .word_count = given.word_count};
    if (!arguments_fit(&reader, &given, &expected) || has_bare_option(subcommand, &given) ||
        !command_take_timeout(name, given.value[TIMEOUT], &invocation.timeout_ms) ||
        !take_cost(name, given.value[COST], &invocation.cost) ||
        !command_access_fits(name, &invocation.access, options[KEY].name))
        return EX_USAGE;
    return subcommand->run(&invocation);
}

/*
 * Finds the subcommand and moves it before the options that precede it, since the subcommand reads
 * all options itself and refuses unknown ones. NULL: the program must end with *status.
 */
static const char *find_command(int argc, char **argv, int *status)
{
    struct option_reader reader = option_reader_of("headgate", options, OPTION_COUNT, argc, argv);
    const char *value;
    int option;
    *status = EX_OK;
    reader.next = 1; /* behind the program's name */
    while ((option = option_next(&reader, &value)) >= 0) {
        if (option == HELP) {
            help(stdout);
            return NULL;
        }
        if (option == VERSION) {
            puts("headgate " HEADGATE_VERSION);
            return NULL;
        }
    }
    if (option == OPTION_WORD) {
        char *command = argv[reader.next - 1];
        memmove(argv + 2, argv + 1, (size_t)(reader.next - 2) * sizeof argv[0]);
        argv[1] = command;
        return command;
    }
    if (option == OPTION_END)
        help(stderr);
    *status = EX_USAGE;
    return NULL;
}

static int run(int argc, char **argv);

/* "help", as many people say, and "help command". */
static int run_help(int argc, char **argv)
{
    char option[] = "--help";
    char *words[] = {argv[0], argc > 2 ? argv[2] : option, option, NULL};
    return run(argc > 2 ? 3 : 2, words);
}

static int run_unknown(const char *name)
{
    static const char *const others[] = {"rules", "certs", "load", "help"};
    struct nearest nearest = {.written = bytes_of(name)};
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        nearest_try(&nearest, subcommands[i].name);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        nearest_try(&nearest, others[i]);
    if (nearest.name)
        fprintf(stderr, "headgate: unknown command \"%s\": is it %s?\n", name, nearest.name);
    else
        fprintf(stderr, "headgate: unknown command \"%s\": see headgate --help\n", name);
    return EX_USAGE;
}

static int run(int argc, char **argv)
{
    const char *at = getenv("HEADGATE_AT");
    if (!at || !at[0])
        at = "127.0.0.1:7070";
    int status;
    const char *name = find_command(argc, argv, &status);
    if (!name)
        return status;
    if (strcmp(name, "load") == 0)
        return command_load(argc - 2, argv + 2, at);
    if (strcmp(name, "certs") == 0)
        return command_certs(argc - 2, argv + 2);
    if (strcmp(name, "rules") == 0)
        return command_rules(argc - 2, argv + 2, at);
    if (strcmp(name, "help") == 0)
        return run_help(argc, argv);
    const struct subcommand *subcommand = find_subcommand(name);
    if (!subcommand)
        return run_unknown(name);
    return run_subcommand(subcommand, argc - 2, argv + 2, at);
}

int main(int argc, char **argv)
{
    if (!descriptors_open_standard())
        return EX_OSERR;
    int status = run(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("headgate: cannot write the output\n", stderr);
        return EX_IOERR;
    }
    return status;
}
