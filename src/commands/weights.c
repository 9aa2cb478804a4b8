/*
 * Answers what operators ask about weights of regions, and changes them: WEIGHTS, and the lines of INFO
 * about them. cluster/members/weights.h says when a weight is in force.
 */
#include "commands/call.h"
#include "wire/command_words.h"

#include <inttypes.h>
#include <string.h>

static void answer_weight(struct answer *answer, const char *name, uint64_t billionths)
{
    answer_pair_double(answer, name, weight_number(billionths));
}

static void answer_all(struct answer *answer, const struct weights_report *report)
{
    answer_map(answer, 8);
    answer_pair_count(answer, "version",
                      report->pending ? report->pending->stamp.number : report->base->stamp.number);
    answer_pair_count(answer, "complete", report->base->stamp.number);
    answer_pair_text(answer, "region",
                     report->own_row < report->region_count ? report->row[report->own_row].region : "");
    answer_pair_array(answer, "regions", report->region_count);
    for (uint32_t i = 0; i < report->region_count; i++) {
        const struct weights_row *row = &report->row[i];
        answer_map(answer, 6);
        answer_pair_text(answer, "region", row->region);
        answer_weight(answer, "weight", row->pending_billionths);
        answer_weight(answer, "complete", row->base_billionths);
        answer_weight(answer, "in_force", row->in_force_billionths);
        answer_pair_double(answer, "spent_per_s", row->demand_tokens_per_s);
        answer_pair_double(answer, "refused_per_s", row->wanted_tokens_per_s);
    }
    answer_pair_bool(answer, "by_demand", report->by_demand);
    answer_pair_text(answer, "proposer", report->proposer);
    answer_pair_count(answer, "looks_in_s", report->looks_in_s);
    answer_pair_array(answer, "wait_for", report->wait_count);
    for (uint32_t i = 0; i < report->wait_count; i++) {
        answer_map(answer, 3);
        answer_pair_text(answer, "node", report->wait[i].name);
        answer_pair_text(answer, "why", weights_wait_name(report->wait[i].why));
        answer_pair_text(answer, "advice", weights_wait_advice(report->wait[i].why));
    }
}

static void answer_history(struct answer *answer, const struct weights_report *report)
{
    answer_array(answer, report->past_count);
    for (uint32_t i = 0; i < report->past_count; i++) {
        const struct weights_version *version = report->past[i];
        answer_map(answer, 5);
        answer_pair_count(answer, "version", version->stamp.number);
        answer_pair_text(answer, "author", version->author);
        answer_pair_count(answer, "unix_ms", version->wall_ms);
        answer_pair_bool(answer, "complete", version->stamp.number <= report->base->stamp.number);
        answer_pair_array(answer, "regions", version->count);
        for (uint32_t r = 0; r < version->count; r++) {
            answer_map(answer, 2);
            answer_pair_text(answer, "region", version->part[r].region);
            answer_weight(answer, "weight", version->part[r].billionths);
        }
    }
}

/* ---- SET ---- */

/* Reads "region=weight"; the last = is meant. */
static bool read_part(struct bytes word, struct weights_part *part, char *error)
{
    size_t size = word.size;
    while (size > 0 && word.data[size - 1] != '=')
        size--;
    const struct bytes number = {word.data + size, word.size - size};
    if (size < 2 || size - 1 >= sizeof part->region)
        return word_fail(error, "'%.*s' names no region: expected region=weight, for instance eu-west=0.3",
                         word_shown(word), word.data);
    memcpy(part->region, word.data, size - 1);
    part->region[size - 1] = '\0';
    if (!word_decimal(number, 9, WEIGHT_ONE_BILLIONTHS, &part->billionths) || part->billionths == 0)
        return word_fail(error, "the weight of %s is '%.*s': expected a decimal above 0 and at most 1",
                         part->region, word_shown(number), number.data);
    return true;
}

static void set(struct call *call)
{
    char error[COMMAND_ERROR_BYTES];
    const struct resp_command *words = call->words;
    const struct node *node = call->commands->node;
    const struct user *user = call->session->user;
    struct weights_change change;
    memset(&change, 0, sizeof change);
    change.author = user != NULL ? bytes_of(user->name) : (struct bytes){0};
    if (words->count - 2 > NODE_REGIONS_MAX) {
        answer_error(&call->answer, "ERR %u weights: expected at most %d", words->count - 2, NODE_REGIONS_MAX);
        return;
    }
    for (uint32_t i = 2; i < words->count; i++)
        if (!read_part(words->args[i], &change.part[change.count++], error)) {
            answer_error(&call->answer, "ERR %s", error);
            return;
        }
    const uint64_t asked = node_weights_result(node)->asked;
    struct event event = {.kind = EVENT_WEIGHTS, .now_ns = call->now_ns, .weights = &change};
    call->commands->submit(call->commands->context, &event, NULL);
    const struct weights_result *result = node_weights_result(node);
    if (result->asked == asked)
        answer_error(&call->answer, "ERR this node is ending: ask another one");
    else if (result->refused)
        answer_error(&call->answer, "ERR %s", result->error.text);
    else
        call_answer_kept(call, result->number);
}

void call_weights(struct call *call)
{
    struct weights_report report;
    enum subcommand_id id = SUBCOMMAND_ID_COUNT;
    if (call->words->count > 1) {
        id = call_subcommand(call, COMMAND_WEIGHTS);
        if (id == SUBCOMMAND_ID_COUNT)
            return;
    }
    if (id == SUBCOMMAND_WEIGHTS_SET) {
        set(call);
        return;
    }
    node_weights(call->commands->node, &report);
    if (id == SUBCOMMAND_WEIGHTS_HISTORY)
        answer_history(&call->answer, &report);
    else
        answer_all(&call->answer, &report);
}

/* ---- INFO ---- */

void call_print_weights(struct call *call)
{
    struct output *output = call->answer.output;
    struct weights_report report;
    node_weights(call->commands->node, &report);
    const uint64_t base = report.base->stamp.number, pending = report.pending ? report.pending->stamp.number : 0;
    output_print(output, "weights_version:%" PRIu64 "\r\n", pending > 0 ? pending : base);
    output_print(output, "weights_in_force:");
    for (uint32_t i = 0; i < report.region_count; i++)
        output_print(output, "%s%s=%.9g", i > 0 ? "," : "", report.row[i].region,
                     weight_number(report.row[i].in_force_billionths));
    output_print(output, "\r\nweights_pending:%" PRIu64 "\r\nweights_wait_for:", pending);
    for (uint32_t i = 0; i < report.wait_count; i++)
        output_print(output, "%s%s=%s", i > 0 ? "," : "", report.wait[i].name,
                     weights_wait_name(report.wait[i].why));
    output_print(output, "\r\nweights_by_demand:%s\r\nweights_proposer:%s\r\nweights_look_in_s:%" PRIu64 "\r\n",
                 report.by_demand ? "on" : "off", report.proposer, report.looks_in_s);
}
