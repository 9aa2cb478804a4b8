/*
 * Answers with rules as they are and as they were: RULE GET, LIST and HISTORY.
 *
 * Answers are bounded: a list has as many rows as fit. A client asks for the rows that follow from
 * the last one that it got.
 */
#include "commands/call.h"
#include "wire/command_rules.h"

enum {
    ROW_MAX_BYTES = 4 * 1024, /* bytes of any row without its text */
    /* another row is begun only while the answer is shorter than this */
    ROWS_MAX_BYTES = OUTPUT_REPLY_MAX_BYTES - 2 * ROW_MAX_BYTES,
    DELETED_FOR_A_WORK = 4, /* so many removed rules are passed in the time of a unit of work */
};

static bool has_room(const struct call *call, size_t begun, size_t further)
{
    return call->answer.output->size - begun + further < ROWS_MAX_BYTES;
}

struct rule_version *call_rule_version(struct call *call, struct bytes service, struct bytes id,
                                       struct bytes number)
{
    uint64_t n;
    const struct rulebook_rule *rule = rulebook_find(node_rulebook(call->commands->node), service, id);
    if (rule == NULL)
        answer_error(&call->answer, "ERR there is no rule '%.*s' of service '%.*s', and never was", call_shown(id),
                     id.data, call_shown(service), service.data);
    else if (!word_number(number, rule->count, &n) || n == 0)
        answer_error(&call->answer, "ERR version '%.*s': expected a number from 1, the newest, to %u",
                     call_shown(number), number.data, rule->count);
    else
        return rule->version[n - 1];
    return NULL;
}

/* Answers the text of the newest version. For a rule with a canary that is the text of the candidate. */
void call_rule_get(struct call *call)
{
    const struct rulebook_rule *rule =
        rulebook_find(node_rulebook(call->commands->node), call->words->args[2], call->words->args[3]);
    if (rule == NULL || rule->version[0]->record.deleted)
        answer_null(&call->answer);
    else
        answer_bulk(&call->answer, rule->version[0]->record.text);
}

/* ---- LIST ---- */

static void answer_list_row(struct call *call, const struct rulebook_rule *rule)
{
    struct answer *answer = &call->answer;
    const struct rule_record *record = &rule->version[0]->record;
    const struct rule *newest = rule->version[0]->rule;
    const struct ruled *ruled = ruleset_find(node_rules(call->commands->node), rule->service, rule->id);
    struct rule_counts counts = {0};
    char by[RULE_DIMENSIONS_MAX * (KEY_DIMENSION_MAX_BYTES + 1)] = "";
    struct output joined = output_over(by, sizeof by);
    if (ruled != NULL)
        counts = ruled_counts(ruled);
    for (uint8_t i = 0; i < newest->by_count; i++) {
        output_append(&joined, ",", i > 0);
        output_append(&joined, newest->by[i].data, newest->by[i].size);
    }
    answer_map(answer, 13);
    answer_pair_bulk(answer, "service", rule->service);
    answer_pair_bulk(answer, "id", rule->id);
    answer_pair_bulk(answer, "endpoint", newest->endpoint);
    answer_pair_bulk(answer, "by", (struct bytes){by, joined.size});
    answer_pair_text(answer, "algorithm", rule_algorithm_name(newest->algorithm));
    answer_pair_text(answer, "mode", rule_mode_name(newest->mode));
    answer_pair_count(answer, "canary_millionths", record->share_millionths);
    answer_pair_count(answer, "lamport", record->stamp.lamport);
    answer_pair_bulk(answer, "author", record->author);
    answer_pair_count(answer, "allowed", counts.allowed);
    answer_pair_count(answer, "denied", counts.denied);
    answer_pair_count(answer, "shadow_denied", counts.shadow_denied);
    answer_pair_count(answer, "over_limit", counts.over_limit);
}

void call_rule_list(struct call *call)
{
    char error[COMMAND_ERROR_BYTES];
    struct command_list list;
    const struct rulebook *book = node_rulebook(call->commands->node);
    size_t index = 0, end = rulebook_rules(book), rows = 0;
    if (!command_parse_list(call->words, &list, error)) {
        answer_error(&call->answer, "ERR %s", error);
        return;
    }
    if (list.service.size > 0) {
        size_t count;
        index = rulebook_service(book, list.service, &count);
        end = index + count;
    }
    if (list.after) {
        size_t after = rulebook_after(book, (struct rule_name){list.after_service, list.after_id});
        index = after > index ? after : index;
    }
    size_t begun = answer_array_begin(&call->answer);
    const size_t from = index;
    for (; index < end && has_room(call, begun, 0); index++) {
        const struct rulebook_rule *rule = rulebook_at(book, index);
        if (rule->version[0]->record.deleted)
            continue;
        answer_list_row(call, rule);
        rows++;
    }
    answer_array_end(&call->answer, begun, rows);
    call->work += (uint32_t)((index - from - rows) / DELETED_FOR_A_WORK);
}

/* ---- HISTORY ---- */

static size_t number_of(const struct rulebook_rule *rule, const struct rule_version *version)
{
    for (uint32_t i = 0; i < rule->count; i++)
        if (rule->version[i] == version)
            return i + 1;
    return 0;
}

static void answer_history_row(struct call *call, size_t begun, const struct rulebook_rule *rule,
                               const struct rule_version *version)
{
    struct answer *answer = &call->answer;
    const struct rule_record *record = &version->record;
    char change[64] = "";
    struct output text = output_over(change, sizeof change);
    output_print(&text, "%llu.%016llx", (unsigned long long)record->stamp.lamport,
                 (unsigned long long)record->stamp.author);
    bool in_force = version == rulebook_stable(rule) || version == rulebook_candidate(rule);
    answer_map(answer, 11);
    answer_pair_count(answer, "version", number_of(rule, version));
    answer_pair_bulk(answer, "service", record->service);
    answer_pair_bulk(answer, "id", record->id);
    answer_pair_bulk(answer, "change", (struct bytes){change, text.size});
    answer_pair_bulk(answer, "author", record->author);
    answer_pair_count(answer, "unix_ms", record->wall_ms);
    answer_pair_bool(answer, "in_force", in_force);
    answer_pair_bool(answer, "deleted", record->deleted);
    answer_pair_count(answer, "canary_millionths", record->share_millionths);
    answer_pair_bulk(answer, "note", record->note);
    answer_text(answer, "text"); /* nil if the answer has no room for the text */
    if (record->deleted || !has_room(call, begun, record->text.size))
        answer_null(answer);
    else
        answer_bulk(answer, record->text);
}

static void history_of_all(struct call *call)
{
    const struct rulebook *book = node_rulebook(call->commands->node);
    size_t begun = answer_array_begin(&call->answer), rows = 0;
    for (size_t i = rulebook_versions(book); i > 0 && has_room(call, begun, 0); i--, rows++) {
        const struct rule_version *version = rulebook_version_at(book, i - 1);
        const struct rulebook_rule *rule = rulebook_find(book, version->record.service, version->record.id);
        answer_history_row(call, begun, rule, version);
    }
    answer_array_end(&call->answer, begun, rows);
}

void call_rule_history(struct call *call)
{
    const struct resp_command *words = call->words;
    if (words->count == 2) {
        history_of_all(call);
        return;
    }
    if (words->count != 4) {
        call_wrong_arity(call, &command_table[COMMAND_RULE], &subcommand_table[SUBCOMMAND_RULE_HISTORY].spec);
        return;
    }
    const struct rulebook_rule *rule =
        rulebook_find(node_rulebook(call->commands->node), words->args[2], words->args[3]);
    uint32_t count = rule != NULL ? rule->count : 0;
    size_t begun = answer_array_begin(&call->answer);
    for (uint32_t i = 0; i < count; i++)
        answer_history_row(call, begun, rule, rule->version[i]);
    answer_array_end(&call->answer, begun, count);
}
