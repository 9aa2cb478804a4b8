/*
 * What a change of rules expects to find: If-Match and If-None-Match. Whether it is there is looked at here, and once
 * more when the change has its turn.
 */
#include "http/rule_ask.h"

static bool answer_unmet(struct http_call *call, const char *field)
{
    http_problem(call, 412, field, "this is not what is there");
    return false;
}

/* If-None-Match of a change: that there is no rule. False: the call is answered. */
static bool expect_absent(struct http_call *call, struct bytes none_match, struct rules_expectation *expects)
{
    expects->condition = RULES_IF_ABSENT;
    if (none_match.size == 1 && none_match.data[0] == '*')
        return true;
    http_problem(call, 400, "If-None-Match", "expected * here");
    return false;
}

bool http_read_expectation(struct http_call *call, struct rule_name name, struct rules_expectation *expects)
{
    const struct bytes match = http_header(call->message, "if-match"),
                       none_match = http_header(call->message, "if-none-match");
    const struct rule_version *there = ask_rule(call->http->commands, name.service, name.id);
    char etag[ETAG_BYTES];
    *expects = (struct rules_expectation){.name = name};
    if (match.data != NULL && none_match.data != NULL) {
        http_problem(call, 400, "If-None-Match", "expected If-Match or If-None-Match, not both");
        return false;
    }
    if (none_match.data != NULL)
        return expect_absent(call, none_match, expects);
    if (match.data == NULL)
        return true;
    if (there == NULL)
        return answer_unmet(call, "If-Match");
    rule_etag(there->record.stamp, etag);
    expects->condition = match.size == 1 ? RULES_IF_PRESENT : RULES_IF_VERSION;
    expects->stamp = there->record.stamp;
    return etag_is_in(match, etag, false) || answer_unmet(call, "If-Match");
}

bool http_read_book_expectation(struct http_call *call, struct rules_expectation *expects)
{
    const struct rulebook *book = node_rulebook(call->http->commands->node);
    const struct bytes match = http_header(call->message, "if-match");
    char etag[ETAG_BYTES];
    *expects = (struct rules_expectation){0};
    if (http_header(call->message, "if-none-match").data != NULL) {
        http_problem(call, 400, "If-None-Match", "not of many rules: expected If-Match, or none");
        return false;
    }
    if (match.data == NULL || (match.size == 1 && match.data[0] == '*'))
        return true;
    book_etag(book, etag);
    expects->condition = RULES_IF_BOOK;
    expects->digest = rulebook_digest(book);
    return etag_is_in(match, etag, false) || answer_unmet(call, "If-Match");
}
