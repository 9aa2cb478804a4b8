/*
 * headgate rules diff: the changes that apply would make, line by line.
 */
#include "operator/json.h"
#include "operator/rules.h"
#include "operator/rules_overrides.h"
#include "rules/homes.h"
#include "rules/rule_home.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

/* A text as lines: views without their ends. */
struct lines {
    size_t count;
    struct bytes *line;
};

static bool cut(struct lines *lines, const char *text)
{
    size_t most = 1;
    for (const char *at = text; *at; at++)
        most += *at == '\n';
    lines->count = 0;
    lines->line = calloc(most, sizeof *lines->line);
    if (!lines->line)
        return false;
    while (*text) {
        size_t size = strcspn(text, "\n");
        lines->line[lines->count++] = (struct bytes){text, size};
        text += size + (text[size] == '\n');
    }
    return true;
}

static void print_line(char mark, struct bytes line)
{
    printf("%c%.*s\n", mark, (int)line.size, line.data);
}

/*
 * common[i][j] is the length of the longest sequence of lines that old[i..] and new[j..] share.
 * Texts of rules are short, at most some thousand lines.
 */
static bool print_changes(const struct lines *old, const struct lines *new)
{
    size_t width = new->count + 1;
    uint16_t *common = calloc((old->count + 1) * width, sizeof *common);
    if (!common)
        return false;
    for (size_t i = old->count; i-- > 0;)
        for (size_t j = new->count; j-- > 0;) {
            uint16_t down = common[(i + 1) * width + j], right = common[i * width + j + 1];
            common[i * width + j] = bytes_equal(old->line[i], new->line[j])
                                        ? (uint16_t)(common[(i + 1) * width + j + 1] + 1)
                                    : down >= right ? down
                                                    : right;
        }
    size_t i = 0, j = 0;
    while (i < old->count || j < new->count) {
        bool both = i < old->count && j < new->count;
        if (both && bytes_equal(old->line[i], new->line[j])) {
            print_line(' ', old->line[i++]);
            j++;
        } else if (j == new->count || (both && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
            print_line('-', old->line[i++]);
        } else {
            print_line('+', new->line[j++]);
        }
    }
    free(common);
    return true;
}

static bool print_diff(const char *service, const char *id, const char *old, const char *new)
{
    struct lines before = {0}, after = {0};
    printf("--- %s/%s %s\n+++ %s/%s%s\n", service, id, *old ? "in force" : "is new", service, id,
           *new ? "" : " is removed");
    bool good = cut(&before, old) && cut(&after, new) && print_changes(&before, &after);
    free(before.line);
    free(after.line);
    return good;
}

/* A rule as the files have it. */
struct wanted {
    const char *service, *id;
    const char *text;     /* "": there is to be none */
    bool home_open;       /* a daemon may give it a home */
    double trial_percent; /* of the keys, for which this rule is tried; 0: it is not */
};

/*
 * True: the daemon would give the rule the home that it has, and change nothing. One that does not say what it would
 * do, as those of earlier releases, gives no homes.
 */
static bool is_given_home(struct rules_invocation *invocation, const struct wanted *wanted, const char *old)
{
    const char *const words[4] = {"RULE", "APPLY", wanted->text, "DRYRUN"};
    const struct headgate_reply *reply;
    const bool has_home_of_keys = strstr(old, "\nhome: " HOME_BY_KEY "\n") || strstr(old, "\nhome: [");
    return wanted->home_open && has_home_of_keys &&
           headgate_client_command(invocation->client, 4, words, NULL, &reply) == HEADGATE_CLIENT_OK &&
           reply->kind == HEADGATE_REPLY_INTEGER && reply->integer == 0;
}

/* The rule is on trial: to apply it makes it count for all keys. */
static void tell_trial(const struct wanted *wanted, struct json *json)
{
    if (!json) {
        printf("--- %s/%s on trial for %g%% of the keys\n+++ %s/%s for all keys\n", wanted->service, wanted->id,
               wanted->trial_percent, wanted->service, wanted->id);
        return;
    }
    json_open(json, NULL, '{');
    json_string(json, "service", wanted->service);
    json_string(json, "id", wanted->id);
    json_string(json, "old", wanted->text);
    json_string(json, "new", wanted->text);
    json_number(json, "trial_percent", wanted->trial_percent);
    json_close(json, '}');
}

static int compare_texts(struct rules_invocation *invocation, const struct wanted *wanted, const char *old,
                         struct json *json, bool *differs)
{
    const bool same = strcmp(old, wanted->text) == 0;
    if (!(same && wanted->trial_percent > 0) && (same || is_given_home(invocation, wanted, old)))
        return EX_OK;
    *differs = true;
    if (same) {
        tell_trial(wanted, json);
        return EX_OK;
    }
    if (json) {
        json_open(json, NULL, '{');
        json_string(json, "service", wanted->service);
        json_string(json, "id", wanted->id);
        json_optional(json, "old", old);
        json_optional(json, "new", wanted->text);
        json_close(json, '}');
    } else if (!print_diff(wanted->service, wanted->id, old, wanted->text)) {
        return command_no_memory(invocation->name);
    }
    return EX_OK;
}

/* Compares the rule in force with what it is to be. */
static int compare(struct rules_invocation *invocation, const struct wanted *wanted, struct json *json,
                   bool *differs)
{
    const char *const words[4] = {"RULE", "GET", wanted->service, wanted->id};
    const struct headgate_reply *reply;
    int status = rules_ask(invocation, 4, words, NULL, HEADGATE_REPLY_TEXT, true, &reply);
    if (status != EX_OK)
        return status;
    char *old = strdup(reply->kind == HEADGATE_REPLY_TEXT ? reply->text : ""); /* further replies take its place */
    if (!old)
        return command_no_memory(invocation->name);
    status = compare_texts(invocation, wanted, old, json, differs);
    free(old);
    return status;
}

static double trial_percent(const struct rules_names *trials, const struct rule *rule)
{
    for (size_t i = 0; i < trials->count; i++)
        if (strcmp(trials->name[i].service, rule->service.data) == 0 &&
            strcmp(trials->name[i].id, rule->id.data) == 0)
            return trials->name[i].trial_percent;
    return 0;
}

static int compare_rule(struct rules_invocation *invocation, struct rule *rule, double trial, struct json *json,
                        bool *differs)
{
    const bool home_open = rule_leaves_home_open(rule);
    char *text = malloc(RULE_TEXT_MAX_BYTES + 1);
    if (!text)
        return command_no_memory(invocation->name);
    rule->home_none = false; /* as no rule in force says it */
    (void)rule_print(rule, text, RULE_TEXT_MAX_BYTES + 1);
    const struct wanted wanted = {rule->service.data, rule->id.data, text, home_open, trial};
    int status = compare(invocation, &wanted, json, differs);
    free(text);
    return status;
}

static int compare_rules(struct rules_invocation *invocation, const struct rule_list *list, struct json *json,
                         bool *differs)
{
    struct rules_names trials = {0};
    int status = rules_find_trials(invocation, list, &trials);
    for (size_t i = 0; i < list->count && status == EX_OK; i++) {
        const double trial = trial_percent(&trials, list->rule[i]);
        status = compare_rule(invocation, list->rule[i], trial, json, differs);
    }
    free(trials.name);
    return status;
}

/* ---- what --prune would remove ---- */

static int compare_others(struct rules_invocation *invocation, const struct rule_list *list, struct json *json,
                          bool *differs)
{
    struct rules_names names = {0};
    int status = rules_find_others(invocation, list, &names);
    for (size_t i = 0; i < names.count && status == EX_OK; i++) {
        const struct wanted none = {names.name[i].service, names.name[i].id, "", false, 0};
        status = compare(invocation, &none, json, differs);
    }
    free(names.name);
    return status;
}

int rules_diff(struct rules_invocation *invocation)
{
    struct rule_list list;
    struct json json;
    bool differs = false;
    int status = rules_read_files(invocation, &list);
    if (status == EX_OK && !invocation->prune)
        status = rules_overrides_end(invocation, &list);
    const bool begun = status == EX_OK && invocation->json && json_draft(&json, '[');
    if (status == EX_OK && invocation->json && !begun)
        status = command_no_memory(invocation->name);
    if (status == EX_OK)
        status = compare_rules(invocation, &list, invocation->json ? &json : NULL, &differs);
    if (status == EX_OK && invocation->prune)
        status = compare_others(invocation, &list, invocation->json ? &json : NULL, &differs);
    if (begun) {
        json_close(&json, ']');
        json_end_draft(&json, status == EX_OK);
    }
    rules_close(&list);
    return status != EX_OK ? status : differs ? 1 : EX_OK;
}
