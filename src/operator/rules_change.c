/*
 * headgate rules apply, get, delete and rollback: one change, or one rule.
 */
#include "operator/json.h"
#include "operator/rules.h"
#include "operator/rules_overrides.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum {
    CHUNK_BYTES = 48 * 1024, /* size of a chunk of a text that is too long for one request */
    APPLY_WORDS_MAX = 13,
};

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- apply ---- */

/* Sends the text in chunks; APPLY STAGED follows on the same connection. */
static int stage(struct rules_invocation *invocation, const char *text, size_t size)
{
    int status = EX_OK;
    for (size_t sent = 0; sent < size && status == EX_OK;) {
        size_t chunk = size - sent < CHUNK_BYTES ? size - sent : CHUNK_BYTES;
        const char *const words[3] = {"RULE", "STAGE", text + sent};
        const size_t sizes[3] = {4, 5, chunk};
        const struct headgate_reply *reply;
        status = rules_ask(invocation, 3, words, sizes, HEADGATE_REPLY_INTEGER, false, &reply);
        sent += chunk;
    }
    return status;
}

static void report(const struct rules_invocation *invocation, uint64_t changed, uint64_t removed,
                   uint64_t unchanged)
{
    if (invocation->json) {
        struct json json;
        json_begin(&json, stdout, '{');
        json_count(&json, "changed", changed);
        if (invocation->prune)
            json_count(&json, "removed", removed);
        json_count(&json, "unchanged", unchanged);
        json_close(&json, '}');
        return;
    }
    printf("%" PRIu64 " rule%s changed, ", changed, plural(changed));
    if (invocation->prune)
        printf("%" PRIu64 " removed, ", removed);
    printf("%" PRIu64 " as before", unchanged);
    if (invocation->canary && changed > 0)
        printf("; on trial for %s of the keys, %s%s", invocation->canary,
               invocation->watch ? "watched for " : "watched for 60s", invocation->watch ? invocation->watch : "");
    printf("\n");
}

static int apply_text(struct rules_invocation *invocation, const char *text, size_t size, uint64_t count)
{
    const char *words[APPLY_WORDS_MAX] = {"RULE", "APPLY", text};
    size_t sizes[APPLY_WORDS_MAX] = {4, 5, size}, used = 3;
    const struct {
        const char *name, *value;
    } extra[] = {{"CANARY", invocation->canary},
                 {"WATCH", invocation->watch},
                 {"THRESHOLD", invocation->threshold},
                 {"NOTE", invocation->note}};
    if (size > CHUNK_BYTES) {
        int status = stage(invocation, text, size);
        if (status != EX_OK)
            return status;
        words[2] = "STAGED";
        sizes[2] = 6;
    }
    for (size_t i = 0; i < sizeof extra / sizeof extra[0]; i++) {
        if (!extra[i].value)
            continue;
        words[used] = extra[i].name;
        sizes[used++] = strlen(extra[i].name);
        words[used] = extra[i].value;
        sizes[used++] = strlen(extra[i].value);
    }
    if (invocation->prune) {
        words[used] = "PRUNE";
        sizes[used++] = 5;
    }
    words[used] = "VERBOSE";
    sizes[used++] = 7;
    const struct headgate_reply *reply;
    int status = rules_ask(invocation, used, words, sizes, HEADGATE_REPLY_ARRAY, false, &reply);
    if (status != EX_OK)
        return status;
    const struct headgate_reply *number = headgate_reply_at(reply, 0), *warning = headgate_reply_at(reply, 1);
    uint64_t changed = number && number->integer > 0 ? (uint64_t)number->integer : 0;
    if (warning && warning->kind == HEADGATE_REPLY_TEXT && warning->size > 0)
        fprintf(stderr, "headgate %s: %s\n", invocation->name, warning->text);
    const struct headgate_reply *third = headgate_reply_at(reply, 2);
    uint64_t removed = third && third->integer > 0 ? (uint64_t)third->integer : 0;
    uint64_t set = changed > removed ? changed - removed : 0;
    report(invocation, set, removed, count > set ? count - set : 0);
    return EX_OK;
}

int rules_apply(struct rules_invocation *invocation)
{
    struct rule_list list;
    int status = rules_read_files(invocation, &list);
    char *text = NULL;
    if (status == EX_OK && !invocation->prune)
        status = rules_overrides_end(invocation, &list);
    if (status == EX_OK && !invocation->end_overrides)
        status = rules_overrides_guard(invocation, &list);
    if (status == EX_OK) {
        const struct rule *const *rules = (const struct rule *const *)list.rule;
        size_t size = rules_print(rules, list.count, NULL, 0);
        text = malloc(size + 1);
        if (text) {
            (void)rules_print(rules, list.count, text, size + 1);
            status = apply_text(invocation, text, size, list.count);
        } else {
            status = command_no_memory(invocation->name);
        }
    }
    free(text);
    rules_close(&list);
    return status;
}

/* Asks RULE with that word, the rule that is the first word of the invocation, and `more` if it is not NULL. */
static int ask_of_rule(struct rules_invocation *invocation, const char *word, const char *more,
                       enum headgate_reply_kind kind, bool or_nil, struct rules_name *name,
                       const struct headgate_reply **reply)
{
    const int status = rules_read_name(invocation, invocation->word[0], name);
    const char *const words[5] = {"RULE", word, name->service, name->id, more};
    return status == EX_OK ? rules_ask(invocation, more ? 5 : 4, words, NULL, kind, or_nil, reply) : status;
}

/* ---- get ---- */

static int unknown(const struct rules_invocation *invocation, const struct rules_name *name)
{
    fprintf(stderr, "headgate %s: there is no rule %s in service %s\n", invocation->name, name->id, name->service);
    return EX_DATAERR;
}

static void begin_json(struct json *json, const struct rules_name *name)
{
    json_begin(json, stdout, '{');
    json_string(json, "service", name->service);
    json_string(json, "id", name->id);
}

int rules_get(struct rules_invocation *invocation)
{
    struct rules_name name;
    const struct headgate_reply *reply;
    const int status = ask_of_rule(invocation, "GET", NULL, HEADGATE_REPLY_TEXT, true, &name, &reply);
    if (status != EX_OK)
        return status;
    if (reply->kind == HEADGATE_REPLY_NIL)
        return unknown(invocation, &name);
    if (invocation->json) {
        struct json json;
        begin_json(&json, &name);
        json_text(&json, "text", reply->text, reply->size);
        json_close(&json, '}');
    } else {
        (void)fwrite(reply->text, 1, reply->size, stdout);
    }
    return EX_OK;
}

/* ---- delete, rollback ---- */

static void report_one(const struct rules_invocation *invocation, const struct rules_name *name, bool changed,
                       const char *did)
{
    if (invocation->json) {
        struct json json;
        begin_json(&json, name);
        json_bool(&json, "changed", changed);
        json_close(&json, '}');
    } else {
        printf("%s/%s: %s\n", name->service, name->id, changed ? did : "as before");
    }
}

int rules_delete(struct rules_invocation *invocation)
{
    struct rules_name name;
    const struct headgate_reply *reply;
    const int status = ask_of_rule(invocation, "DEL", NULL, HEADGATE_REPLY_INTEGER, false, &name, &reply);
    if (status != EX_OK)
        return status;
    if (reply->integer == 0)
        return unknown(invocation, &name);
    report_one(invocation, &name, true, "deleted");
    return EX_OK;
}

int rules_rollback(struct rules_invocation *invocation)
{
    struct rules_name name;
    const struct headgate_reply *reply;
    const int status =
        ask_of_rule(invocation, "ROLLBACK", invocation->to, HEADGATE_REPLY_INTEGER, false, &name, &reply);
    if (status != EX_OK)
        return status;
    char did[96];
    (void)snprintf(did, sizeof did, "what was version %.24s is the newest now, version 1 of its history",
                   invocation->to ? invocation->to : "2");
    report_one(invocation, &name, reply->integer > 0, did);
    return EX_OK;
}
