/*
 * Answers as bytes: the head with what every answer has, problems, and the body behind it.
 */
#include "http/call.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

static const char *reason_of(unsigned status)
{
    static const struct {
        unsigned status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {409, "Conflict"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Unknown";
}

/* ---- problems ---- */

static void begin_problem(struct http_call *call, unsigned status, const char *field)
{
    call->status = status;
    call->type = "application/problem+json";
    call->body.size = 0;
    call->body.overflowed = false;
    put_text(&call->body, "{\"type\":\"about:blank\",\"title\":\"");
    put_text(&call->body, reason_of(status));
    put_text(&call->body, "\",\"status\":");
    put_number(&call->body, status);
    if (field != NULL) {
        put_word(&call->body, ",\"field\":", bytes_of(field));
    }
}

static void put_detail(struct http_call *call, struct bytes detail)
{
    put_word(&call->body, ",\"detail\":", detail);
    put_text(&call->body, "}\n");
}

void http_problem(struct http_call *call, unsigned status, const char *field, const char *format, ...)
{
    char detail[2 * COMMAND_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    begin_problem(call, status, field);
    put_detail(call, bytes_of(detail));
}

void http_refuse(struct http_call *call, unsigned status, const char *field, const char *error)
{
    const char *blank = strchr(error, ' ');
    begin_problem(call, status, field);
    put_detail(call, bytes_of(blank != NULL ? blank + 1 : error));
}

void http_refuse_by_word(struct http_call *call, const char *field, const char *error)
{
    const bool later = strncmp(error, "LOADING", 7) == 0;
    const unsigned status = later                                      ? 503
                            : strncmp(error, "NOPERM", 6) == 0         ? 403
                            : strncmp(error, "NORESERVATION", 13) == 0 ? 404
                                                                       : 400;
    http_refuse(call, status, field, error);
    if (later)
        put_text(&call->fields, "Retry-After: 1\r\n");
}

static void put_part(struct http_call *call, const char *name, const struct error *error, struct error_part part)
{
    if (part.size == 0)
        return;
    put_text(&call->body, ",\"");
    put_text(&call->body, name);
    put_word(&call->body, "\":", error_bytes(error, part));
}

void http_problem_of(struct http_call *call, unsigned status, const struct error *error)
{
    begin_problem(call, status, NULL);
    put_part(call, "field", error, error->field);
    put_part(call, "value", error, error->value);
    put_part(call, "expected", error, error->expected);
    put_detail(call, bytes_of(error->text));
}

/* ---- the head ---- */

/* The date of a day, counted from 1 January 1970; years begin in March, so that leap days are their last. */
static void civil_of(uint64_t days_since_1970, unsigned *year, unsigned *month, unsigned *day)
{
    const uint64_t days = days_since_1970 + 719468, era = days / 146097, day_of_era = days % 146097;
    const uint64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const uint64_t march_month = (5 * day_of_year + 2) / 153;
    *day = (unsigned)(day_of_year - (153 * march_month + 2) / 5 + 1);
    *month = (unsigned)(march_month < 10 ? march_month + 3 : march_month - 9);
    *year = (unsigned)(year_of_era + era * 400 + (*month <= 2));
}

/* The lines that all answers of a second have, made anew once a second: "Date: Wed, 25 Nov 2026 13:00:00 GMT", ... */
static char *write_usual_lines(char *at, struct http *http, uint64_t wall_ns)
{
    static const char *const days[] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"},
                             *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const uint64_t now_s = wall_ns / 1000000000;
    if (http->usual_s != now_s) {
        unsigned year, month, day;
        const unsigned second = (unsigned)(now_s % 86400);
        http->usual_s = now_s;
        civil_of(now_s / 86400, &year, &month, &day);
        const int size = snprintf(http->usual, sizeof http->usual,
                                  "Date: %s, %02u %s %04u %02u:%02u:%02u GMT\r\nCache-Control: no-store\r\n",
                                  days[now_s / 86400 % 7], day % 100, months[month - 1], year % 10000,
                                  second / 3600, second / 60 % 60, second % 60);
        assert(size > 0 && (size_t)size < sizeof http->usual);
        http->usual_bytes = (size_t)size;
    }
    return write_bytes(at, http->usual, http->usual_bytes);
}

static char *write_head(char *at, const struct http_call *call)
{
    at = digits_write(write_text(at, "HTTP/1.1 "), call->status);
    at = write_text(write_text(write_text(at, " "), reason_of(call->status)), "\r\n");
    at = write_usual_lines(at, call->http, call->turn.wall_ns);
    if (call->status != 304) /* which has no body, and whose type would be that of the other answer */
        at = write_text(write_text(write_text(at, "Content-Type: "), call->type), "\r\n");
    if (call->status != 304 && !call->feeds && !call->endless)
        at = write_text(digits_write(write_text(at, "Content-Length: "), call->body.size), "\r\n");
    at = write_bytes(at, call->fields.data, call->fields.size);
    if (call->closes || call->feeds)
        at = write_text(at, "Connection: close\r\n");
    else if (call->message->is_1_0)
        at = write_text(at, "Connection: keep-alive\r\n");
    return write_text(at, "\r\n");
}

void http_write(struct http_call *call, struct output *output)
{
    if (call->body.overflowed || call->fields.overflowed)
        http_problem(call, 500, NULL, "the answer is longer than it may be");
    char *begun = put_begin(output, HTTP_HEAD_BYTES);
    assert(begun != NULL);
    const char *end = write_head(begun, call);
    assert(end <= begun + HTTP_HEAD_BYTES);
    put_end(output, end);
    if (call->message->method != HTTP_METHOD_HEAD && call->status != 304)
        output_append(output, call->body.data, call->body.size);
    assert(!output->overflowed);
}
