/*
 * headgate rules check: what a daemon would say of rule files, without a daemon.
 *
 * The code that a daemon uses reads the files, compiles the rules and holds their limits against shares. Without a
 * config the caps are the defaults, and the shares are not known.
 */
#include "edge/process/clock.h"
#include "edge/settings/settings.h"
#include "edge/settings/settings_reach.h"
#include "limit/events.h"
#include "limit/limit.h"
#include "operator/json.h"
#include "operator/rules.h"
#include "rules/rule_ended.h"
#include "rules/rule_home.h"
#include "rules/rule_reach.h"
#include "rules/ruleset.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define SECOND_NS UINT64_C(1000000000)

/* What the daemon would know besides the rules. */
struct check {
    struct rules_invocation *invocation;
    struct settings *settings; /* NULL: no config is given */
    struct events *events;     /* nothing is spent: logs only have to be possible */
    struct limit_set limits;
    struct ruleset *ruleset;
    uint64_t shares[NODE_PEERS_MAX + 1];
    const char *regions[NODE_PEERS_MAX + 1], *names[NODE_PEERS_MAX + 1];
    struct reach_peers peers; /* count 0: they are not known */
    size_t warnings;
};

static int explain(const struct check *check, const struct error *error)
{
    fprintf(stderr, "headgate %s: %s\n", check->invocation->name, error->text);
    return error->exit_status;
}

static void warn(struct check *check, const struct error *error)
{
    check->warnings++;
    fprintf(stderr, "headgate %s: warning: %s\n", check->invocation->name, error->text);
}

static int intern(void *context, const struct limit_terms *terms, struct error *error)
{
    return limit_set_intern(context, terms, error);
}

static int read_config(struct check *check)
{
    struct error error;
    const char *path = check->invocation->config;
    if (!path)
        return EX_OK;
    check->settings = calloc(1, sizeof *check->settings);
    if (!check->settings || sodium_init() < 0)
        return command_no_memory(check->invocation->name);
    if (!settings_read(check->settings, path, &error))
        return explain(check, &error);
    check->peers = (struct reach_peers){settings_shares(&check->settings->node, check->shares),
                                        check->shares,
                                        check->settings->node.grants,
                                        check->regions,
                                        check->settings->node.takeover_after_ns == 0,
                                        check->names};
    check->regions[0] = check->settings->node.region;
    check->names[0] = check->settings->node.name;
    for (uint32_t i = 0; i < check->settings->node.peer_count; i++) {
        check->regions[1 + i] = check->settings->node.peers[i].region;
        check->names[1 + i] = check->settings->node.peers[i].name;
    }
    return EX_OK;
}

static int prepare(struct check *check)
{
    static const struct hash_key key;
    const struct rule_caps standard = {NODE_SERVICES_MAX, SETTINGS_RULES, SETTINGS_SERVICE_RULES};
    const struct rule_caps *caps = check->settings ? &check->settings->node.rules : &standard;
    struct error error;
    check->events = events_create(1);
    if (!check->events || !limit_set_init(&check->limits, NODE_LIMITS_DEFAULT, check->events))
        return command_no_memory(check->invocation->name);
    const struct named_limits *named = check->settings ? &check->settings->limits : NULL;
    for (uint32_t i = 0; named && i < named->count; i++)
        if (limit_set_intern(&check->limits, &named->limit[i].terms, &error) < 0)
            return explain(check, &error);
    check->ruleset = ruleset_create(&(struct ruleset_options){
        .hash_key = &key,
        .services_max = caps->services_max,
        .rules_max = caps->rules_max,
        .service_rules_max = caps->service_rules_max,
        .threads = 1,
        .intern = intern,
        .context = &check->limits,
    });
    return check->ruleset ? EX_OK : command_no_memory(check->invocation->name);
}

/* Files are read one by one: of all together each rule may stand once, as in one. */
static int check_twins(struct check *check, const struct rule_list *list)
{
    const struct rule *const *rules = (const struct rule *const *)list->rule;
    struct rule_list again = {0};
    struct error error;
    if (check->invocation->word_count < 2)
        return EX_OK;
    size_t size = rules_print(rules, list->count, NULL, 0);
    char *text = malloc(size + 1);
    if (!text)
        return command_no_memory(check->invocation->name);
    (void)rules_print(rules, list->count, text, size + 1);
    int status = rules_parse((struct bytes){text, size}, "all files together", &again, &error)
                     ? EX_OK
                     : explain(check, &error);
    rules_close(&again);
    free(text);
    return status;
}

/* What a daemon with the config says, if there is one. */
static int check_central(struct check *check, const struct rule *rule)
{
    struct error sentence;
    if (rule->sync != RULE_CENTRAL || check->settings == NULL || check->settings->node.has_central)
        return EX_OK;
    (void)
        error_set(&sentence, EX_DATAERR,
                  "rule %s/%s: sync is 'central': expected gossip or budget, since the config has no central store",
                  rule->service.data, rule->id.data);
    return explain(check, &sentence);
}

static bool has_region(const struct node_options *node, struct bytes region)
{
    for (uint32_t i = 0; i < node->region_count; i++)
        if (bytes_equal(bytes_of(node->regions[i].region), region))
            return true;
    return false;
}

static int check_weights(struct check *check, const struct rule *rule)
{
    struct error sentence;
    for (uint16_t i = 0; i < rule->weights_count && check->settings; i++)
        if (!has_region(&check->settings->node, rule->weights[i].region)) {
            (void)
                error_set(&sentence, EX_DATAERR,
                          "rule %s/%s: weights has region '%s', which the config does not have: expected a region "
                          "of the config",
                          rule->service.data, rule->id.data, rule->weights[i].region.data);
            return explain(check, &sentence);
        }
    return EX_OK;
}

/* Each region of the config that would be the home of some keys has a daemon there. */
static bool are_all_inhabited(const struct check *check)
{
    const struct node_options *node = &check->settings->node;
    bool all = true;
    for (uint32_t i = 0; i < node->region_count; i++) {
        bool some = node->regions[i].weight == 0;
        for (uint32_t k = 0; k < check->peers.count; k++)
            some |= strcmp(check->regions[k], node->regions[i].region) == 0;
        all &= some;
    }
    return all;
}

/* As the daemon does that takes the rule; of more daemons it knows more. */
static bool gets_home(struct check *check, const struct rule_list *list, const struct rule *rule)
{
    struct error sentence;
    const enum home_wanted wanted = check->settings ? rule_wants_home(rule, &check->peers) : HOME_NOT_WANTED;
    if (wanted == HOME_NOT_WANTED || (wanted == HOME_OF_REGIONS && !are_all_inhabited(check)) ||
        !rule_home_suits_sheets(rule, list, &check->peers))
        return false;
    rule_home_sentence(rule, wanted, &check->peers, &sentence);
    warn(check, &sentence);
    return true;
}

static int check_reach(struct check *check, const struct rule_list *list, const struct rule *rule)
{
    struct error sentence;
    if (gets_home(check, list, rule))
        return EX_OK;
    switch (rule_reach(rule, &check->peers, &sentence)) {
    case RULE_REACHES:
        break;
    case RULE_FALLS_SHORT:
        warn(check, &sentence);
        break;
    case RULE_NOWHERE:
        return explain(check, &sentence);
    }
    return EX_OK;
}

static void warn_of_ended(struct check *check, const struct rule *rule)
{
    struct error sentence;
    if (rule_count_ended(rule, clock_wall_ns() / SECOND_NS, &sentence) > 0)
        warn(check, &sentence);
}

/* Compiles the rules of the service of list->rule[first] that were not compiled before. */
static int compile_service(struct check *check, const struct rule_list *list, size_t first, struct rule_use *uses,
                           bool *done)
{
    struct bytes service = list->rule[first]->service;
    struct error error;
    size_t count = 0;
    for (size_t i = first; i < list->count; i++) {
        if (done[i] || !bytes_equal(list->rule[i]->service, service))
            continue;
        uses[count++] = (struct rule_use){.rule = list->rule[i]};
        done[i] = true;
    }
    if (!ruleset_compile_service(check->ruleset, service, uses, count, &error))
        return explain(check, &error);
    switch (ruleset_find_doubt(check->ruleset, service, &error)) {
    case RULESET_SOUND:
        break;
    case RULESET_DANGLES:
        warn(check, &error); /* it may be in force already */
        break;
    case RULESET_CIRCLE:
        return explain(check, &error);
    }
    return EX_OK;
}

/* What is wrong with the rule by itself. */
static int check_rule(struct check *check, const struct rule_list *list, const struct rule *rule)
{
    int status = check_central(check, rule);
    if (status == EX_OK)
        status = check_weights(check, rule);
    if (status == EX_OK)
        status = check_reach(check, list, rule);
    warn_of_ended(check, rule);
    return status;
}

static int check_each(struct check *check, const struct rule_list *list, struct rule_use *uses, bool *done)
{
    int status = check_twins(check, list);
    for (size_t i = 0; i < list->count && status == EX_OK; i++)
        status = check_rule(check, list, list->rule[i]);
    for (size_t i = 0; i < list->count && status == EX_OK; i++)
        if (!done[i])
            status = compile_service(check, list, i, uses, done);
    return status;
}

static int check_rules(struct check *check, const struct rule_list *list)
{
    struct rule_use *uses = calloc(list->count + 1, sizeof *uses);
    bool *done = calloc(list->count + 1, sizeof *done);
    const int status =
        uses && done ? check_each(check, list, uses, done) : command_no_memory(check->invocation->name);
    free(uses);
    free(done);
    return status;
}

static void report(const struct check *check, size_t count)
{
    struct json json;
    if (!check->invocation->json) {
        printf("%zu rule%s good%s\n", count, count == 1 ? " is" : "s are",
               check->settings ? ""
                               : "; with --config it is also checked whether the daemons' shares admit anything");
        return;
    }
    json_begin(&json, stdout, '{');
    json_count(&json, "rules", count);
    json_count(&json, "warnings", check->warnings);
    json_close(&json, '}');
}

int rules_check(struct rules_invocation *invocation)
{
    struct check check = {.invocation = invocation};
    struct rule_list list = {0};
    int status = read_config(&check);
    if (status == EX_OK)
        status = prepare(&check);
    if (status == EX_OK)
        status = rules_read_files(invocation, &list);
    if (status == EX_OK)
        status = check_rules(&check, &list);
    if (status == EX_OK)
        report(&check, list.count);
    rules_close(&list);
    ruleset_destroy(&check.ruleset);
    limit_set_close(&check.limits);
    events_destroy(&check.events);
    if (check.settings)
        sodium_memzero(check.settings, sizeof *check.settings);
    free(check.settings);
    return status;
}
