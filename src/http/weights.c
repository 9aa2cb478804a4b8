/*
 * GET /v1/weights: the weights of regions, as WEIGHTS says. POST sets them, as WEIGHTS SET does: the answer comes when
 * the version is made, and its disk has it a moment later.
 */
#include "http/ask.h"

#include <math.h>

static void put_weight(struct output *output, const char *before, uint64_t billionths)
{
    put_decimal(output, before, weight_number(billionths), 9);
}

static void answer_all(struct http_call *call)
{
    struct output *body = &call->body;
    struct weights_report report;
    node_weights(call->http->commands->node, &report);
    const uint64_t base = report.base->stamp.number;
    put_count(body, "{\"version\":", report.pending ? report.pending->stamp.number : base);
    put_count(body, ",\"complete\":", base);
    put_word(body, ",\"region\":", bytes_of(call->http->commands->region));
    put_text(body, ",\"regions\":[");
    for (uint32_t i = 0; i < report.region_count; i++) {
        const struct weights_row *row = &report.row[i];
        put_word(body, i > 0 ? ",{\"region\":" : "{\"region\":", bytes_of(row->region));
        put_weight(body, ",\"weight\":", row->pending_billionths);
        put_weight(body, ",\"complete\":", row->base_billionths);
        put_weight(body, ",\"in_force\":", row->in_force_billionths);
        put_decimal(body, ",\"spent_per_s\":", row->demand_tokens_per_s, 3);
        put_decimal(body, ",\"refused_per_s\":", row->wanted_tokens_per_s, 3);
        put_text(body, "}");
    }
    put_text(body, report.by_demand ? "],\"by_demand\":true" : "],\"by_demand\":false");
    put_word(body, ",\"proposer\":", bytes_of(report.proposer));
    put_count(body, ",\"looks_in_s\":", report.looks_in_s);
    put_text(body, ",\"wait_for\":[");
    for (uint32_t i = 0; i < report.wait_count; i++) {
        put_word(body, i > 0 ? ",{\"node\":" : "{\"node\":", bytes_of(report.wait[i].name));
        put_word(body, ",\"why\":", bytes_of(weights_wait_name(report.wait[i].why)));
        put_word(body, ",\"advice\":", bytes_of(weights_wait_advice(report.wait[i].why)));
        put_text(body, "}");
    }
    put_text(body, "]}\n");
}

/* False: the call is answered with the problem. */
static bool read_part(struct http_call *call, const char *region, const json_t *value,
                      struct weights_change *change)
{
    const double weight = json_number_value(value);
    if (change->count == NODE_REGIONS_MAX || strlen(region) >= NODE_NAME_BYTES || !json_is_number(value) ||
        !(weight > 0 && weight <= 1)) {
        http_problem(call, 400, "weights",
                     "weights has \"%.40s\": expected at most %d regions, each with a number above "
                     "0 and at most 1",
                     region, NODE_REGIONS_MAX);
        return false;
    }
    struct weights_part *part = &change->part[change->count++];
    memcpy(part->region, region, strlen(region) + 1);
    part->billionths = (uint64_t)llround(weight * (double)WEIGHT_ONE_BILLIONTHS);
    return true;
}

static bool read_change(struct http_call *call, struct weights_change *change)
{
    json_t *tree;
    memset(change, 0, sizeof *change);
    if (!http_body(call, &tree))
        return false;
    json_t *weights = json_object_get(tree, "weights");
    if (!json_is_object(weights) || json_object_size(weights) == 0 || json_object_size(tree) != 1) {
        http_problem(call, 400, "weights", "the body is not {\"weights\": {\"REGION\": 0.5, ...}}");
        return false;
    }
    for (void *at = json_object_iter(weights); at != NULL; at = json_object_iter_next(weights, at))
        if (!read_part(call, json_object_iter_key(at), json_object_iter_value(at), change))
            return false;
    return true;
}

static void set(struct http_call *call)
{
    struct commands *commands = call->http->commands;
    struct weights_change change;
    if (!read_change(call, &change))
        return;
    change.author = commands->caller != NULL ? bytes_of(commands->caller->name) : (struct bytes){0};
    struct event event = {.kind = EVENT_WEIGHTS, .now_ns = call->turn.now_ns, .weights = &change};
    http_alone(commands, true);
    const uint64_t asked = node_weights_result(commands->node)->asked;
    commands->submit(commands->context, &event, NULL);
    const struct weights_result result = *node_weights_result(commands->node);
    http_alone(commands, false);
    if (result.asked == asked) {
        http_problem(call, 503, NULL, "this node is ending: ask another one");
    } else if (result.refused) {
        http_problem_of(call, 422, &result.error);
    } else {
        call->status = 202;
        put_count(&call->body, "{\"set\":", result.number);
        put_text(&call->body, "}\n");
    }
}

void http_weights(struct http_call *call)
{
    call->work += command_table[COMMAND_WEIGHTS].work;
    if (call->message->method == HTTP_METHOD_POST)
        set(call);
    else
        answer_all(call);
}
