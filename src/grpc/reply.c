#include "grpc/reply.h"

#include "cluster/node.h"
#include "limit/kind.h"

#include <assert.h>
#include <string.h>

#define HOUR_NS ((uint64_t)3600 * 1000000000)
#define DAY_NS (24 * HOUR_NS)

enum {
    HEADS_MAX = 8, /* at most six are put */
    HEADS_BYTES = 512,
};

typedef Envoy__Service__Ratelimit__V3__RateLimitResponse Response;
typedef Envoy__Service__Ratelimit__V3__RateLimitResponse__DescriptorStatus Status;
typedef Envoy__Service__Ratelimit__V3__RateLimitResponse__RateLimit Rate;
typedef Envoy__Config__Core__V3__HeaderValue Head;

/* A status with all that it points to. */
struct told {
    Status status;
    Rate rate;
    Google__Protobuf__Duration until_reset;
    char name[RULE_NAME_MAX_BYTES + 1];
};

/* ---- units ---- */

enum { SECOND = 1, MINUTE, HOUR, DAY, MONTH, YEAR, WEEK, UNITS };

uint64_t grpc_unit_ns(int unit)
{
    static const uint64_t ns[UNITS] =
        {[SECOND] = 1000000000, [MINUTE] = HOUR_NS / 60, [HOUR] = HOUR_NS,     [DAY] = DAY_NS,
         [WEEK] = 7 * DAY_NS,   [MONTH] = 30 * DAY_NS,   [YEAR] = 365 * DAY_NS};
    return unit > 0 && unit < UNITS ? ns[unit] : 0;
}

/* A window of the calendar may be longer or shorter than its unit. 0: it is none. */
static int unit_of(uint64_t window_ns)
{
    static const struct {
        int unit;
        uint64_t least_ns, most_ns;
    } units[] = {{SECOND, 1000000000, 1000000000},
                 {MINUTE, HOUR_NS / 60, HOUR_NS / 60},
                 {HOUR, HOUR_NS, HOUR_NS},
                 {DAY, DAY_NS - HOUR_NS, DAY_NS + HOUR_NS},
                 {WEEK, 7 * DAY_NS - HOUR_NS, 7 * DAY_NS + HOUR_NS},
                 {MONTH, 28 * DAY_NS - HOUR_NS, 31 * DAY_NS + HOUR_NS},
                 {YEAR, 365 * DAY_NS - HOUR_NS, 366 * DAY_NS + HOUR_NS}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (window_ns >= units[i].least_ns && window_ns <= units[i].most_ns)
            return units[i].unit;
    return 0;
}

static uint32_t small(uint64_t number)
{
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* The rate of a bucket or the limit of a window, if it is one of a unit; else the limit, without a unit. */
static void fill_rate(Rate *rate, const struct commands *commands, const struct charge *charge)
{
    const struct limit *limit = node_limit(commands->node, charge->limit);
    const bool refills = kind_refills((enum limit_kind)limit->kind);
    const int unit = unit_of(refills ? limit->period_ns : call_window_ns(commands, charge));
    rate->requests_per_unit = small(refills && unit > 0 ? limit->rate : limit->capacity);
    rate->unit = (Envoy__Service__Ratelimit__V3__RateLimitResponse__RateLimit__Unit)unit;
}

/* ---- statuses ---- */

bool grpc_reply_begin(struct grpc_reply *reply, struct grpc_arena *arena, size_t count)
{
    static const Response empty = ENVOY__SERVICE__RATELIMIT__V3__RATE_LIMIT_RESPONSE__INIT;
    reply->arena = arena;
    reply->response = empty;
    reply->response.overall_code = ENVOY__SERVICE__RATELIMIT__V3__RATE_LIMIT_RESPONSE__CODE__OK;
    reply->response.statuses = grpc_arena_take(arena, count * sizeof(void *));
    struct told *told = grpc_arena_take(arena, count * sizeof *told);
    reply->room = count;
    reply->told = reply->told_soonest = false;
    reply->alternative = reply->over = false;
    reply->alternatives = reply->alternatives_over = 0;
    if (reply->response.statuses == NULL || told == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        reply->response.statuses[i] = &told[i].status;
    return true;
}

static struct told *next(struct grpc_reply *reply, bool allowed)
{
    assert(reply->response.n_statuses < reply->room);
    struct told *told = (struct told *)(void *)reply->response.statuses[reply->response.n_statuses++];
    _Static_assert(offsetof(struct told, status) == 0, "the status is the first member");
    envoy__service__ratelimit__v3__rate_limit_response__descriptor_status__init(&told->status);
    envoy__service__ratelimit__v3__rate_limit_response__rate_limit__init(&told->rate);
    google__protobuf__duration__init(&told->until_reset);
    told->status.code = allowed ? ENVOY__SERVICE__RATELIMIT__V3__RATE_LIMIT_RESPONSE__CODE__OK
                                : ENVOY__SERVICE__RATELIMIT__V3__RATE_LIMIT_RESPONSE__CODE__OVER_LIMIT;
    if (reply->alternative) {
        reply->alternatives++;
        reply->alternatives_over += !allowed;
    } else
        reply->over = reply->over || !allowed;
    return told;
}

void grpc_reply_add_unlimited(struct grpc_reply *reply)
{
    (void)next(reply, true);
}

/* How long until the limit is full again, or, of a refusal, until the same request may come again. */
static int64_t until_ms(const struct verdict_report *report)
{
    return report->allowed || report->figures.retry_after_ms < 0 ? report->figures.reset_after_ms
                                                                 : report->figures.retry_after_ms;
}

static void tell(struct told *told, const struct verdict_report *report)
{
    const size_t size = report->rule.size < sizeof told->name ? report->rule.size : sizeof told->name - 1;
    const int64_t ms = until_ms(report);
    if (size > 0)
        memcpy(told->name, report->rule.data, size);
    told->name[size] = '\0';
    told->rate.name = told->name;
    told->status.current_limit = &told->rate;
    told->status.limit_remaining = report->figures.remaining > 0 ? small((uint64_t)report->figures.remaining) : 0;
    if (ms < 0)
        return;
    told->until_reset.seconds = ms / 1000;
    told->until_reset.nanos = (int32_t)(ms % 1000) * 1000000;
    told->status.duration_until_reset = &told->until_reset;
}

/* True if the heads are to tell of `report` rather than of the one before. */
static bool goes_before(const struct verdict_report *report, const struct verdict_report *before)
{
    if (report->allowed != before->allowed)
        return !report->allowed;
    if (report->allowed)
        return report->figures.available < before->figures.available;
    return before->figures.retry_after_ms >= 0 &&
           (report->figures.retry_after_ms < 0 || report->figures.retry_after_ms > before->figures.retry_after_ms);
}

static void keep_for_heads(struct grpc_reply *reply, struct told *told, const struct verdict_report *report)
{
    const bool waits = reply->alternative && !report->allowed;
    bool *is_told = waits ? &reply->told_soonest : &reply->told;
    struct verdict_report *before = waits ? &reply->soonest : &reply->report;
    if (*is_told && goes_before(report, before) == waits)
        return;
    *is_told = true;
    *before = *report;
    before->rule = bytes_of(told->name);
}

/* All alternatives are over, and so the request is. */
static bool none_is_left(const struct grpc_reply *reply)
{
    return reply->alternatives > 0 && reply->alternatives == reply->alternatives_over;
}

/* Where only shadows count, the one that has the least left says what it would do. -1: none counts. */
static int shadow_of(const struct match *match, const struct verdict *verdicts)
{
    int least = -1;
    for (uint32_t i = 0; i < match->count; i++)
        if (least < 0 || verdicts[i].remaining_tokens < verdicts[least].remaining_tokens)
            least = (int)i;
    return least;
}

void grpc_reply_add(struct grpc_reply *reply, const struct commands *commands, const struct match *match,
                    const struct decision *decision)
{
    struct verdict_report report = verdict_report(commands, match, decision->allowed, decision->verdict);
    struct told *told = next(reply, decision->allowed);
    const bool denies = decision_denier(match, decision->allowed) != NULL;
    int decider = report.decider;
    const bool shadow = decider < 0 && !denies && match->status == MATCH_CHARGES && match->count > 0;
    if (shadow) {
        decider = shadow_of(match, decision->verdict);
        report.rule = match->rule[decider].rule->id;
        report.figures = verdict_figures(&decision->verdict[decider]);
    }
    if (decider >= 0)
        fill_rate(&told->rate, commands, &match->charge[decider]);
    if (decider >= 0 || denies || !decision->allowed)
        tell(told, &report);
    if (!shadow && (decider >= 0 || denies || !decision->allowed))
        keep_for_heads(reply, told, &report);
}

static void add_brought(struct grpc_reply *reply, const Grpc_limit *limit, const struct verdict_report *report)
{
    struct told *told = next(reply, report->allowed);
    told->rate.requests_per_unit = limit->requests_per_unit;
    told->rate.unit = (Envoy__Service__Ratelimit__V3__RateLimitResponse__RateLimit__Unit)limit->unit;
    tell(told, report);
    keep_for_heads(reply, told, report);
}

void grpc_reply_add_guest(struct grpc_reply *reply, const Grpc_limit *limit, const struct decision *decision)
{
    add_brought(reply, limit,
                &(struct verdict_report){.allowed = decision->allowed,
                                         .reason = decision->verdict[0].reason,
                                         .figures = verdict_figures(&decision->verdict[0]),
                                         .window_ms = (int64_t)(grpc_unit_ns((int)limit->unit) / 1000000)});
}

void grpc_reply_add_nothing(struct grpc_reply *reply, const Grpc_limit *limit)
{
    add_brought(reply, limit,
                &(struct verdict_report){.reason = VERDICT_LIMIT_ZERO,
                                         .figures = {0, 0, 0, -1, -1},
                                         .window_ms = -1});
}

/* ---- heads ---- */

/* Lines "Name: value" as headers. */
static bool split(struct grpc_reply *reply, struct bytes lines)
{
    struct grpc_arena *arena = reply->arena;
    reply->response.response_headers_to_add = grpc_arena_take(arena, HEADS_MAX * sizeof(void *));
    if (reply->response.response_headers_to_add == NULL)
        return false;
    while (lines.size > 0 && reply->response.n_response_headers_to_add < HEADS_MAX) {
        const char *end = memchr(lines.data, '\r', lines.size), *colon = memchr(lines.data, ':', lines.size);
        Head *head = grpc_arena_take(arena, sizeof *head);
        if (end == NULL || colon == NULL || head == NULL)
            return false;
        envoy__config__core__v3__header_value__init(head);
        head->key = grpc_arena_text(arena, (struct bytes){lines.data, (size_t)(colon - lines.data)});
        head->value = grpc_arena_text(arena, (struct bytes){colon + 2, (size_t)(end - colon) - 2});
        if (head->key == NULL || head->value == NULL)
            return false;
        reply->response.response_headers_to_add[reply->response.n_response_headers_to_add++] = head;
        lines = (struct bytes){end + 2, lines.size - (size_t)(end - lines.data) - 2};
    }
    return true;
}

const Response *grpc_reply_end(struct grpc_reply *reply, enum http_limit_fields fields)
{
    char room[HEADS_BYTES];
    struct output lines = output_over(room, sizeof room);
    if (reply->over || none_is_left(reply))
        reply->response.overall_code = ENVOY__SERVICE__RATELIMIT__V3__RATE_LIMIT_RESPONSE__CODE__OVER_LIMIT;
    if (!reply->over && none_is_left(reply) && reply->told_soonest)
        put_verdict_fields(&lines, &reply->soonest, fields);
    else if (reply->told)
        put_verdict_fields(&lines, &reply->report, fields);
    return split(reply, (struct bytes){lines.data, lines.size}) ? &reply->response : NULL;
}
