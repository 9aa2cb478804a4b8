#include "http/shapes.h"

#include "commands/ask.h"
#include "http/call.h"
#include "http/query.h"
#include "http/words.h"

/* ---- finding ---- */

/* False: what was learned is void, and no request may be recognised. */
static bool are_in_force(const struct http *http)
{
    const struct http_shapes *shapes = &http->shapes;
    return shapes->edition == ruleset_edition(node_rules(http->commands->node)) &&
           shapes->settings_edition == http->options.edition && !ask_needs_password(http->commands);
}

static void fill(struct http_known *known, const struct bytes *values, struct http_message *message)
{
    struct key_id ids[SHAPE_CHARGES_MAX];
    shape_match_ids(&known->match, values, ids);
    for (uint32_t i = 0; i < known->match.match.count; i++)
        known->match.match.charge[i].id = ids[i];
    for (uint32_t i = 0; i < known->query.id_count; i++)
        known->query.id[i].value = values[i];
    message->method = known->method;
    message->keep_alive = known->keep_alive;
    message->is_1_0 = known->is_1_0;
    message->expects_continue = false;
    message->target = message->body = (struct bytes){0};
    message->header_count = 0;
}

struct http_known *http_shapes_find(struct http *http, const struct http_session *session, struct bytes input,
                                    size_t *size)
{
    struct http_shapes *shapes = &http->shapes;
    struct bytes values[COMMAND_IDS_MAX];
    if (session->framer.parsed_bytes > 0 || session->kept > 0 || !are_in_force(http) ||
        !learning_tries(&shapes->learning))
        return NULL;
    for (uint32_t i = 0; i < HTTP_SHAPES_MAX; i++) {
        const uint32_t at = (shapes->learning.last + i) % HTTP_SHAPES_MAX;
        struct http_known *known = &shapes->known[at];
        if ((*size = http_shape_read(&known->shape, input, values)) == 0)
            continue;
        fill(known, values, &http->message);
        learning_note_known(&shapes->learning, at, 1);
        return known;
    }
    learning_note_unknown(&shapes->learning);
    return NULL;
}

/* ---- learning ---- */

static void begin_anew(struct http *http)
{
    struct http_shapes *shapes = &http->shapes;
    shapes->edition = ruleset_edition(node_rules(http->commands->node));
    shapes->settings_edition = http->options.edition;
    for (uint32_t i = 0; i < HTTP_SHAPES_MAX; i++)
        shapes->known[i].shape.value_count = 0;
    learning_begin(&shapes->learning);
}

/* The value of such a field says how the request is read, so that it may not be any other one. */
static bool is_of_framing(struct bytes name)
{
    static const char *const names[] = {"connection",        "proxy-connection", "keep-alive", "content-length",
                                        "transfer-encoding", "upgrade",          "expect"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (http_name_is(name, names[i]))
            return true;
    return false;
}

/* The config may let a field give an identifier and, say, the cost as well, which no shape may keep. */
static bool gives_more(struct bytes name, const struct http_settings *settings)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < settings->source_count; i++)
        count += http_name_is(name, settings->source[i].header);
    return count > 1;
}

static bool has_value(const struct http_header *header, const struct command_query *query)
{
    for (uint32_t i = 0; i < query->id_count; i++)
        if (header->value.data != NULL && query->id[i].value.data >= header->value.data &&
            query->id[i].value.data <= header->value.data + header->value.size)
            return true;
    return false;
}

/* False: the fields say more than identifiers, or may say something else the next time. */
static bool has_plain_fields(const struct http_message *message, const struct http_settings *settings,
                             const struct command_query *query)
{
    for (uint32_t i = 0; i < message->header_count; i++) {
        const struct http_header *header = &message->header[i];
        if (http_name_is(header->name, "traceparent") ||
            (has_value(header, query) && (is_of_framing(header->name) || gives_more(header->name, settings))))
            return false;
    }
    return true;
}

/* Reads the copy of the request of the call as the request itself was read. */
static bool read_copy(struct http_call *call, struct bytes copy, struct http_known *known)
{
    struct http_framer framer = {0};
    struct http_message *message = &call->http->message;
    struct http_fault fault;
    struct http_words words;
    size_t size;
    if (copy.size == 0 || http_frame(&framer, copy, message, &size, &fault) != HTTP_WHOLE || size != copy.size)
        return false;
    http_query_split(message->target, &call->path, &call->query);
    http_words_init(&words, &known->query, &call->http->commands->hash_key, call->settings->endpoint_spelling,
                    &call->decoded);
    if (!http_gateway_read(call, &words) || call->decoded.size > 0)
        return false;
    known->method = message->method;
    known->keep_alive = message->keep_alive;
    known->is_1_0 = message->is_1_0;
    known->denied_status = words.denied_status;
    return message->body.size == 0 && has_plain_fields(message, call->settings, &known->query);
}

static bool learn(struct http_call *call, const struct match *match, struct http_known *known)
{
    struct commands *commands = call->http->commands;
    struct bytes values[COMMAND_IDS_MAX];
    struct request request;
    if (!read_copy(call, http_shape_copy(&known->shape, call->frame), known))
        return false;
    call_fill_request(&request, &known->query, commands->thread);
    for (uint32_t i = 0; i < known->query.id_count; i++)
        values[i] = known->query.id[i].value;
    return shape_match_of(node_rules(commands->node), &request, match, &known->match) &&
           http_shape_mark(&known->shape, values, known->query.id_count);
}

/* A request that came in pieces is parsed, whether its shape is known or not. */
static bool is_known(const struct http_shapes *shapes, struct bytes request)
{
    struct bytes values[COMMAND_IDS_MAX];
    for (uint32_t i = 0; i < HTTP_SHAPES_MAX; i++)
        if (http_shape_read(&shapes->known[i].shape, request, values) == request.size)
            return true;
    return false;
}

void http_shapes_learn(struct http_call *call, const struct match *match)
{
    struct http *http = call->http;
    struct http_shapes *shapes = &http->shapes;
    if (call->session->kept > 0 || ask_needs_password(http->commands))
        return;
    if (!are_in_force(http))
        begin_anew(http);
    if (!learning_is_turn(&shapes->learning) || is_known(shapes, call->frame))
        return;
    const uint32_t at = shapes->learning.next;
    if (learn(call, match, &shapes->known[at]))
        shapes->learning.next = (at + 1) % HTTP_SHAPES_MAX;
}
