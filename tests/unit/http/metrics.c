/*
 * GET /metrics by a node that is alone: the page has the form that it should have, its values are those of INFO, and
 * its bounds hold.
 */
#include "http/call.h"
#include "http/metrics_page.h"
#include "tests/lib/metrics_parser.h"
#include "tests/lib/served.h"

static struct http_settings settings;
static struct http *http;
static char answer[2 * 128 * 1024];

static void begin(void)
{
    settings = (struct http_settings){0};
    served_open();
    http = http_create(&served.commands, &settings);
    assert(http != NULL);
}

static void end(void)
{
    http_destroy(&http);
    served_close();
}

/* The whole answer to a request for the page. */
static const char *ask(const char *method)
{
    struct http_session session = {0};
    struct output output = output_over(answer, 128 * 1024);
    char request[64];
    size_t consumed;
    http_open(&session, "10.0.0.1:1234");
    (void)snprintf(request, sizeof request, "%s /metrics HTTP/1.1\r\nHost: a\r\n\r\n", method);
    (void)http_serve(http, &session, bytes_of(request), &output,
                     (struct turn){.now_ns = served.now_ns, .wall_ns = served.wall_ns}, &consumed);
    answer[output.size] = '\0';
    return answer;
}

static const char *page(void)
{
    const char *blank = strstr(ask("GET"), "\r\n\r\n");
    return blank != NULL ? blank + 4 : "";
}

static void test_parser(void)
{
    static const char *const wrong[] = {
        "headgate_a 1\n",
        "# TYPE headgate_a gauge\nheadgate_a 1",
        "# TYPE headgate_a gauge\nheadgate_a x\n",
        "# TYPE headgate_a gauge\nheadgate_a 1 2\n",
        "# TYPE headgate_a gauge\nheadgate_b 1\n",
        "# TYPE headgate_a counter\nheadgate_a 1\n",
        "# TYPE headgate_a_total gauge\n",
        "# TYPE headgate_a text\n",
        "# TYPE a gauge\na 1\n",
        "# HELP headgate_a it is (now)\n",
        "# TYPE headgate_a gauge\nheadgate_a 1\nheadgate_a 1\n",
        "# TYPE headgate_a gauge\nheadgate_a{b=\"c\"} 1\nheadgate_a{b=\"c\"} 2\n",
        "# TYPE headgate_a gauge\n# TYPE headgate_b gauge\n# TYPE headgate_a gauge\n",
        "# TYPE headgate_a gauge\nheadgate_a{b=\"c} 1\n",
        "# TYPE headgate_a gauge\nheadgate_a{b=\"\\c\"} 1\n",
        "# TYPE headgate_a gauge\nheadgate_a{b=\"c\"d\"} 1\n",
        "# TYPE headgate_a histogram\nheadgate_a 1\n",
        "# TYPE headgate_a gauge\nheadgate_a_sum 1\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        OK(metrics_parse(wrong[i])[0] != '\0', "the parser finds fault: %s", metrics_parsed.fault);
    OK_STRING(metrics_parse(
                  "# HELP headgate_a b\n# TYPE headgate_a gauge\nheadgate_a{b=\"\\\"\\\\\\n\",c=\"\"} 1.5\n"),
              "", "and none with a page that is as it should be");
}

/* ---- lines ---- */

static const char *row(const char *prefix, const char *name, const char *help, uint64_t number)
{
    static char text[512];
    struct output output = output_over(text, sizeof text - 1);
    struct metrics_page of = {.output = &output};
    page_row(&of, prefix, name, help, number);
    text[output.size] = '\0';
    return text;
}

static void test_rows(void)
{
    OK_STRING(row("", "total_reads", "reads", 7),
              "# HELP headgate_reads_total reads\n# TYPE headgate_reads_total counter\nheadgate_reads_total 7\n",
              "a counter");
    OK_STRING(row("store_", "rows", "kept (now)", UINT64_MAX),
              "# HELP headgate_store_rows kept\n# TYPE headgate_store_rows gauge\n"
              "headgate_store_rows 18446744073709551615\n",
              "a gauge");
    OK_STRING(row("", "debt", "tokens (most)", 0),
              "# HELP headgate_debt tokens (most)\n# TYPE headgate_debt gauge\nheadgate_debt 0\n", "a maximum");
    OK_STRING(row("", "late_ms", "late", 12034),
              "# HELP headgate_late_seconds_total late\n# TYPE headgate_late_seconds_total counter\n"
              "headgate_late_seconds_total 12.034\n",
              "milliseconds in seconds");
    OK_STRING(row("", "settle_ns", "time (now)", 5000000),
              "# HELP headgate_settle_seconds time\n# TYPE headgate_settle_seconds gauge\n"
              "headgate_settle_seconds 0.005000000\n",
              "nanoseconds in seconds");
}

/* In every room there are whole pieces, and after one that does not fit there is none. */
static void test_room(void)
{
    static const char *const pieces[] = {"# HELP headgate_a b\n# TYPE headgate_a gauge\nheadgate_a 1\n",
                                         "# HELP headgate_c d\n# TYPE headgate_c gauge\nheadgate_c 2.0\n",
                                         "# HELP headgate_e f\n# TYPE headgate_e gauge\nheadgate_e 3\n"};
    const size_t sizes[] = {strlen(pieces[0]), strlen(pieces[1]), strlen(pieces[2])};
    bool whole = true, told = true;
    for (size_t room = 0; room <= sizes[0] + sizes[1] + sizes[2]; room++) {
        char text[512];
        struct output output = output_over(text, room);
        struct metrics_page of = {.output = &output};
        page_gauge(&of, "a", "b", 1, 1);
        page_gauge(&of, "c", "d", 20, 10);
        page_gauge(&of, "e", "f", 3, 1);
        const size_t size = room < sizes[0]                         ? 0
                            : room < sizes[0] + sizes[1]            ? sizes[0]
                            : room < sizes[0] + sizes[1] + sizes[2] ? sizes[0] + sizes[1]
                                                                    : room;
        whole = whole && output.size == size && !output.overflowed;
        told = told && of.truncated == (size < sizes[0] + sizes[1] + sizes[2]);
    }
    OK(whole, "no room has half a piece, nor one behind a piece that did not fit");
    OK(told, "and the page remembers");
}

static void test_page(void)
{
    begin();
    const char *text = page();
    OK_STRING(metrics_parse(text), "", "the page is as it should be");
    OK(strncmp(answer, "HTTP/1.1 200 OK\r\n", 17) == 0, "200");
    OK(strstr(answer, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n") != NULL, "with its type");
    OK_STRING(metrics_value("headgate_metrics_truncated"), "0", "nothing is left out");
    OK_STRING(metrics_value("headgate_limit_capacity_tokens{limit=\"slow\"}"), "5", "limits of the config");
    OK_STRING(metrics_value("headgate_decides"), "1", "a daemon that is alone decides");
    OK(strncmp(ask("HEAD"), "HTTP/1.1 200 OK\r\n", 17) == 0 && strstr(answer, "# TYPE") == NULL,
       "HEAD has the head alone");
    end();
}

/* Whether the page has a row of a table, as a counter or as a gauge. */
static bool has_row(const char *row_name)
{
    char name[METRICS_LINE_BYTES];
    const size_t total = strncmp(row_name, "total_", 6) == 0 ? 6 : 0;
    size_t size = strlen(row_name);
    const bool time = strcmp(row_name + size - 3, "_ms") == 0 || strcmp(row_name + size - 3, "_ns") == 0;
    size -= time ? 3 : 0;
    (void)snprintf(name, sizeof name, "headgate_%.*s%s_total", (int)(size - total), row_name + total,
                   time ? "_seconds" : "");
    size = strlen(name);
    const bool found = metrics_has(name, size) != metrics_has(name, size - strlen("_total"));
    if (!found)
        printf("# %s is not there\n", name);
    return found;
}

static void test_tables(void)
{
    size_t row_count = 0, found = 0;
    begin();
    (void)metrics_parse(page());
#define X(name, help)                                                                                              \
    row_count++;                                                                                                   \
    found += has_row(#name);
    LISTENER_STATS(X)
    COMMANDS_STATS(X)
    NODE_STATS(X)
    TABLE_STATS(X)
#undef X
    OK_U64(found, row_count, "the page has all %zu rows of the tables", row_count);
    end();
}

static void test_escaping(void)
{
    begin();
    served.commands.region = "a\"b\\c\nd\re\xc3\xa9";
    OK_STRING(metrics_parse(page()), "", "a page with a strange name is as it should be");
    OK(strstr(answer, ",region=\"a\\\"b\\\\c\\nd?e??\"} 1\n") != NULL, "quotes, backslashes and ends of lines");
    end();
}

static void test_values(void)
{
    begin();
    OK(set_rules("rules:\n"
                 "- {id: few, service: a, by: user, rate: 1/m, burst: 2, overshoot: 0}\n"
                 "- {id: ghost, service: a, by: user, rate: 1/m, burst: 1, mode: shadow}\n"
                 "- {id: lenient, service: a, by: user, rate: 1/m, burst: 1, mode: soft}\n"),
       "rules");
    for (int i = 0; i < 5; i++)
        (void)served_ask("CHECK user=bob SERVICE a");
    OK_STRING(metrics_parse(page()), "", "the page with rules is as it should be");
#define RULE(id, outcome)                                                                                          \
    metrics_value("headgate_rule_decisions_total{service=\"a\",rule=\"" id "\",outcome=\"" outcome "\"}")
    OK_STRING(RULE("few", "allowed"), "2", "allowed");
    OK_STRING(RULE("few", "denied"), "3", "denied");
    OK_STRING(RULE("few", "shadow_denied"), "", "the rule is no shadow, and has no such series");
    OK(strtoul(RULE("ghost", "shadow_denied"), NULL, 10) > 0, "the other one is");
    OK_STRING(RULE("lenient", "over_limit"), "4", "and what is over a soft limit by itself");
    OK_STRING(RULE("lenient", "shadow_denied"), "", "which is no shadow");
    OK_STRING(metrics_value("headgate_admitted_requests_total"), "2", "requests allowed");
    OK_STRING(metrics_value("headgate_refused_requests_total"), "3", "requests refused");
    (void)served_ask("CHECK user=ann SERVICE a COST 3");
    (void)metrics_parse(page());
#define DECISIONS(outcome, reason)                                                                                 \
    metrics_value("headgate_decisions_total{outcome=\"" outcome "\",reason=\"" reason "\"}")
    OK_STRING(DECISIONS("allowed", "none"), "2", "by outcome");
    OK_STRING(DECISIONS("refused", "capacity"), "3", "and by reason");
    OK_STRING(DECISIONS("refused", "too_large"), "1", "each by itself");
    OK_STRING(DECISIONS("refused", "deny_list"), "0", "and all are there");
    OK_STRING(DECISIONS("would_refuse", "shadow"), "1", "what a shadow would have refused");
    OK_STRING(DECISIONS("would_refuse", "soft"), "1", "and a soft rule");
    OK_STRING(metrics_value("headgate_used_keys"), "3", "keys");
    OK_STRING(metrics_value("headgate_rules"), "3", "rules");
    OK(strstr(answer, "bob") == NULL, "no identity is told");
    end();
}

static void test_latency(void)
{
#define LATENCY(series) metrics_value("headgate_request_duration_seconds" series)
    begin();
    latencies_note(&served.commands.latencies, (const uint64_t[DOORS]){[DOOR_RESP] = 3}, 40000);
    latencies_note(&served.commands.latencies, (const uint64_t[DOORS]){[DOOR_RESP] = 5}, 2000000000);
    OK_STRING(metrics_parse(page()), "", "a page with a histogram is as it should be");
    OK_STRING(LATENCY("_bucket{protocol=\"resp\",le=\"0.000025\"}"), "0", "none was faster");
    OK_STRING(LATENCY("_bucket{protocol=\"resp\",le=\"0.00005\"}"), "3", "three requests took 40 us");
    OK_STRING(LATENCY("_bucket{protocol=\"resp\",le=\"1\"}"), "3", "a bucket has those before it");
    OK_STRING(LATENCY("_bucket{protocol=\"resp\",le=\"+Inf\"}"), "5", "the last one has all");
    OK_STRING(LATENCY("_count{protocol=\"resp\"}"), "5", "as the count says");
    OK_STRING(LATENCY("_sum{protocol=\"resp\"}"), "4.000120000", "the sum of them");
    OK_STRING(LATENCY("_count{protocol=\"grpc\"}"), "0", "other protocols had none");
    (void)served_ask("INFO latency");
    OK(served_told("latency_resp:requests=5,mean_us=800024,p50_us=50,p99_us=-1"), "INFO has the same");
    end();
}

static void test_bounds(void)
{
    begin();
    OK(set_rules(
           "rules:\n"
           "- {id: two, service: a, by: user, rate: 9/m, burst: 7, overshoot: 3, tiers: {pro: 90/m burst 70}}\n"
           "- {id: ghost, service: a, by: user, rate: 1/m, burst: 1, mode: shadow}\n"),
       "a rule with two amounts, and a shadow");
    OK_STRING(metrics_parse(page()), "", "a page with bounds is as it should be");
    OK_STRING(metrics_value("headgate_rule_overshoot_tokens{service=\"a\",rule=\"two\"}"), "3",
              "what the rule declares");
    OK_STRING(metrics_value("headgate_rule_worst_debt_tokens{service=\"a\",rule=\"two\"}"), "0",
              "beside what was measured");
    OK_U64(metrics_count("rule=\"ghost\"}"), 0, "a shadow has no bound");
    OK_STRING(metrics_value("headgate_time_seconds"), "1795219202.000", "the wall clock");
    end();
}

/* `rule_count` rules of one service, with names that begin so; each allows one request. */
static void fill(const char *service, const char *name, int rule_count, const char *mode)
{
    static char text[64 * 1024];
    size_t size = (size_t)snprintf(text, sizeof text, "rules:\n");
    for (int i = 0; i < rule_count; i++)
        size += (size_t)
            snprintf(text + size, sizeof text - size,
                     "- {id: %s%03d, service: %s, endpoint: /%d, by: user, rate: 1/m, burst: 1, mode: %s}\n", name,
                     i, service, i, mode);
    assert(size < sizeof text);
    OK(set_rules(text), "%d rules", rule_count);
    for (int i = 0; i < rule_count; i++) {
        char endpoint[16];
        (void)snprintf(endpoint, sizeof endpoint, "/%d", i);
        (void)ask_words("CHECK", "user=eve", "SERVICE", service, "ENDPOINT", endpoint, NULL);
    }
}

/* A sheet counts nothing by itself. */
static void test_sheets(void)
{
    begin();
    OK(set_rules("rules:\n- {id: own, service: o, by: org, rate: 9/m}\n"
                 "- {id: own.s, service: o, by: org, overrides_of: own, overrides: [{for: a, amount: 5/m}]}\n"),
       "a rule with a sheet");
    OK_STRING(metrics_parse(page()), "", "a page with it is as it should be");
    OK_U64(metrics_count("rule=\"own\",outcome="), 2, "the rule has series");
    OK_U64(metrics_count("own.s"), 0, "and its sheet none");
    (void)served_ask("INFO rules");
    OK(served_told("rule_o/own:") && !served_told("own.s"), "nor has it figures in INFO");
    end();
}

static void test_many_rules(void)
{
    begin();
    fill("s", "r", 200, "enforce");
    (void)metrics_parse(page());
    OK_U64(metrics_count("outcome=\"allowed\"}"), 200, "so many rules have series of their own");
    OK_U64(metrics_count("(others)"), 2, "and there are no others, but of bounds, which 100 have");
    fill("t", "r", 30, "enforce");
    OK_STRING(metrics_parse(page()), "", "with more rules, the page is as it should be");
    OK_U64(metrics_count("outcome=\"allowed\"}"), 201, "there is one series more,");
    OK_U64(metrics_count("service=\"(others)\",rule=\"(others)\""), 6, "of the others");
    OK_U64(metrics_sum("headgate_rule_decisions_total{service=\"(others)\"", "allowed"), 30,
           "which has their sums");
    OK_STRING(metrics_value("headgate_metrics_truncated"), "0", "nothing is left out");
    end();
}

#define LONG "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmno"

static void test_long_names(void)
{
    begin();
    for (int i = 0; i < 8; i++) {
        const char service[] = {(char)('a' + i), '\0'};
        char name[64];
        (void)snprintf(name, sizeof name, "%.60s%s", LONG, service);
        fill(name, &LONG[1], 25, "shadow");
    }
    OK_STRING(metrics_parse(page()), "", "a page that is full has whole lines");
    OK_STRING(metrics_value("headgate_metrics_truncated"), "1", "and says that it is full");
    const size_t shown = metrics_count("outcome=\"allowed\"}");
    OK(shown > 100 && shown < 200, "%zu rules have room", shown);
    OK_U64(metrics_sum("headgate_rule_decisions_total", "\"allowed\""), 200, "the others are in a sum");
    OK(strlen(strstr(answer, "\r\n\r\n")) <= HTTP_LONG_BYTES + 4, "the page keeps its bound");
    end();
}

int main(void)
{
    test_parser();
    test_rows();
    test_room();
    test_page();
    test_tables();
    test_escaping();
    test_values();
    test_latency();
    test_bounds();
    test_sheets();
    test_many_rules();
    test_long_names();
    return tap_done();
}
