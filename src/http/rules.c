/*
 * /v1/rules and below: the rules in force, as JSON with the keys of rule files, and changes of them. Mistakes are found
 * by the reader of rule files: JSON is YAML.
 */
#include "http/ask.h"
#include "http/query.h"
#include "http/rule_ask.h"
#include "http/rule_json.h"
#include "wire/command_rules.h"

#include <stdio.h>

enum {
    PAGE_RULES_MAX = 100,
    PAGE_END_BYTES = 64,
    NAMED_BYTES = 512, /* for a name that the path says, in a text */
    WORK_BYTES = 32,   /* of a rule's text: a unit of work, to be read and put */
};

/* What the query of a path about rules says. */
struct rules_query {
    struct command_apply apply;
    struct rule_name after;
    bool dry_run;
};
enum { TAKES_CHANGE = 1 << 0, TAKES_AFTER = 1 << 1, TAKES_DRY_RUN = 1 << 2, TAKES_PRUNE = 1 << 3 };

static bool word_is_name(struct bytes word, const char *name)
{
    return bytes_equal(word, bytes_of(name));
}

/* Cuts "/history" off the end. False: it is not there. */
static bool cut_history(struct bytes *path)
{
    static const char end[] = "/history";
    if (path->size < sizeof end || memcmp(path->data + path->size - (sizeof end - 1), end, sizeof end - 1) != 0)
        return false;
    *path = (struct bytes){path->data, path->size - (sizeof end - 1)};
    return true;
}

/* "service/rule"; false: it has no '/', or several. */
static bool split_name(struct bytes text, struct rule_name *name)
{
    const char *slash = text.size > 0 ? memchr(text.data, '/', text.size) : NULL;
    if (slash == NULL)
        return false;
    name->service = (struct bytes){text.data, (size_t)(slash - text.data)};
    name->id = (struct bytes){slash + 1, text.size - name->service.size - 1};
    return name->service.size > 0 && name->id.size > 0 && memchr(name->id.data, '/', name->id.size) == NULL;
}

/* ---- the query ---- */

/* NULL: it is fine. */
static const char *read_flag(struct bytes value, bool *flag)
{
    *flag = word_is_name(value, "true");
    return *flag || word_is_name(value, "false") ? NULL : "expected true or false";
}

static const char *read_word(struct rules_query *query, const struct http_pair *pair, unsigned takes, char *error)
{
    if ((takes & TAKES_AFTER) != 0 && word_is_name(pair->name, "after"))
        return split_name(pair->value, &query->after) ? NULL : "expected service/rule";
    if ((takes & TAKES_DRY_RUN) != 0 && word_is_name(pair->name, "dry_run"))
        return read_flag(pair->value, &query->dry_run);
    if ((takes & TAKES_PRUNE) != 0 && word_is_name(pair->name, "prune"))
        return read_flag(pair->value, &query->apply.prune);
    if ((takes & TAKES_CHANGE) != 0 && (word_is_name(pair->name, "canary") || word_is_name(pair->name, "watch") ||
                                        word_is_name(pair->name, "threshold") || word_is_name(pair->name, "note")))
        return command_apply_option(&query->apply, pair->name, pair->value, error) ? NULL : error;
    return (takes & TAKES_PRUNE) != 0    ? "unknown name: expected dry_run, prune, note, canary, watch or threshold"
           : (takes & TAKES_CHANGE) != 0 ? "unknown name: expected dry_run, note, canary, watch or threshold"
           : (takes & TAKES_DRY_RUN) != 0 ? "unknown name: expected dry_run"
           : (takes & TAKES_AFTER) != 0   ? "unknown name: expected after"
                                          : "unknown name: expected none";
}

/* False: the call is answered. */
static bool read_query(struct http_call *call, unsigned takes, struct rules_query *query)
{
    char error[COMMAND_ERROR_BYTES], field[HTTP_FIELD_NAME_BYTES];
    struct bytes rest = call->query;
    struct http_pair pair;
    const char *wrong = NULL;
    *query = (struct rules_query){0};
    while (wrong == NULL && http_query_next(&rest, &call->decoded, &pair))
        wrong = pair.error != NULL ? pair.error : read_word(query, &pair, takes, error);
    if (wrong != NULL) {
        (void)snprintf(field, sizeof field, "%.*s", (int)(pair.name.size < 60 ? pair.name.size : 60),
                       pair.name.data);
        http_problem(call, 400, field, "%s", wrong);
        return false;
    }
    if (command_apply_end(&query->apply, error))
        return true;
    http_problem(call, 400, NULL, "%s", error);
    return false;
}

/* ---- GET ---- */

/* Puts the ETag. True: the client has this version, and is told so. */
static bool is_not_modified(struct http_call *call, const char *etag)
{
    const struct bytes known = http_header(call->message, "if-none-match");
    put_etag(call, etag);
    if (known.size == 0 || !etag_is_in(known, etag, true))
        return false;
    call->status = 304;
    return true;
}

static void answer_rule(struct http_call *call, const struct rule_name *name)
{
    char etag[ETAG_BYTES];
    struct rules_query query;
    const struct rule_version *version = ask_rule(call->http->commands, name->service, name->id);
    if (!read_query(call, 0, &query))
        return;
    if (version == NULL) {
        http_problem(call, 404, NULL, "there is no such rule");
        return;
    }
    rule_etag(version->record.stamp, etag);
    if (is_not_modified(call, etag))
        return;
    call->work += (uint32_t)(version->record.text.size / WORK_BYTES);
    (void)put_rule(&call->body, version->record.text);
    put_text(&call->body, "\n");
}

/* Where the next page begins. */
static void put_next(struct http_call *call, const struct rulebook_rule *last)
{
    put_text(&call->fields, "Link: <");
    put_bytes(&call->fields, call->path);
    put_text(&call->fields, "?after=");
    put_bytes(&call->fields, last->service);
    put_text(&call->fields, "/");
    put_bytes(&call->fields, last->id);
    put_text(&call->fields, ">; rel=\"next\"\r\n");
}

/* Rules of the book from `index` to `end`, as many as a page has room for: in the form of a rule file. */
static void put_page(struct http_call *call, size_t index, size_t end)
{
    const struct rulebook *book = node_rulebook(call->http->commands->node);
    const struct rulebook_rule *last = NULL;
    struct output *body = &call->body;
    put_text(body, "{\"rules\":[");
    for (uint32_t rules = 0; index < end; index++) {
        const struct rulebook_rule *rule = rulebook_at(book, index);
        const size_t begun = body->size;
        if (rule->version[0]->record.deleted)
            continue;
        put_text(body, rules > 0 ? "," : "");
        (void)put_rule(body, rule->version[0]->record.text);
        const bool fits = !body->overflowed && body->room - body->size >= PAGE_END_BYTES;
        if (last != NULL && (!fits || rules == PAGE_RULES_MAX)) {
            body->size = begun;
            body->overflowed = false;
            put_next(call, last);
            break;
        }
        call->work += (uint32_t)(rule->version[0]->record.text.size / WORK_BYTES);
        last = rule;
        rules++;
    }
    put_text(body, "]}\n");
}

/* All rules, or those of a service. */
static void answer_page(struct http_call *call, struct bytes service)
{
    const struct rulebook *book = node_rulebook(call->http->commands->node);
    char etag[ETAG_BYTES];
    struct rules_query query;
    size_t index = 0, count = rulebook_rules(book);
    if (!read_query(call, TAKES_AFTER, &query))
        return;
    if (service.size > 0)
        index = rulebook_service(book, service, &count);
    const size_t end = index + count;
    if (query.after.service.size > 0) {
        const size_t after = rulebook_after(book, query.after);
        index = after > index ? after : index;
    }
    book_etag(book, etag);
    if (!is_not_modified(call, etag))
        put_page(call, index, end);
}

static struct rule_changes changes_of(const struct rules_query *query)
{
    return (struct rule_changes){.file = "body",
                                 .note = query->apply.note,
                                 .share_millionths = query->apply.share_millionths,
                                 .watch_ms = query->apply.watch_ms,
                                 .threshold_millionths = query->apply.threshold_millionths,
                                 .prune = query->apply.prune,
                                 .dry_run = query->dry_run};
}

/* ---- PUT, DELETE ---- */

/* What the body says of a name has to be what the path says. *said: it says something. */
static bool check_member(struct http_call *call, json_t *tree, const char *name, struct bytes expected, bool *said)
{
    json_t *value = json_object_get(tree, name);
    *said = value != NULL;
    if (value == NULL)
        return true;
    const struct bytes text = json_is_string(value)
                                  ? (struct bytes){json_string_value(value), json_string_length(value)}
                                  : (struct bytes){0};
    if (bytes_equal(text, expected))
        return true;
    http_problem(call, 400, name, "the body has another %s than the path: expected \"%.*s\", or none", name,
                 (int)(expected.size < 64 ? expected.size : 64), expected.data);
    return false;
}

static void put_name(struct output *text, const char *name, struct bytes value)
{
    put_string(text, bytes_of(name));
    put_word(text, ":", value);
    put_text(text, ",");
}

/* The body with the names that the path says. False: the call is answered. */
static bool read_rule(struct http_call *call, const struct rule_name *name, struct bytes *text)
{
    const struct bytes body = call->message->body;
    json_t *tree;
    bool has_id, has_service;
    if (!http_body(call, &tree))
        return false;
    if (!json_is_object(tree)) {
        http_problem(call, 400, NULL, "expected a JSON object: a rule with the keys of rule files");
        return false;
    }
    if (!check_member(call, tree, "id", name->id, &has_id) ||
        !check_member(call, tree, "service", name->service, &has_service))
        return false;
    const size_t room = body.size + NAMED_BYTES,
                 skipped = (size_t)((char *)memchr(body.data, '{', body.size) - body.data);
    struct output whole = output_over(json_arena_room(&call->http->arena, room), room);
    if (whole.data == NULL) {
        http_problem(call, 413, NULL, "the body needs more memory than there is for it");
        return false;
    }
    put_text(&whole, "{");
    if (!has_id)
        put_name(&whole, "id", name->id);
    if (!has_service)
        put_name(&whole, "service", name->service);
    output_append(&whole, body.data + skipped + 1, body.size - skipped - 1);
    *text = (struct bytes){whole.data, whole.size};
    return true;
}

/* Names that no rule can have are not worth a text. */
static bool is_rule_name(const struct rule_name *name)
{
    return name->service.size <= RULE_NAME_MAX_BYTES && name->id.size <= RULE_NAME_MAX_BYTES;
}

static void put_one(struct http_call *call, const struct rule_name *name)
{
    struct rules_query query;
    struct rules_expectation expects;
    struct bytes text;
    if (!read_query(call, TAKES_CHANGE | TAKES_DRY_RUN, &query) || !http_read_expectation(call, *name, &expects) ||
        !read_rule(call, name, &text))
        return;
    struct rule_changes changes = changes_of(&query);
    changes.text = text;
    changes.expects = expects;
    http_change(call, HTTP_CHANGE_PUT, &changes);
}

static void delete_one(struct http_call *call, const struct rule_name *name)
{
    struct rules_query query;
    struct rules_expectation expects;
    if (!read_query(call, TAKES_DRY_RUN, &query) || !http_read_expectation(call, *name, &expects))
        return;
    struct rule_changes changes = changes_of(&query);
    changes.text = bytes_of("");
    changes.deleted = name;
    changes.deleted_count = 1;
    changes.expects = expects;
    http_change(call, HTTP_CHANGE_DELETE, &changes);
}

/* ---- paths ---- */

static void apply(struct http_call *call)
{
    struct rules_query query;
    struct rules_expectation expects;
    json_t *tree;
    if (!read_query(call, TAKES_CHANGE | TAKES_DRY_RUN | TAKES_PRUNE, &query) ||
        !http_read_book_expectation(call, &expects) ||
        (!http_is_type(call->message, "application/yaml") && !http_body(call, &tree)))
        return;
    struct rule_changes changes = changes_of(&query);
    changes.text = call->message->body;
    changes.expects = expects;
    if (changes.text.size == 0)
        http_problem(call, 400, NULL, "expected rules in the body, as a rule file has them");
    else
        http_change(call, HTTP_CHANGE_MANY, &changes);
}

void http_rules(struct http_call *call)
{
    if (call->message->method == HTTP_METHOD_POST)
        apply(call);
    else
        answer_page(call, (struct bytes){0});
}

static bool is_change(const struct http_call *call)
{
    return call->message->method == HTTP_METHOD_PUT || call->message->method == HTTP_METHOD_DELETE;
}

static void answer_history(struct http_call *call, const struct rule_name *name)
{
    struct rules_query query;
    if (read_query(call, 0, &query))
        http_rule_history(call, name);
}

void http_rules_below(struct http_call *call)
{
    static const char prefix[] = "/v1/rules/";
    struct bytes rest = {call->path.data + sizeof prefix - 1, call->path.size - (sizeof prefix - 1)}, cut = rest;
    struct rule_name name;
    const bool past = !is_change(call) && cut_history(&cut) && memchr(cut.data, '/', cut.size) != NULL;
    if (past)
        rest = cut; /* a rule may be called "history" as well */
    if (rest.size > 0 && memchr(rest.data, '/', rest.size) == NULL && !is_change(call))
        answer_page(call, rest);
    else if (!split_name(rest, &name) || !is_rule_name(&name))
        http_problem(call, 404, NULL,
                     "there is no such path: expected /v1/rules/SERVICE/RULE, or /history behind it to be read");
    else if (call->message->method == HTTP_METHOD_PUT)
        put_one(call, &name);
    else if (call->message->method == HTTP_METHOD_DELETE)
        delete_one(call, &name);
    else if (past)
        answer_history(call, &name);
    else
        answer_rule(call, &name);
}
