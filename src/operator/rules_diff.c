/*
 * headgate rules diff: the changes that apply would make, line by line.
 */
#include "operator/json.h"
#include "operator/rules.h"
#include "operator/rules_overrides.h"

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

static void json_side(struct json *json, const char *key, const char *text)
{
    if (*text)
        json_string(json, key, text);
    else
        json_null(json, key);
}

/* Compares the rule in force with `text`; "": there is to be none. */
static int compare(struct rules_invocation *invocation, const char *service, const char *id, const char *text,
                   struct json *json, bool *differs)
{
    const char *const words[4] = {"RULE", "GET", service, id};
    const struct headgate_reply *reply;
    int status = rules_ask(invocation, 4, words, NULL, HEADGATE_REPLY_TEXT, true, &reply);
    if (status != EX_OK)
        return status;
    const char *old = reply->kind == HEADGATE_REPLY_TEXT ? reply->text : "";
    if (strcmp(old, text) == 0)
        return EX_OK;
    *differs = true;
    if (json) {
        json_open(json, NULL, '{');
        json_string(json, "service", service);
        json_string(json, "id", id);
        json_side(json, "old", old);
        json_side(json, "new", text);
        json_close(json, '}');
    } else if (!print_diff(service, id, old, text)) {
        fprintf(stderr, "headgate %s: not enough memory\n", invocation->name);
        return EX_OSERR;
    }
    return EX_OK;
}

static int compare_rule(struct rules_invocation *invocation, const struct rule *rule, struct json *json,
                        bool *differs)
{
    char *text = malloc(RULE_TEXT_MAX_BYTES + 1);
    if (!text) {
        fprintf(stderr, "headgate %s: not enough memory\n", invocation->name);
        return EX_OSERR;
    }
    (void)rule_print(rule, text, RULE_TEXT_MAX_BYTES + 1);
    int status = compare(invocation, rule->service.data, rule->id.data, text, json, differs);
    free(text);
    return status;
}

/* ---- what --prune would remove ---- */

static int compare_others(struct rules_invocation *invocation, const struct rule_list *list, struct json *json,
                          bool *differs)
{
    struct rules_names names = {0};
    int status = rules_find_others(invocation, list, &names);
    for (size_t i = 0; i < names.count && status == EX_OK; i++)
        status = compare(invocation, names.name[i].service, names.name[i].id, "", json, differs);
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
    if (status == EX_OK && invocation->json) {
        json_init(&json, stdout);
        json_open(&json, NULL, '[');
    }
    bool begun = status == EX_OK && invocation->json;
    for (size_t i = 0; i < list.count && status == EX_OK; i++)
        status = compare_rule(invocation, list.rule[i], invocation->json ? &json : NULL, &differs);
    if (status == EX_OK && invocation->prune)
        status = compare_others(invocation, &list, invocation->json ? &json : NULL, &differs);
    if (begun)
        json_close(&json, ']');
    rules_close(&list);
    return status != EX_OK ? status : differs ? 1 : EX_OK;
}
