/*
 * headgate rules: reads the command line of all actions, and has the functions that actions share.
 */
#include "operator/rules.h"

#include "base/nearest.h"
#include "base/units.h"
#include "edge/process/text_file.h"
#include "operator/command.h"
#include "operator/options.h"
#include "operator/rules_overrides.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum {
    AT,
    TIMEOUT,
    COMMAND_ACCESS_INDICES,
    JSON,
    HELP,
    CANARY,
    WATCH,
    THRESHOLD,
    NOTE,
    TO,
    TEXT,
    CONFIG,
    PRUNE,
    END_OVERRIDES,
    DAEMONS,
    OPTION_COUNT
};

static const struct option_spec options[OPTION_COUNT] = {
    [AT] = {"at", "host:port", "the daemon to ask, any one; default: $HEADGATE_AT or 127.0.0.1:7070"},
    [TIMEOUT] = {"timeout", "duration", "how long to wait for it; default: 2s"},
    COMMAND_ACCESS_OPTIONS,
    [JSON] = {"json", NULL, "for programs"},
    [HELP] = {"help", NULL, "this text"},
    [CANARY] = {"canary", "percent", "apply: to this part of the keys first, e.g. 10%"},
    [WATCH] = {"watch", "duration", "... and to all after this time; default: 60s"},
    [THRESHOLD] = {"threshold", "percent", "... unless it denies this much more of them; default: 5%"},
    [NOTE] = {"note", "text", "apply: why, for the history"},
    [TO] = {"to", "n", "rollback: a version's number in the history; default: 2, the one before the newest"},
    [CONFIG] = {"config", "file", "check: a daemon's config, for its peers' shares and its caps"},
    [PRUNE] = {"prune", NULL, "apply, diff: rules of these services that are not in the files end"},
    [END_OVERRIDES] = {"end-overrides", NULL, "apply: even if more than half of a rule's overrides in a file end"},
    [DAEMONS] = {"daemons", "n", "lint: so many daemons of even shares; default: 3"},
    [TEXT] = {"text", NULL, "history: with each version's text"},
};

/* Options as bits; the first ones, up to HELP, fit every action that asks a daemon. */
#define ALWAYS ((1u << (HELP + 1)) - 1)

static const struct action {
    const char *name, *words, *summary;
    uint32_t words_min, words_max;
    unsigned options;
    int (*run)(struct rules_invocation *invocation);
} actions[] = {
    {"check", "file ...", "what is wrong with the rules in files (- is stdin); asks no daemon", 1, RULES_WORDS_MAX,
     1u << JSON | 1u << HELP | 1u << CONFIG, rules_check},
    {"lint", "file ...", "rules in files that will surprise; exit status 1 if any; asks no daemon", 1,
     RULES_WORDS_MAX, 1u << JSON | 1u << HELP | 1u << DAEMONS, rules_lint},
    {"test", "file ...", "asks what files of cases say, and holds the answers against them; asks no daemon", 1,
     RULES_WORDS_MAX, 1u << JSON | 1u << HELP, rules_test},
    {"apply", "file ...", "adds or changes the rules in files (- is stdin), all of them or none", 1,
     RULES_WORDS_MAX, ALWAYS | 1u << CANARY | 1u << WATCH | 1u << THRESHOLD | 1u << NOTE | 1u << PRUNE |
         1u << END_OVERRIDES,
     rules_apply},
    {"diff", "file ...", "what apply would change; exit status 1 if anything", 1, RULES_WORDS_MAX,
     ALWAYS | 1u << PRUNE, rules_diff},
    {"export", "[service]", "the rules in force as a file, which apply takes back", 0, 1, ALWAYS, rules_export},
    {"list", "[service]", "the rules in force, and what they did", 0, 1, ALWAYS, rules_list},
    {"get", "[service/]id", "one rule, as YAML; the service is default unless named", 1, 1, ALWAYS, rules_get},
    {"delete", "[service/]id", "takes a rule out of force", 1, 1, ALWAYS, rules_delete},
    {"history", "[[service/]id]", "who changed what, when and why; newest first", 0, 1, ALWAYS | 1u << TEXT,
     rules_history},
    {"rollback", "[service/]id", "makes an earlier version the newest", 1, 1, ALWAYS | 1u << TO, rules_rollback},
};
enum { ACTION_COUNT = sizeof actions / sizeof actions[0] };

static const char statuses[] =
    "Exit status otherwise: 64 wrong usage, 65 a mistake in a rule, or the daemon refused, 66 a file cannot be\n"
    "read, 69 no daemon answers, 74 the change is in force, but not on the daemon's disk yet, 76 what answers is not\n"
    "a daemon, 78 a mistake in the config.\n";

static void help(FILE *out)
{
    fputs("Usage: headgate rules action [options] [words]\n\n", out);
    for (size_t i = 0; i < ACTION_COUNT; i++)
        fprintf(out, "  %-9s%-17s%s\n", actions[i].name, actions[i].words, actions[i].summary);
    fputs("\n", out);
    option_help(out, options, OPTION_COUNT);
    fprintf(out, "\n%s", statuses);
}

/* ---- what the actions share ---- */

int rules_ask(struct rules_invocation *invocation, size_t count, const char *const *words, const size_t *sizes,
              enum headgate_reply_kind expected, bool or_nil, const struct headgate_reply **reply)
{
    int failure = EX_SOFTWARE;
    if (!invocation->client)
        invocation->client = command_connect(invocation->name, invocation->at, invocation->timeout_ms,
                                             &invocation->access, &failure);
    if (!invocation->client)
        return failure;
    enum headgate_client_status status = headgate_client_command(invocation->client, count, words, sizes, reply);
    if (status != HEADGATE_CLIENT_OK)
        return command_failed(invocation->name, invocation->client, status);
    if ((*reply)->kind == expected || (or_nil && (*reply)->kind == HEADGATE_REPLY_NIL))
        return EX_OK;
    return command_unexpected(invocation->name, invocation->at);
}

int rules_read_name(const struct rules_invocation *invocation, const char *word, struct rules_name *name)
{
    const char *slash = strchr(word, '/'), *id = slash ? slash + 1 : word;
    const char *service = slash ? word : RULE_DEFAULT_SERVICE;
    size_t service_size = slash ? (size_t)(slash - word) : strlen(service), id_size = strlen(id);
    if (service_size == 0 || service_size > RULE_NAME_MAX_BYTES || id_size == 0 || id_size > RULE_NAME_MAX_BYTES) {
        fprintf(stderr, "headgate %s: \"%s\": expected service/id, or an id of the service %s\n", invocation->name,
                word, RULE_DEFAULT_SERVICE);
        return EX_USAGE;
    }
    (void)snprintf(name->service, sizeof name->service, "%.*s", (int)service_size, service);
    (void)snprintf(name->id, sizeof name->id, "%s", id);
    return EX_OK;
}

/* False: a rule of the file stands in a file before it as well, or memory is short. */
static bool are_new(const struct rule_list *list, const struct rule_list *more, const char *file,
                    struct error *error)
{
    const struct rule *twice = NULL;
    struct rule **sorted = reallocarray(NULL, list->count + 1, sizeof(struct rule *));
    if (!sorted)
        return error_set(error, EX_OSERR, "out of memory while reading %s", file);
    for (size_t i = 0; i < list->count; i++)
        sorted[i] = list->rule[i];
    qsort(sorted, list->count, sizeof(struct rule *), rule_by_name);
    for (size_t i = 0; i < more->count && !twice; i++)
        if (bsearch(&more->rule[i], sorted, list->count, sizeof(struct rule *), rule_by_name))
            twice = more->rule[i];
    free(sorted);
    return !twice || error_set(error, EX_DATAERR,
                               "%s: rule %s of service %s is given twice, first in a file before: expected it once",
                               file, twice->id.data, twice->service.data);
}

int rules_read_files(const struct rules_invocation *invocation, struct rule_list *list)
{
    int status = EX_OK;
    *list = (struct rule_list){0};
    for (uint32_t i = 0; i < invocation->word_count && status == EX_OK; i++) {
        const char *path = strcmp(invocation->word[i], "-") == 0 ? NULL : invocation->word[i];
        size_t size = 0;
        struct rule_list more = {0};
        struct error error;
        char *text = text_file_read(path, RULES_TEXT_MAX_BYTES, "a file of rules", &size, &error);
        if (!text || !rules_parse((struct bytes){text, size}, path ? path : "stdin", &more, &error) ||
            !rules_overrides_read(&more, path, &error) || !are_new(list, &more, path ? path : "stdin", &error)) {
            fprintf(stderr, "headgate %s: %s\n", invocation->name, error.text);
            status = error.exit_status;
        }
        if (status == EX_OK && !rules_append(list, &more))
            status = command_no_memory(invocation->name);
        rules_close(&more);
        free(text);
    }
    return status;
}

/* ---- the command line ---- */

static bool take_daemons(const char *value, uint32_t *daemons)
{
    uint64_t count = RULES_DAEMONS;
    if (value && !(units_parse_count(bytes_of(value), &count) && count >= 1 && count <= RULES_DAEMONS_MAX)) {
        fprintf(stderr, "headgate rules: --daemons is \"%s\": expected a number from 1 to %d\n", value,
                RULES_DAEMONS_MAX);
        return false;
    }
    *daemons = (uint32_t)count;
    return true;
}

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; i < ACTION_COUNT; i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}

static int fail_unknown(const char *name)
{
    struct nearest nearest = {.written = bytes_of(name)};
    for (size_t i = 0; i < ACTION_COUNT; i++)
        nearest_try(&nearest, actions[i].name);
    if (nearest.name)
        fprintf(stderr, "headgate rules: unknown action \"%s\": is it %s?\n", name, nearest.name);
    else
        fprintf(stderr, "headgate rules: unknown action \"%s\": see headgate rules --help\n", name);
    return EX_USAGE;
}

static int run(const struct action *action, const struct option_reader *reader, const struct arguments *given,
               const char *at)
{
    const struct arguments_expected expected = {.allowed = action->options,
                                                .skipped = 1,
                                                .words_min = action->words_min,
                                                .words_max = action->words_max,
                                                .words = action->words};
    struct rules_invocation invocation = {.name = reader->command + sizeof "headgate",
                                          .at = given->value[AT] ? given->value[AT] : at,
                                          .access = command_access_of(&given->value[USER]),
                                          .canary = given->value[CANARY],
                                          .watch = given->value[WATCH],
                                          .threshold = given->value[THRESHOLD],
                                          .note = given->value[NOTE],
                                          .to = given->value[TO],
                                          .config = given->value[CONFIG],
                                          .json = given->value[JSON] != NULL,
                                          .text = given->value[TEXT] != NULL,
                                          .prune = given->value[PRUNE] != NULL,
                                          .end_overrides = given->value[END_OVERRIDES] != NULL,
                                          .word = given->word + 1,
                                          .word_count = given->word_count - 1};
    if (!arguments_fit(reader, given, &expected) ||
        !command_take_timeout("rules", given->value[TIMEOUT], &invocation.timeout_ms) ||
        !take_daemons(given->value[DAEMONS], &invocation.daemons) ||
        !command_access_fits(invocation.name, &invocation.access, options[KEY].name))
        return EX_USAGE;
    const int status = action->run(&invocation);
    headgate_client_destroy(&invocation.client);
    return status;
}

/* Options and words stand in any order; the first word is the action. */
int command_rules(int argc, char **argv, const char *at)
{
    char called[32] = "headgate rules";
    struct option_reader reader = option_reader_of(called, options, OPTION_COUNT, argc, argv);
    struct arguments given;
    if (!arguments_read(&reader, &given))
        return EX_USAGE;
    if (given.value[HELP] || given.word_count == 0) {
        help(given.value[HELP] ? stdout : stderr);
        return given.value[HELP] ? EX_OK : EX_USAGE;
    }
    const struct action *action = find_action(given.word[0]);
    if (!action)
        return fail_unknown(given.word[0]);
    (void)snprintf(called, sizeof called, "headgate rules %s", action->name);
    return run(action, &reader, &given, at);
}
