/*
 * headgate load: reads and checks its options, runs, and gives the exit status.
 */
#include "operator/load.h"

#include "base/units.h"
#include "edge/process/clock.h"
#include "operator/command.h"
#include "operator/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

/* X(IDENTIFIER, "name", "argument" or NULL, "help") */
#define LOAD_OPTIONS(X)                                                                                            \
    X(TO, "to", "host:port,...", "the daemons, all at once; default: the one of --at")                             \
    X(AT, "at", "host:port", "the same for a single one")                                                          \
    X(KEY, "key", "name", "ask for this one key; default: a name that no other run uses")                          \
    X(KEYS, "keys", "n", "ask for n keys, drawn at random")                                                        \
    X(PREFIX, "prefix", "text", "how their names begin; default: as no other run's")                               \
    X(IN_ORDER, "in-order", NULL, "not at random: key 0, 1, 2 and so on, round and round")                         \
    X(ZIPF, "zipf", "s", "draw key number i in proportion to 1/i^s; default: 0, all alike")                        \
    X(RATE, "rate", "r",                                                                                           \
      "r requests a second (200, 1.5/s, 6000/m) to all targets together, on a\n"                                   \
      "schedule that does not wait for replies")                                                                   \
    X(POISSON, "poisson", NULL, "with --rate: at random moments instead of even ones")                             \
    X(MAX, "max", NULL, "as many as possible: every connection keeps its pipeline full (default)")                 \
    X(BUSY, "busy", NULL,                                                                                          \
      "never sleep: takes a whole processor, but no server on the same machine\n"                                  \
      "needs to wake it up")                                                                                       \
    X(BURST, "burst", "n", "send n requests to each target as fast as possible, once, and stop")                   \
    X(CONNECTIONS, "connections", "n", "per target; default: 4")                                                   \
    X(PIPELINE, "pipeline", "n",                                                                                   \
      "requests in flight per connection; default: 16, with --rate 256,\n"                                         \
      "with --burst all of them")                                                                                  \
    X(SECONDS, "seconds", "s", "how long; default: 10")                                                            \
    X(WARMUP, "warmup", "s", "how long before that, not measured (but judged); default: 0")                        \
    X(COST, "cost", "n", "tokens of each request; default: 1")                                                     \
    X(COMMAND, "command", "name", "can_access (default), check, or ping, which measures all but the limit")        \
    X(SEND, "send", "words",                                                                                       \
      "send these words instead, also to other servers; each {key} becomes the key:\n"                             \
      "\"CHECK user={key} ip=10.{key} COST 2\". Counts as admitted what is answered by 1")                         \
    X(RULE, "rule", "name", "with check: the limit to ask; default: the daemon's default limit")                   \
    X(CAPACITY, "capacity", "n", "judge by this capacity, ...")                                                    \
    X(LIMIT_RATE, "limit-rate", "r", "... this rate (100/s) ...")                                                  \
    X(DECLARED, "declared", "n|n%", "... and this overshoot; default of all three: what the first daemon says")    \
    X(USER, "user", "name", "who asks; the secret is $HEADGATE_PASSWORD")                                          \
    X(TLS, "tls", NULL, "asks over TLS")                                                                           \
    X(CACERT, "cacert", "file", "... of daemons that these authorities sign; default: those of the system")        \
    X(CERT, "cert", "file", "... with this certificate, where a daemon wants one")                                 \
    X(CERT_KEY, "cert-key", "file", "... and its key")                                                             \
    X(EXPECT_BOUND, "expect-bound", NULL, "exit with 1 if any key was certainly granted more than declared")       \
    X(NO_ACCURACY, "no-accuracy", NULL, "do not judge, only measure: a little faster with many keys")              \
    X(SEED, "seed", "n", "draw the same keys (and their default names) again; default: at random")                 \
    X(JSON, "json", NULL, "report as JSON")                                                                        \
    X(HISTOGRAM, "histogram", NULL,                                                                                \
      "with --json: how often each latency occurred, to be added up over several runs")                            \
    X(QUIET, "quiet", NULL, "do not report")                                                                       \
    X(PROGRESS, "progress", NULL, "a line every second on stderr; default: if that is a terminal")                 \
    X(HELP, "help", NULL, "this text")

enum option_id {
#define X(id, name, argument, help) OPTION_##id,
    LOAD_OPTIONS(X)
#undef X
        OPTION_COUNT
};

static const struct option_spec specs[OPTION_COUNT] = {
#define X(id, name, argument, help) {name, argument, help},
    LOAD_OPTIONS(X)
#undef X
};

static void help(void)
{
    puts("Usage: headgate load [options]\n\n"
         "Sends requests to several daemons at once; reports speed, latency and, where the limit is known, how\n"
         "exactly it was kept: admitted, what one bucket would have admitted at the times of the replies, and\n"
         "the overshoot: the most tokens that were handed out beyond the limit at any moment. The overshoot is\n"
         "the certain one, whatever happened between request and reply; \"by the times of the replies\" counts\n"
         "every grant when its reply arrived.\n");
    option_help(stdout, specs, OPTION_COUNT);
    puts("\nExit status: 0, 1 when --expect-bound is disappointed, 64 wrong usage, 66 a file cannot be read,\n"
         "69 no daemon answers.");
}

static bool wrong(enum option_id option, const char *value, const char *expected)
{
    fprintf(stderr, "headgate load: --%s is \"%s\": expected %s\n", specs[option].name, value, expected);
    return false;
}

static bool take_targets(struct load_options *options, const char *value)
{
    options->target_count = 0;
    for (;;) {
        size_t size = strcspn(value, ",");
        if (size == 0 || size >= LOAD_ADDRESS_BYTES || options->target_count == LOAD_TARGETS_MAX)
            return wrong(OPTION_TO, value, "at most 64 host:port, separated by commas");
        memcpy(options->target[options->target_count], value, size);
        options->target[options->target_count++][size] = '\0';
        if (value[size] == '\0')
            return true;
        value += size + 1;
    }
}

static bool take_count(enum option_id option, const char *value, uint64_t least, uint64_t most, uint64_t *count)
{
    char expected[80];
    if (units_parse_count(bytes_of(value), count) && *count >= least && *count <= most)
        return true;
    (void)snprintf(expected, sizeof expected, "a number from %llu to %llu", (unsigned long long)least,
                   (unsigned long long)most);
    return wrong(option, value, expected);
}

static bool take_u32(enum option_id option, const char *value, uint32_t most, uint32_t *count)
{
    uint64_t wide = 0;
    bool taken = take_count(option, value, 1, most, &wide);
    *count = (uint32_t)wide;
    return taken;
}

static bool take_real(enum option_id option, const char *value, double least, double most, double *real)
{
    char expected[80], *end;
    errno = 0;
    *real = strtod(value, &end);
    if (end != value && *end == '\0' && errno == 0 && *real >= least && *real <= most)
        return true;
    (void)snprintf(expected, sizeof expected, "a number from %g to %g", least, most);
    return wrong(option, value, expected);
}

static bool take_rate(struct load_options *options, const char *value)
{
    uint64_t tokens, period_ns;
    if (!strchr(value, '/'))
        return take_real(OPTION_RATE, value, 0.001, 1e9, &options->rate);
    if (!units_parse_rate(bytes_of(value), &tokens, &period_ns) || tokens == 0)
        return wrong(OPTION_RATE, value, "a rate like 200, 200/s or 6000/m");
    options->rate = (double)tokens * 1e9 / (double)period_ns;
    return options->rate <= 1e9 || wrong(OPTION_RATE, value, "at most 1e9 requests a second");
}

static bool take_command(struct load_options *options, const char *value)
{
    static const char *const names[] = {"can_access", "check", "ping"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(value, names[i]) != 0)
            continue;
        options->command = (enum load_command)i;
        return true;
    }
    return wrong(OPTION_COMMAND, value, "can_access, check or ping");
}

static bool take_text(enum option_id option, const char *value, size_t room, const char **text)
{
    *text = value;
    return (value[0] != '\0' && strlen(value) < room) || wrong(option, value, "a shorter name that is not empty");
}

static bool take_declared(struct load_options *options, const char *value)
{
    options->declared_given = true;
    options->declared_is_part = units_parse_percent(bytes_of(value), &options->declared);
    return options->declared_is_part ||
           take_count(OPTION_DECLARED, value, 0, LIMIT_CAPACITY_MAX, &options->declared);
}

static bool take_limit_rate(struct load_options *options, const char *value)
{
    options->rate_given = units_parse_rate(bytes_of(value), &options->limit_rate, &options->limit_period_ns);
    return options->rate_given || wrong(OPTION_LIMIT_RATE, value, "a rate like 100/s");
}

/* The flag that an option without argument sets, or NULL. */
static bool *flag_of(struct load_options *options, enum option_id option)
{
    const struct {
        enum option_id option;
        bool *flag;
    } flags[] = {{OPTION_IN_ORDER, &options->in_order},
                 {OPTION_POISSON, &options->poisson},
                 {OPTION_BUSY, &options->busy},
                 {OPTION_EXPECT_BOUND, &options->expect_bound},
                 {OPTION_NO_ACCURACY, &options->no_accuracy},
                 {OPTION_JSON, &options->json},
                 {OPTION_HISTOGRAM, &options->histogram},
                 {OPTION_QUIET, &options->quiet},
                 {OPTION_PROGRESS, &options->progress}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (flags[i].option == option)
            return flags[i].flag;
    return NULL;
}

/* False: the value is invalid, and stderr says so. */
static bool take_option(struct load_options *options, enum option_id option, const char *value)
{
    bool *flag = flag_of(options, option);
    if (flag)
        *flag = true;
    switch (option) {
    case OPTION_TO:
    case OPTION_AT:
        return take_targets(options, value);
    case OPTION_KEY:
        return take_text(option, value, LOAD_KEY_BYTES, &options->key);
    case OPTION_PREFIX:
        return take_text(option, value, LOAD_KEY_BYTES, &options->prefix);
    case OPTION_SEND:
        options->command = LOAD_SEND;
        options->no_accuracy = true;
        return take_text(option, value, LOAD_REQUEST_BYTES / 4, &options->send);
    case OPTION_RULE:
        return take_text(option, value, LIMIT_NAME_BYTES, &options->rule);
    case OPTION_KEYS:
        return take_u32(option, value, ZIPF_COUNT_MAX, &options->keys);
    case OPTION_ZIPF:
        return take_real(option, value, 0, 10, &options->zipf);
    case OPTION_RATE:
        return take_rate(options, value);
    case OPTION_MAX:
        options->rate = 0;
        return true;
    case OPTION_BURST:
        return take_count(option, value, 1, 1000000000, &options->burst);
    case OPTION_CONNECTIONS:
        return take_u32(option, value, LOAD_CONNECTIONS_MAX, &options->connections);
    case OPTION_PIPELINE:
        return take_u32(option, value, LOAD_PIPELINE_MAX, &options->pipeline);
    case OPTION_SECONDS:
        return take_real(option, value, 0.01, 1e6, &options->seconds);
    case OPTION_WARMUP:
        return take_real(option, value, 0, 1e6, &options->warmup);
    case OPTION_COST:
        return take_count(option, value, 0, LIMIT_CAPACITY_MAX, &options->cost);
    case OPTION_COMMAND:
        return take_command(options, value);
    case OPTION_CAPACITY:
        options->capacity_given = true;
        return take_count(option, value, 1, LIMIT_CAPACITY_MAX, &options->capacity);
    case OPTION_LIMIT_RATE:
        return take_limit_rate(options, value);
    case OPTION_DECLARED:
        return take_declared(options, value);
    case OPTION_SEED:
        return take_count(option, value, 0, UINT64_MAX, &options->seed);
    case OPTION_IN_ORDER:
    case OPTION_POISSON:
    case OPTION_BUSY:
    case OPTION_EXPECT_BOUND:
    case OPTION_USER: /* command_access_of takes the five */
    case OPTION_TLS:
    case OPTION_CACERT:
    case OPTION_CERT:
    case OPTION_CERT_KEY:
    case OPTION_NO_ACCURACY:
    case OPTION_JSON:
    case OPTION_HISTOGRAM:
    case OPTION_QUIET:
    case OPTION_PROGRESS:
    case OPTION_HELP:
    case OPTION_COUNT:
        break;
    }
    return true;
}

static bool contradiction(const char *sentence)
{
    fprintf(stderr, "headgate load: %s\n", sentence);
    return false;
}

/* Fills in defaults and refuses options that exclude each other. */
static bool complete(struct load_options *options)
{
    if (options->key && options->keys > 1)
        return contradiction("--key and --keys exclude each other");
    if (options->in_order && (options->key || options->zipf > 0))
        return contradiction("--in-order needs --keys, and excludes --zipf");
    if (options->rule && options->command != LOAD_CHECK)
        return contradiction("--rule needs --command check: can_access asks the default limit");
    if (options->burst && options->rate > 0)
        return contradiction("--burst and --rate exclude each other");
    if (options->histogram && !options->json)
        return contradiction("--histogram needs --json");
    if (options->poisson && !(options->rate > 0))
        return contradiction("--poisson needs --rate");
    if (options->send && options->cost != 1)
        return contradiction("--cost says nothing to --send: say it in the words");
    if (options->expect_bound && (options->no_accuracy || options->keys > LOAD_JUDGED_KEYS_MAX))
        return contradiction("--expect-bound cannot be judged with --no-accuracy or with more than 1,000,000 keys");
    if ((uint64_t)options->connections * options->target_count > LOAD_CONNECTIONS_MAX)
        return contradiction("too many connections: at most 4096 to all targets together");
    if (!command_access_fits("load", &options->access, specs[OPTION_CERT_KEY].name))
        return false;
    if (options->keys == 0)
        options->keys = 1;
    if (options->pipeline == 0 && options->burst) {
        uint64_t all = (options->burst + options->connections - 1) / options->connections;
        options->pipeline = all < LOAD_PIPELINE_MAX ? (uint32_t)all : LOAD_PIPELINE_MAX;
    }
    if (options->pipeline == 0)
        options->pipeline = options->rate > 0 ? 256 : 16;
    if (isatty(STDERR_FILENO) && !options->quiet)
        options->progress = true;
    return true;
}

static int run(struct load *load)
{
    int status = load_open(load);
    if (status == EX_OK)
        status = load_run(load);
    if (status != EX_OK)
        return status;
    load_report(load);
    uint64_t answered = 0, errors = 0;
    for (uint32_t t = 0; t < load->options.target_count; t++) {
        answered += load->target[t].answered;
        errors += load->target[t].errors;
    }
    if (answered == 0) {
        fprintf(stderr, "headgate load: no request was answered: %s\n",
                load->first_error[0] ? load->first_error : "none came back in time");
        return EX_UNAVAILABLE;
    }
    if (errors == answered) {
        fprintf(stderr, "headgate load: every answer was an error: %s\n", load->first_error);
        return EX_DATAERR;
    }
    if (!load->options.expect_bound)
        return EX_OK;
    struct load_judgement judgement;
    load_judge(load, &judgement);
    return judgement.within_bound ? EX_OK : 1;
}

static bool take_options(struct load_options *options, const struct arguments *given, const char *at)
{
    options->connections = 4;
    options->seconds = 10;
    options->cost = 1;
    options->seed = clock_wall_ns(); /* different for every run on one machine */
    options->access = command_access_of(&given->value[OPTION_USER]);
    if (given->word_count > 0) {
        fprintf(stderr, "headgate load: unexpected word \"%s\": see --help\n", given->word[0]);
        return false;
    }
    bool good = take_targets(options, at);
    for (int option = 0; option < OPTION_COUNT && good; option++)
        if (given->value[option])
            good = take_option(options, (enum option_id)option, given->value[option]);
    return good && complete(options);
}

int command_load(int argc, char **argv, const char *at)
{
    struct option_reader reader = option_reader_of("headgate load", specs, OPTION_COUNT, argc, argv);
    struct arguments given;
    if (!arguments_read(&reader, &given))
        return EX_USAGE;
    if (given.value[OPTION_HELP]) {
        help();
        return EX_OK;
    }
    struct load *load = calloc(1, sizeof *load);
    if (!load)
        return command_no_memory("load");
    load->epoll = -1;
    const int status = take_options(&load->options, &given, at) ? run(load) : EX_USAGE;
    load_close(load);
    free(load);
    return status;
}
