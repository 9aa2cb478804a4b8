/*
 * headgate rules export: the rules in force as one file, which apply takes back.
 */
#include "base/array.h"
#include "operator/command.h"
#include "operator/json.h"
#include "operator/rules.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

/* ---- names ---- */

static bool add_name(struct rules_names *names, const struct rules_name *added)
{
    if (!ARRAY_RESERVE(names->name, names->room, names->count + 1))
        return false;
    names->name[names->count++] = *added;
    return true;
}

static struct rules_name name_of(const struct headgate_reply *row)
{
    struct rules_name name = {.trial_percent = (double)command_member_integer(row, "canary_millionths") / 10000};
    (void)snprintf(name.service, sizeof name.service, "%s", command_member_text(row, "service"));
    (void)snprintf(name.id, sizeof name.id, "%s", command_member_text(row, "id"));
    return name;
}

/* Appends the names of the rules in force: of one service, or of all (NULL). As rules_ask. */
static int find_rules(struct rules_invocation *invocation, const char *service, struct rules_names *names)
{
    const char *words[6] = {"RULE", "LIST", service};
    const size_t base = service ? 3 : 2;
    struct rules_name last;
    for (size_t count = base;; count = base + 3) {
        const struct headgate_reply *rows;
        int status = rules_ask(invocation, count, words, NULL, HEADGATE_REPLY_ARRAY, false, &rows);
        if (status != EX_OK || rows->count == 0)
            return status;
        for (uint32_t i = 0; i < rows->count; i++) {
            const struct rules_name name = name_of(headgate_reply_at(rows, i));
            if (!add_name(names, &name))
                return command_no_memory(invocation->name);
        }
        last = names->name[names->count - 1];
        words[base] = "AFTER";
        words[base + 1] = last.service;
        words[base + 2] = last.id;
    }
}

static bool has_service(const struct rule_list *list, size_t count, const char *service)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list->rule[i]->service.data, service) == 0)
            return true;
    return false;
}

static bool has_rule(const struct rule_list *list, const struct rules_name *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->rule[i]->service.data, name->service) == 0 &&
            strcmp(list->rule[i]->id.data, name->id) == 0)
            return true;
    return false;
}

/* The rules in force of all services of the list. */
static int find_all(struct rules_invocation *invocation, const struct rule_list *list, struct rules_names *all)
{
    int status = EX_OK;
    for (size_t i = 0; i < list->count && status == EX_OK; i++)
        if (!has_service(list, i, list->rule[i]->service.data))
            status = find_rules(invocation, list->rule[i]->service.data, all);
    return status;
}

int rules_find_others(struct rules_invocation *invocation, const struct rule_list *list, struct rules_names *names)
{
    struct rules_names all = {0};
    int status = find_all(invocation, list, &all);
    for (size_t i = 0; i < all.count && status == EX_OK; i++)
        if (!has_rule(list, &all.name[i]) && !add_name(names, &all.name[i]))
            status = command_no_memory(invocation->name);
    free(all.name);
    return status;
}

int rules_find_trials(struct rules_invocation *invocation, const struct rule_list *list, struct rules_names *names)
{
    struct rules_names all = {0};
    int status = find_all(invocation, list, &all);
    for (size_t i = 0; i < all.count && status == EX_OK; i++)
        if (all.name[i].trial_percent > 0 && has_rule(list, &all.name[i]) && !add_name(names, &all.name[i]))
            status = command_no_memory(invocation->name);
    free(all.name);
    return status;
}

/* ---- texts ---- */

int rules_fetch(struct rules_invocation *invocation, const struct rules_name *name, struct rule_list *list)
{
    const char *const words[4] = {"RULE", "GET", name->service, name->id};
    const struct headgate_reply *reply;
    struct error error;
    int status = rules_ask(invocation, 4, words, NULL, HEADGATE_REPLY_TEXT, true, &reply);
    if (status != EX_OK || reply->kind == HEADGATE_REPLY_NIL)
        return status;
    struct rule *rule = rule_parse_kept((struct bytes){reply->text, reply->size}, "the daemon's rule", &error);
    if (!rule) {
        fprintf(stderr, "headgate %s: %s\n", invocation->name, error.text);
        return EX_PROTOCOL;
    }
    assert(list->rule != NULL && "the list has room");
    list->rule[list->count++] = rule;
    return EX_OK;
}

static int print_yaml(const struct rules_invocation *invocation, const struct rule_list *list)
{
    const struct rule *const *rules = (const struct rule *const *)list->rule;
    size_t size = rules_print(rules, list->count, NULL, 0);
    char *text = malloc(size + 1);
    if (!text)
        return command_no_memory(invocation->name);
    (void)rules_print(rules, list->count, text, size + 1);
    (void)fwrite(text, 1, size, stdout);
    free(text);
    return EX_OK;
}

static int print_json(const struct rules_invocation *invocation, const struct rule_list *list)
{
    struct json json;
    char *text = malloc(RULE_TEXT_MAX_BYTES + 1);
    if (!text)
        return command_no_memory(invocation->name);
    json_begin(&json, stdout, '[');
    for (size_t i = 0; i < list->count; i++) {
        size_t size = rule_print(list->rule[i], text, RULE_TEXT_MAX_BYTES + 1);
        json_open(&json, NULL, '{');
        json_string(&json, "service", list->rule[i]->service.data);
        json_string(&json, "id", list->rule[i]->id.data);
        json_text(&json, "text", text, size);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    free(text);
    return EX_OK;
}

static void tell_trials(const struct rules_invocation *invocation, const struct rules_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        if (names->name[i].trial_percent > 0)
            fprintf(
                stderr,
                "headgate %s: rule %s/%s is on trial for %g%% of the keys: this is the version on trial, and to "
                "apply it ends the trial\n",
                invocation->name, names->name[i].service, names->name[i].id, names->name[i].trial_percent);
}

int rules_export(struct rules_invocation *invocation)
{
    struct rules_names names = {0};
    struct rule_list list = {0};
    int status = find_rules(invocation, invocation->word_count > 0 ? invocation->word[0] : NULL, &names);
    if (status == EX_OK) {
        list.rule = calloc(names.count + 1, sizeof(struct rule *));
        status = list.rule ? EX_OK : command_no_memory(invocation->name);
    }
    for (size_t i = 0; i < names.count && status == EX_OK; i++)
        status = rules_fetch(invocation, &names.name[i], &list);
    if (status == EX_OK)
        status = invocation->json ? print_json(invocation, &list) : print_yaml(invocation, &list);
    if (status == EX_OK && invocation->word_count > 0 && list.count == 0)
        fprintf(stderr, "headgate %s: no rule of service '%s' is in force: the list is empty\n", invocation->name,
                invocation->word[0]);
    tell_trials(invocation, &names);
    free(names.name);
    rules_close(&list);
    return status;
}
