/*
 * GET /v1/rules/SERVICE/RULE/history: the versions of a rule, newest first, as RULE HISTORY has them. The newest ones
 * have their rule as JSON, as many as the answer has room for.
 */
#include "http/rule_ask.h"
#include "http/rule_json.h"
#include "rules/rule_value.h"

enum {
    VERSION_BYTES = 768, /* of a version, without its rule */
    WORK_BYTES = 32,     /* of a rule's text: a unit of work */
};

static void put_trial(struct output *body, uint32_t share_millionths)
{
    char percent[32];
    put_optional(body, ",\"canary\":",
                 bytes_of(share_millionths == 0 ? ""
                                                : rule_percent_text(share_millionths, percent, sizeof percent)));
}

/* The rule, or null where it would take the room of the versions that follow. */
static void put_text_of(struct http_call *call, const struct rule_record *record, size_t kept_bytes)
{
    struct output *body = &call->body;
    const size_t begun = body->size;
    call->work += (uint32_t)(record->text.size / WORK_BYTES);
    if (!record->deleted && put_rule(body, record->text) && !body->overflowed &&
        body->room - body->size >= kept_bytes)
        return;
    body->size = begun;
    body->overflowed = false;
    put_text(body, "null");
}

static void put_version(struct http_call *call, const struct rulebook_rule *rule, uint32_t index)
{
    struct output *body = &call->body;
    const struct rule_version *version = rule->version[index];
    const struct rule_record *record = &version->record;
    char etag[ETAG_BYTES];
    rule_etag(record->stamp, etag);
    put_text(body, index > 0 ? ",{" : "{");
    put_count(body, "\"version\":", index + 1);
    put_text(body, ",\"change\":");
    put_text(body, etag);
    put_word(body, ",\"author\":", record->author);
    put_count(body, ",\"unix_ms\":", record->wall_ms);
    put_flag(body, ",\"in_force\":", version == rulebook_stable(rule) || version == rulebook_candidate(rule));
    put_flag(body, ",\"deleted\":", record->deleted);
    put_trial(body, record->share_millionths);
    put_optional(body, ",\"note\":", record->note);
    put_text(body, ",\"rule\":");
    put_text_of(call, record, (size_t)(rule->count - index) * VERSION_BYTES);
    put_text(body, "}");
}

void http_rule_history(struct http_call *call, const struct rule_name *name)
{
    const struct rulebook_rule *rule =
        rulebook_find(node_rulebook(call->http->commands->node), name->service, name->id);
    if (rule == NULL) {
        http_problem(call, 404, NULL, "there was never such a rule");
        return;
    }
    put_text(&call->body, "{\"versions\":[");
    for (uint32_t i = 0; i < rule->count; i++)
        put_version(call, rule, i);
    put_text(&call->body, "]}\n");
}
