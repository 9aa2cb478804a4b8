#include "http/message.h"

#include <assert.h>
#include <llhttp.h>
#include <string.h>
#include <strings.h>

_Static_assert(LLHTTP_STRICT_MODE == 1, "proxies are strict, and so must be whoever stands behind them");
_Static_assert(sizeof(llhttp_t) <= HTTP_PARSER_BYTES && _Alignof(llhttp_t) <= 16, "a framer has room for it");

/* One pass of the parser over bytes of a request. */
struct pass {
    struct http_framer *framer;
    struct http_message *message; /* NULL: the pass begins in the middle of the request, and only frames it */
    bool in_name;
    bool chunked;
    const char *trailers; /* the first of them; NULL: there are none */
    struct http_fault fault;
};

static int fail(struct pass *pass, unsigned status, const char *text)
{
    pass->fault = (struct http_fault){status, text};
    return -1;
}

static llhttp_t *parser_of(struct http_framer *framer)
{
    return (void *)framer->parser;
}

static struct pass *pass_of(const llhttp_t *parser)
{
    return parser->data;
}

static void extend(struct bytes *view, const char *at, size_t size)
{
    if (view->data == NULL)
        view->data = at;
    view->size += size;
}

static int on_url(llhttp_t *parser, const char *at, size_t size)
{
    struct pass *pass = pass_of(parser);
    if (pass->message == NULL)
        return 0;
    extend(&pass->message->target, at, size);
    if (pass->message->target.size > HTTP_TARGET_MAX_BYTES)
        return fail(pass, 414, "the path with its query is longer than 8 KiB");
    return 0;
}

/* Trailers, which come behind the body, are passed over. */
static int on_header_field(llhttp_t *parser, const char *at, size_t size)
{
    struct pass *pass = pass_of(parser);
    struct http_message *message = pass->message;
    if (pass->framer->has_head && pass->trailers == NULL)
        pass->trailers = at;
    if (message == NULL || pass->framer->has_head)
        return 0;
    if (!pass->in_name) {
        if (message->header_count == HTTP_HEADERS_MAX)
            return fail(pass, 431, "there are more than 64 header fields");
        message->header[message->header_count++] = (struct http_header){0};
        pass->in_name = true;
    }
    extend(&message->header[message->header_count - 1].name, at, size);
    return 0;
}

static int on_header_value(llhttp_t *parser, const char *at, size_t size)
{
    struct pass *pass = pass_of(parser);
    struct http_message *message = pass->message;
    if (message == NULL || pass->framer->has_head)
        return 0;
    pass->in_name = false;
    extend(&message->header[message->header_count - 1].value, at, size);
    return 0;
}

static int on_header_value_complete(llhttp_t *parser)
{
    pass_of(parser)->in_name = false; /* a value may be empty */
    return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct pass *pass = pass_of(parser);
    parser->upgrade = 0; /* whoever offers another protocol is answered in this one */
    pass->framer->has_head = true;
    pass->chunked = (parser->flags & F_CHUNKED) != 0;
    if (pass->message != NULL)
        pass->message->keep_alive = llhttp_should_keep_alive(parser); /* no trailer says anything of it */
    if (!pass->chunked && parser->content_length > HTTP_BODY_MAX_BYTES)
        return fail(pass, 413, "the body is longer than 64 KiB");
    return 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t size)
{
    struct pass *pass = pass_of(parser);
    struct http_message *message = pass->message;
    if (size > HTTP_BODY_MAX_BYTES - pass->framer->body_bytes)
        return fail(pass, 413, "the body is longer than 64 KiB");
    pass->framer->body_bytes += (uint32_t)size;
    if (message == NULL)
        return 0;
    struct bytes *body = &message->body;
    if (body->data == NULL || body->data + body->size == at) {
        extend(body, at, size);
        return 0;
    }
    if (body->data != message->unchunked) {
        memcpy(message->unchunked, body->data, body->size);
        body->data = message->unchunked;
    }
    memcpy(message->unchunked + body->size, at, size);
    body->size += size;
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    (void)parser;
    return HPE_PAUSED;
}

static const llhttp_settings_t callbacks = {
    .on_url = on_url,
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* ---- what the parser lets pass ---- */

/*
 * The size of lines up to an empty one, which is there; empty lines may stand before the first. 0 and a fault: a line
 * does not end in CR LF, has another CR, or goes on in the next one.
 */
static size_t lines_size(struct bytes input, struct http_fault *fault)
{
    bool begun = false;
    size_t at = 0;
    while (at < input.size) {
        const char *line = input.data + at, *end = memchr(line, '\n', input.size - at);
        const size_t size = end != NULL ? (size_t)(end - line) : 0;
        if (size == 0 || memchr(line, '\r', size) != end - 1) {
            *fault = (struct http_fault){400, "a line does not end in CR LF, or has another CR"};
            return 0;
        }
        if (line[0] == ' ' || line[0] == '\t') {
            *fault = (struct http_fault){400, "a line of the head or of a trailer begins with a blank"};
            return 0;
        }
        if (line[0] == ':') {
            *fault = (struct http_fault){400, "a field has no name"};
            return 0;
        }
        at += size + 1;
        if (size == 1 && begun)
            return at;
        begun |= size > 1;
    }
    *fault = (struct http_fault){400, "the head or its trailers have no end"};
    return 0;
}

/* What stands behind the last chunk of a whole request ends where everybody finds its end. */
static bool check_trailers(const struct pass *pass, struct bytes request, struct http_fault *fault)
{
    if (!pass->chunked)
        return true;
    if (pass->trailers != NULL)
        return lines_size((struct bytes){pass->trailers, (size_t)(request.data + request.size - pass->trailers)},
                          fault) > 0;
    if (request.data[request.size - 2] != '\r')
        *fault = (struct http_fault){400, "a line does not end in CR LF, or has another CR"};
    return fault->status == 0;
}

bool http_name_is(struct bytes name, const char *small)
{
    return name.size == strlen(small) && strncasecmp(name.data, small, name.size) == 0;
}

struct bytes http_header(const struct http_message *message, const char *name)
{
    for (uint32_t i = 0; i < message->header_count; i++)
        if (http_name_is(message->header[i].name, name))
            return message->header[i].value.data ? message->header[i].value : bytes_of("");
    return (struct bytes){0};
}

/* A request means the same to everybody. The parser has refused lengths that contradict each other. */
static bool check_fields(struct http_message *message, struct http_fault *fault)
{
    const struct bytes encoding = http_header(message, "transfer-encoding");
    uint32_t hosts = 0, encodings = 0;
    for (uint32_t i = 0; i < message->header_count; i++) {
        const struct http_header *header = &message->header[i];
        hosts += http_name_is(header->name, "host");
        encodings += http_name_is(header->name, "transfer-encoding");
    }
    if (encodings > 0 && message->is_1_0)
        fault->text = "Transfer-Encoding in a request of HTTP/1.0";
    else if (encodings > 0 && (encodings > 1 || !http_name_is(encoding, "chunked")))
        fault->text = "expected no Transfer-Encoding but chunked";
    else if (hosts > 1 || (hosts == 0 && !message->is_1_0))
        fault->text = "expected one Host";
    fault->status = fault->text != NULL ? 400 : 0;
    const struct bytes expect = http_header(message, "expect");
    message->expects_continue = expect.data != NULL && !message->is_1_0;
    if (fault->text == NULL && message->expects_continue && !http_name_is(expect, "100-continue"))
        *fault = (struct http_fault){417, "Expect is not 100-continue"};
    return fault->text == NULL;
}

/* "http://host/path" is "/path". */
static struct bytes path_of(struct bytes target)
{
    static const char scheme[] = "http://";
    const size_t size = sizeof scheme - 1;
    if (target.size < size || target.data[0] == '/' || strncasecmp(target.data, scheme, size) != 0)
        return target;
    const char *slash = memchr(target.data + size, '/', target.size - size);
    if (slash == NULL)
        return bytes_of("/");
    return (struct bytes){slash, target.size - (size_t)(slash - target.data)};
}

static enum http_method method_of(const llhttp_t *parser)
{
    static const struct {
        uint8_t parsed;
        enum http_method method;
    } methods[] = {{HTTP_GET, HTTP_METHOD_GET},
                   {HTTP_HEAD, HTTP_METHOD_HEAD},
                   {HTTP_POST, HTTP_METHOD_POST},
                   {HTTP_PUT, HTTP_METHOD_PUT},
                   {HTTP_DELETE, HTTP_METHOD_DELETE}};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (methods[i].parsed == parser->method)
            return methods[i].method;
    return HTTP_METHOD_OTHER;
}

/* ---- passes ---- */

static struct http_fault fault_of(const struct pass *pass, llhttp_errno_t failed)
{
    if (pass->fault.status != 0)
        return pass->fault;
    if (failed == HPE_INVALID_VERSION)
        return (struct http_fault){505, "expected HTTP/1.1 or HTTP/1.0"};
    if (failed == HPE_INVALID_METHOD)
        return (struct http_fault){400, "expected a request of HTTP/1.1: this is no method of it"};
    if (failed == HPE_PAUSED_H2_UPGRADE)
        return (struct http_fault){400, "expected HTTP/1.1: gRPC has a port of its own, listen.grpc"};
    const char *reason = llhttp_get_error_reason(parser_of(pass->framer));
    return (struct http_fault){400, reason != NULL && reason[0] ? reason : "malformed HTTP"};
}

/* Parses what was not parsed yet. HTTP_WHOLE: up to its end, which is in framer->parsed_bytes. */
static enum http_framing parse(struct pass *pass, struct bytes input, struct http_fault *fault)
{
    struct http_framer *framer = pass->framer;
    llhttp_t *parser = parser_of(framer);
    if (framer->parsed_bytes == 0)
        llhttp_init(parser, HTTP_REQUEST, &callbacks);
    parser->data = pass;
    const char *from = input.data + framer->parsed_bytes;
    const llhttp_errno_t failed = llhttp_execute(parser, from, input.size - framer->parsed_bytes);
    parser->data = NULL;
    if (failed == HPE_OK) {
        framer->parsed_bytes = (uint32_t)input.size;
        return HTTP_MORE;
    }
    if (failed == HPE_PAUSED) {
        framer->parsed_bytes = (uint32_t)(llhttp_get_error_pos(parser) - input.data);
        return HTTP_WHOLE;
    }
    *fault = fault_of(pass, failed);
    return HTTP_FAULT;
}

/* From the first byte, for the views. */
static enum http_framing read_again(struct http_framer *framer, struct bytes input, struct http_message *message,
                                    struct http_fault *fault)
{
    struct pass pass = {.framer = framer, .message = message};
    framer->parsed_bytes = framer->body_bytes = 0;
    framer->has_head = false;
    message->header_count = 0;
    message->target = message->body = (struct bytes){0};
    const enum http_framing framing = parse(&pass, input, fault);
    if (framing == HTTP_WHOLE && !check_trailers(&pass, (struct bytes){input.data, framer->parsed_bytes}, fault))
        return HTTP_FAULT;
    return framing;
}

static bool understand(struct http_framer *framer, struct bytes input, struct http_message *message,
                       struct http_fault *fault)
{
    const llhttp_t *parser = parser_of(framer);
    message->method = method_of(parser);
    message->target = path_of(message->target);
    message->is_1_0 = parser->http_major == 1 && parser->http_minor == 0;
    if (parser->http_major != 1 || parser->http_minor > 1) {
        *fault = (struct http_fault){505, "expected HTTP/1.1 or HTTP/1.0"};
        return false;
    }
    const size_t head_bytes = lines_size(input, fault);
    if (head_bytes > HTTP_HEAD_MAX_BYTES)
        *fault = (struct http_fault){431, "the head of the request is longer than 16 KiB"};
    return head_bytes > 0 && head_bytes <= HTTP_HEAD_MAX_BYTES && check_fields(message, fault);
}

/* Whether bytes that are no whole request yet are too many already. */
static bool is_too_long(const struct http_framer *framer, struct bytes input, struct http_fault *fault)
{
    if (!framer->has_head && input.size > HTTP_HEAD_MAX_BYTES)
        *fault = (struct http_fault){431, "the head of the request is longer than 16 KiB"};
    else if (input.size > HTTP_REQUEST_MAX_BYTES)
        *fault = (struct http_fault){413, "the request is longer than 96 KiB, with the framing of its chunks"};
    return fault->status != 0;
}

enum http_framing http_frame(struct http_framer *framer, struct bytes input, struct http_message *message,
                             size_t *size, struct http_fault *fault)
{
    const bool had_head = framer->has_head, first = framer->parsed_bytes == 0;
    struct pass pass = {.framer = framer};
    enum http_framing framing;
    *fault = (struct http_fault){0};
    assert(input.size > 0 && framer->parsed_bytes <= input.size);
    if (first)
        framing = read_again(framer, input, message, fault);
    else if ((framing = parse(&pass, input, fault)) == HTTP_WHOLE ||
             (framing == HTTP_MORE && framer->has_head > had_head))
        framing = read_again(framer, input, message, fault);
    if (framing == HTTP_FAULT)
        return HTTP_FAULT;
    if (framing == HTTP_MORE && is_too_long(framer, input, fault))
        return HTTP_FAULT;
    if (framing == HTTP_MORE && framer->has_head == had_head)
        return HTTP_MORE;
    if (!understand(framer, input, message, fault))
        return HTTP_FAULT;
    if (framing == HTTP_MORE) {
        const bool asks = message->expects_continue && !framer->continued;
        framer->continued |= asks;
        return asks ? HTTP_CONTINUE : HTTP_MORE;
    }
    *size = framer->parsed_bytes;
    *framer = (struct http_framer){0};
    return HTTP_WHOLE;
}
