/*
 * What a change would do to each rule that it names, for a dry run.
 */
#include "http/rule_ask.h"
#include "http/rule_json.h"
#include "rules/rule_text.h"

#include <stdlib.h>

enum { ROW_END_BYTES = 64, WORK_BYTES = 8 };

struct plan {
    struct http_call *call;
    struct output *output;
    size_t rows, left_out;
};

static const char *change_of(const struct rule_version *there, struct bytes text, uint32_t share_millionths)
{
    if (text.size == 0)
        return there != NULL ? "delete" : "none";
    if (there == NULL)
        return "create";
    return bytes_equal(there->record.text, text) && there->record.share_millionths == share_millionths ? "none"
                                                                                                       : "change";
}

static void put_side(struct output *output, const char *name, struct bytes text)
{
    put_text(output, name);
    if (text.size == 0)
        put_text(output, "null");
    else
        (void)put_rule(output, text);
}

/* `text`: the rule afterwards; empty: none. A row that does not fit is left out as a whole, and all behind it. */
static void add_row(struct plan *plan, struct bytes service, struct bytes id, struct bytes text, uint32_t share)
{
    struct output *output = plan->output;
    const size_t begun = output->size;
    const struct rule_version *there = ask_rule(plan->call->http->commands, service, id);
    if (plan->left_out > 0 || plan->rows == PLAN_RULES_MAX) {
        plan->left_out++;
        return;
    }
    put_text(output, plan->rows > 0 ? ",{\"service\":" : "{\"service\":");
    put_utf8(output, service);
    put_text(output, ",\"id\":");
    put_utf8(output, id);
    put_text(output, ",\"change\":\"");
    put_text(output, change_of(there, text, share));
    put_side(output, "\",\"before\":", there != NULL ? there->record.text : (struct bytes){0});
    put_side(output, ",\"after\":", text);
    put_text(output, "}");
    plan->call->work += (uint32_t)(text.size / WORK_BYTES);
    if (output->overflowed || output->room - output->size < ROW_END_BYTES) {
        output->size = begun;
        output->overflowed = false;
        plan->left_out++;
        return;
    }
    plan->rows++;
}

/* The rules of a service that are not in the list, which is in order: they would end. */
static void add_ends(struct plan *plan, const struct rule_list *list, struct bytes service)
{
    const struct rulebook *book = node_rulebook(plan->call->http->commands->node);
    size_t count, first = rulebook_service(book, service, &count);
    for (size_t i = 0; i < count; i++) {
        const struct rulebook_rule *known = rulebook_at(book, first + i);
        const struct rule wanted = {.service = known->service, .id = known->id}, *named = &wanted;
        if (!known->version[0]->record.deleted &&
            !bsearch(&named, list->rule, list->count, sizeof(struct rule *), rule_by_name))
            add_row(plan, known->service, known->id, (struct bytes){0}, 0);
    }
    plan->call->work += (uint32_t)count;
}

static void add_pruned(struct plan *plan, struct rule_list *list)
{
    qsort(list->rule, list->count, sizeof(struct rule *), rule_by_name);
    for (size_t i = 0; i < list->count; i++)
        if (i == 0 || !bytes_equal(list->rule[i]->service, list->rule[i - 1]->service))
            add_ends(plan, list, list->rule[i]->service);
}

static void add_rules(struct plan *plan, const struct rule_changes *changes)
{
    struct rule_list list;
    struct error error;
    char *text = malloc(RULE_TEXT_MAX_BYTES + 1);
    if (rules_parse(changes->text, changes->file, &list, &error) && text != NULL) {
        for (size_t i = 0; i < list.count; i++) {
            const struct bytes after = node_rule_as_set(plan->call->http->commands->node, &list.rule[i], text);
            add_row(plan, list.rule[i]->service, list.rule[i]->id, after, changes->share_millionths);
        }
        if (changes->prune)
            add_pruned(plan, &list);
    }
    rules_close(&list);
    free(text);
}

void put_plan(struct http_call *call, struct output *output, const struct rule_changes *changes)
{
    struct plan plan = {.call = call, .output = output};
    put_text(output, "\"plan\":[");
    if (changes->text.size > 0)
        add_rules(&plan, changes);
    for (size_t i = 0; i < changes->deleted_count; i++)
        add_row(&plan, changes->deleted[i].service, changes->deleted[i].id, (struct bytes){0}, 0);
    put_text(output, "],\"plan_left_out\":");
    put_number(output, plan.left_out);
}
