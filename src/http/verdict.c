#include "http/verdict.h"

/* ---- JSON ---- */

enum { FIGURE_BYTES = 20 + DIGITS_BYTES, FIGURES = 6 }; /* one with its name, and how many there are */

static void put_figures(struct output *output, const struct verdict_report *report)
{
    char *at = put_begin(output, (size_t)FIGURE_BYTES * FIGURES);
    if (at == NULL)
        return;
    at = write_figure(at, ",\"limit\":", report->figures.limit);
    at = write_figure(at, ",\"remaining\":", report->figures.remaining);
    at = write_figure(at, ",\"available_now\":", report->figures.available);
    at = write_figure(at, ",\"retry_after_ms\":", report->figures.retry_after_ms);
    at = write_figure(at, ",\"reset_after_ms\":", report->figures.reset_after_ms);
    at = write_figure(at, ",\"window_ms\":", report->window_ms);
    put_end(output, at);
}

static void put_allowed(struct output *output, bool allowed)
{
    put_text(output, allowed ? "{\"allowed\":true,\"rule\":" : "{\"allowed\":false,\"rule\":");
}

void put_verdict_reason(struct output *output, enum verdict_reason reason)
{
    put_text(output, ",\"reason\":\"");
    put_text(output, verdict_reason_name(reason));
    put_text(output, "\"");
}

void put_verdict(struct output *output, const struct verdict_report *report)
{
    put_allowed(output, report->allowed);
    put_optional(output, "", report->rule);
    put_figures(output, report);
    if (!report->allowed)
        put_verdict_reason(output, report->reason);
    if (report->over_limit)
        put_text(output, ",\"over_limit\":true");
    if (report->drained)
        put_count(output, ",\"taken\":", report->taken);
}

static void put_rule(struct output *output, const struct matched *matched, const struct verdict_report *report)
{
    const struct ruled_version *version = matched->version;
    put_allowed(output, report->allowed);
    put_string(output, report->rule);
    put_word(output, ",\"endpoint\":", version->endpoint);
    put_word(output, ",\"by\":", version->by);
    put_word(output, ",\"algorithm\":", bytes_of(rule_algorithm_name(version->algorithm)));
    put_word(output, ",\"mode\":", bytes_of(rule_mode_name(version->mode)));
    put_word(output, ",\"why\":", bytes_of(match_why_name((enum match_why)matched->why)));
    put_text(output, matched->candidate ? ",\"canary\":true" : ",\"canary\":false");
    put_figures(output, report);
    put_verdict_reason(output, report->reason);
}

void put_verdict_rule(struct output *output, const struct commands *commands, const struct match *match,
                      const struct decision *decision, uint32_t i)
{
    struct verdict_report report = verdict_report_of_rule(match, decision->verdict, i);
    report.window_ms = verdict_window_ms(commands, match, report.decider);
    if (report.decider < 0 && !report.allowed) /* for good */
        report.figures.reset_after_ms = -1;
    put_rule(output, verdict_rule(match, i), &report);
}

void put_verdict_rules(struct output *output, const struct commands *commands, const struct match *match,
                       const struct decision *decision)
{
    put_text(output, ",\"rules\":[");
    for (uint32_t i = 0; i < verdict_rules(match); i++) {
        put_text(output, i > 0 ? "," : "");
        put_verdict_rule(output, commands, match, decision, i);
        put_text(output, "}");
    }
    put_text(output, "]");
}

/* ---- the head ---- */

static uint64_t seconds_of(int64_t ms)
{
    return (uint64_t)ms / 1000 + ((uint64_t)ms % 1000 != 0);
}

/* A name of a rule is a quoted string of structured fields as it is one of JSON: it has no quotes. */
static void put_draft_10(struct output *output, const struct verdict_report *report, uint64_t reset_s)
{
    put_word(output, "RateLimit-Policy: ", report->rule);
    put_text(output, ";q=");
    put_number(output, (uint64_t)report->figures.limit);
    if (report->window_ms > 0) {
        put_text(output, ";w=");
        put_number(output, seconds_of(report->window_ms));
    }
    put_word(output, "\r\nRateLimit: ", report->rule);
    put_text(output, ";r=");
    put_number(output, (uint64_t)report->figures.remaining);
    put_text(output, ";t=");
    put_number(output, reset_s);
    put_text(output, "\r\n");
}

static void put_x(struct output *output, const struct verdict_report *report, uint64_t reset_s)
{
    enum { LINE_BYTES = 25 + DIGITS_BYTES, LINES = 3 }; /* the longest with its end, and how many there are */
    char *at = put_begin(output, (size_t)LINE_BYTES * LINES);
    if (at == NULL)
        return;
    at = write_text(at, "X-RateLimit-Limit: ");
    at = digits_write(at, (uint64_t)report->figures.limit);
    at = write_text(at, "\r\nX-RateLimit-Remaining: ");
    at = digits_write(at, (uint64_t)report->figures.remaining);
    at = write_text(at, "\r\nX-RateLimit-Reset: ");
    at = digits_write(at, reset_s);
    put_end(output, write_text(at, "\r\n"));
}

static void put_reason_field(struct output *output, enum verdict_reason reason)
{
    put_text(output, "X-RateLimit-Reason: ");
    put_text(output, verdict_reason_name(reason));
    put_text(output, "\r\n");
}

void put_verdict_fields(struct output *output, const struct verdict_report *report, enum http_limit_fields fields)
{
    const bool waits = !report->allowed && report->figures.retry_after_ms >= 0;
    /* of a refusal, when to come again: nobody is told two times to wait for */
    const uint64_t retry_s = waits && report->figures.retry_after_ms == 0
                                 ? 1
                                 : seconds_of(waits ? report->figures.retry_after_ms : 0),
                   reset_s =
                       waits ? retry_s
                             : seconds_of(report->figures.reset_after_ms > 0 ? report->figures.reset_after_ms : 0);
    if (report->figures.limit > 0 && fields == HTTP_LIMIT_X)
        put_x(output, report, reset_s);
    if (report->figures.limit > 0 && fields == HTTP_LIMIT_DRAFT_10)
        put_draft_10(output, report, reset_s);
    if (report->over_limit && fields != HTTP_LIMIT_NONE)
        put_text(output, "X-RateLimit-Over-Limit: true\r\n");
    if (!report->allowed && fields != HTTP_LIMIT_NONE)
        put_reason_field(output, report->reason);
    if (!waits)
        return;
    put_text(output, "Retry-After: ");
    put_number(output, retry_s);
    put_text(output, "\r\n");
}
