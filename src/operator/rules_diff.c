/*
 * headgate rules diff: the changes that apply would make, line by line.
 */
#include "operator/json.h"
#include "operator/rules.h"

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

static bool print_diff(const struct rule *rule, const char *old, const char *new)
{
    struct lines before = {0}, after = {0};
    printf("--- %s/%s %s\n+++ %s/%s\n", rule->service.data, rule->id.data, *old ? "in force" : "is new",
           rule->service.data, rule->id.data);
    bool good = cut(&before, old) && cut(&after, new) && print_changes(&before, &after);
    free(before.line);
    free(after.line);
    return good;
}

/* Compares one rule of the file with the daemon's rule. */
static int compare(struct rules_invocation *invocation, const struct rule *rule, struct json *json, bool *differs)
{
    static const char *const keys[2] = {"old", "new"};
    const char *const words[4] = {"RULE", "GET", rule->service.data, rule->id.data};
    const struct headgate_reply *reply;
    int status = rules_ask(invocation, 4, words, NULL, HEADGATE_REPLY_TEXT, true, &reply);
    if (status != EX_OK)
        return status;
    char *text = malloc(RULE_TEXT_MAX_BYTES + 1);
    if (!text) {
        fprintf(stderr, "headgate %s: not enough memory\n", invocation->name);
        return EX_OSERR;
    }
    size_t size = rule_print(rule, text, RULE_TEXT_MAX_BYTES + 1);
    const char *old = reply->kind == HEADGATE_REPLY_TEXT ? reply->text : "";
    if (strcmp(old, text) != 0) {
        *differs = true;
        if (json) {
            json_open(json, NULL, '{');
            json_string(json, "service", rule->service.data);
            json_string(json, "id", rule->id.data);
            if (*old)
                json_string(json, keys[0], old);
            else
                json_null(json, keys[0]);
            json_text(json, keys[1], text, size);
            json_close(json, '}');
        } else if (!print_diff(rule, old, text)) {
            fprintf(stderr, "headgate %s: not enough memory\n", invocation->name);
            status = EX_OSERR;
        }
    }
    free(text);
    return status;
}

int rules_diff(struct rules_invocation *invocation)
{
    struct rule_list list;
    struct json json;
    bool differs = false;
    int status = rules_read_files(invocation, &list);
    if (status == EX_OK && invocation->json) {
        json_init(&json, stdout);
        json_open(&json, NULL, '[');
    }
    bool begun = status == EX_OK && invocation->json;
    for (size_t i = 0; i < list.count && status == EX_OK; i++)
        status = compare(invocation, list.rule[i], invocation->json ? &json : NULL, &differs);
    if (begun)
        json_close(&json, ']');
    rules_close(&list);
    return status != EX_OK ? status : differs ? 1 : EX_OK;
}
