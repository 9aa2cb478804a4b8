/*
 * headgate rules list and history: tables, or JSON.
 */
#include "operator/command.h"
#include "operator/json.h"
#include "operator/rules.h"
#include "operator/sheet.h"
#include "rules/rule_value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static const struct json_types types = {.flags = (const char *const[]){"in_force", "deleted", NULL}};

static uint64_t share(const struct headgate_reply *row)
{
    int64_t millionths = command_member_integer(row, "canary_millionths");
    return millionths > 0 ? (uint64_t)millionths : 0;
}

/* ---- list ---- */

static const char *const list_title[] = {"RULE",   "ENDPOINT",      "BY",        "ALGORITHM", "MODE", "ALLOWED",
                                         "DENIED", "SHADOW DENIED", "OVER LIMIT"};

static bool list_row(struct sheet *sheet, const struct headgate_reply *row)
{
    char percent[32];
    char(*cell)[SHEET_CELL_BYTES] = sheet_add(sheet);
    if (!cell)
        return false;
    (void)snprintf(cell[0], SHEET_CELL_BYTES, "%s/%s", command_member_text(row, "service"),
                   command_member_text(row, "id"));
    (void)snprintf(cell[1], SHEET_CELL_BYTES, "%s", command_member_text(row, "endpoint"));
    const char *by = command_member_text(row, "by");
    (void)snprintf(cell[2], SHEET_CELL_BYTES, "%s", *by ? by : "-");
    (void)snprintf(cell[3], SHEET_CELL_BYTES, "%s", command_member_text(row, "algorithm"));
    (void)snprintf(cell[4], SHEET_CELL_BYTES, "%s%s%s", command_member_text(row, "mode"),
                   share(row) > 0 ? ", canary " : "",
                   share(row) > 0 ? rule_percent_text(share(row), percent, sizeof percent) : "");
    (void)snprintf(cell[5], SHEET_CELL_BYTES, "%" PRId64, command_member_integer(row, "allowed"));
    (void)snprintf(cell[6], SHEET_CELL_BYTES, "%" PRId64, command_member_integer(row, "denied"));
    (void)snprintf(cell[7], SHEET_CELL_BYTES, "%" PRId64, command_member_integer(row, "shadow_denied"));
    (void)snprintf(cell[8], SHEET_CELL_BYTES, "%" PRId64, command_member_integer(row, "over_limit"));
    return true;
}

/* Sends one request after the other; each answer has as many rows as fit. */
static int list_all(struct rules_invocation *invocation, struct sheet *sheet, struct json *json)
{
    struct rules_name last = {0};
    const char *words[6] = {"RULE", "LIST"};
    size_t base = 2;
    if (invocation->word_count > 0)
        words[base++] = invocation->word[0];
    for (size_t count = base;; count = base + 3) {
        const struct headgate_reply *rows;
        int status = rules_ask(invocation, count, words, NULL, HEADGATE_REPLY_ARRAY, false, &rows);
        if (status != EX_OK)
            return status;
        for (uint32_t i = 0; i < rows->count; i++) {
            const struct headgate_reply *row = headgate_reply_at(rows, i);
            if (json)
                json_map(json, NULL, row, &types);
            else if (!list_row(sheet, row))
                return command_no_memory(invocation->name);
            (void)snprintf(last.service, sizeof last.service, "%s", command_member_text(row, "service"));
            (void)snprintf(last.id, sizeof last.id, "%s", command_member_text(row, "id"));
        }
        if (rows->count == 0)
            return EX_OK;
        words[base] = "AFTER";
        words[base + 1] = last.service;
        words[base + 2] = last.id;
    }
}

int rules_list(struct rules_invocation *invocation)
{
    struct sheet sheet = {.title = list_title, .columns = 9, .right = 15u << 5};
    struct json json;
    if (invocation->json && !json_draft(&json, '['))
        return command_no_memory(invocation->name);
    int status = list_all(invocation, &sheet, invocation->json ? &json : NULL);
    if (invocation->json) {
        json_close(&json, ']');
        json_end_draft(&json, status == EX_OK);
    } else if (status == EX_OK && sheet.count > 0)
        sheet_print(&sheet);
    else if (status == EX_OK && invocation->word_count > 0)
        printf("no rule of the service %s is in force\n", invocation->word[0]);
    else if (status == EX_OK)
        printf("no rule is in force: the limits of the config count, each by its name (headgate info limits)\n");
    sheet_close(&sheet);
    return status;
}

/* ---- history ---- */

static const char *const history_title[] = {"RULE", "VERSION", "WHEN", "BY", "STATE", "NOTE"};

static bool history_row(struct sheet *sheet, const struct headgate_reply *row)
{
    char when[32] = "-", percent[32] = "";
    char(*cell)[SHEET_CELL_BYTES] = sheet_add(sheet);
    if (!cell)
        return false;
    int64_t made_s = command_member_integer(row, "unix_ms") / 1000;
    if (made_s > 0)
        (void)rule_moment_text((uint64_t)made_s, when, sizeof when);
    if (share(row) > 0)
        (void)rule_percent_text(share(row), percent, sizeof percent);
    bool deleted = command_member_integer(row, "deleted") != 0;
    bool in_force = command_member_integer(row, "in_force") != 0;
    (void)snprintf(cell[0], SHEET_CELL_BYTES, "%s/%s", command_member_text(row, "service"),
                   command_member_text(row, "id"));
    (void)snprintf(cell[1], SHEET_CELL_BYTES, "%" PRId64, command_member_integer(row, "version"));
    (void)snprintf(cell[2], SHEET_CELL_BYTES, "%s", when);
    (void)snprintf(cell[3], SHEET_CELL_BYTES, "%s", command_member_text(row, "author"));
    (void)snprintf(cell[4], SHEET_CELL_BYTES, "%s%s%s", share(row) > 0 ? "canary " : "", percent,
                   deleted      ? "deleted"
                   : !in_force  ? (share(row) > 0 ? ", over" : "over")
                   : share(row) ? ""
                                : "in force");
    (void)snprintf(cell[5], SHEET_CELL_BYTES, "%s", command_member_text(row, "note"));
    return true;
}

static void print_texts(const struct headgate_reply *rows)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct headgate_reply *row = headgate_reply_at(rows, i);
        printf("\n# %s/%s, version %" PRId64 "\n", command_member_text(row, "service"),
               command_member_text(row, "id"), command_member_integer(row, "version"));
        const struct headgate_reply *text = command_member(row, "text");
        if (text && text->kind == HEADGATE_REPLY_TEXT)
            (void)fwrite(text->text, 1, text->size, stdout);
        else
            printf("# %s\n",
                   command_member_integer(row, "deleted") ? "deleted" : "too long to be shown with the others");
    }
}

/* Of one rule, if it is named: a service alone, or a slip, would look as if nothing had ever been changed. */
static int ask_history(struct rules_invocation *invocation, const struct headgate_reply **rows)
{
    const bool of_one = invocation->word_count > 0;
    struct rules_name name;
    const char *words[4] = {"RULE", "HISTORY", name.service, name.id};
    int status = of_one ? rules_read_name(invocation, invocation->word[0], &name) : EX_OK;
    if (status == EX_OK)
        status = rules_ask(invocation, of_one ? 4 : 2, words, NULL, HEADGATE_REPLY_ARRAY, false, rows);
    if (status != EX_OK || !of_one || (*rows)->count > 0)
        return status;
    fprintf(stderr, "headgate %s: there was never a rule %s in service %s\n", invocation->name, name.id,
            name.service);
    return EX_DATAERR;
}

int rules_history(struct rules_invocation *invocation)
{
    const struct headgate_reply *rows;
    int status = ask_history(invocation, &rows);
    if (status != EX_OK)
        return status;
    struct sheet sheet = {.title = history_title, .columns = 6, .right = 1u << 1};
    struct json json;
    if (invocation->json)
        json_begin(&json, stdout, '[');
    for (uint32_t i = 0; i < rows->count && status == EX_OK; i++) {
        if (invocation->json)
            json_map(&json, NULL, headgate_reply_at(rows, i), &types);
        else if (!history_row(&sheet, headgate_reply_at(rows, i)))
            status = command_no_memory(invocation->name);
    }
    if (invocation->json) {
        json_close(&json, ']');
    } else if (status == EX_OK) {
        sheet_print(&sheet);
        if (invocation->text)
            print_texts(rows);
    }
    sheet_close(&sheet);
    return status;
}
