/*
 * What a gateway's request says: its query, fields of its head, its path.
 */
#include "http/words.h"

#include "tests/lib/tap.h"

#include <stdio.h>
#include <string.h>

static struct http_message message;
static struct http_settings settings;
static const struct hash_key hash_key = {{1, 2, 3}};

static void add_source(const char *gives, const char *header)
{
    struct http_source *source = &settings.source[settings.source_count++];
    (void)snprintf(source->gives, sizeof source->gives, "%s", gives);
    (void)snprintf(source->header, sizeof source->header, "%s", header);
}

static void add_header(const char *name, const char *value)
{
    message.header[message.header_count++] = (struct http_header){bytes_of(name), bytes_of(value)};
}

/* "user=alice service=s ... cost=1 priority=1", or "! field: error". */
static const char *told(const char *query)
{
    static char text[1024];
    char room[1024];
    struct output decoded = output_over(room, sizeof room);
    struct command_query filled;
    struct http_words words;
    http_words_init(&words, &filled, &hash_key, settings.endpoint_spelling, &decoded);
    if (!http_words_add_query(&words, bytes_of(query)) || !http_words_add_fields(&words, &message, &settings) ||
        !http_words_end(&words)) {
        (void)snprintf(text, sizeof text, "! %s: %s", words.field, words.error);
        return text;
    }
    size_t size = 0;
    const struct command_query *said = &filled;
    for (uint32_t i = 0; i < said->id_count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%.*s=%.*s ", (int)said->id[i].dimension.size,
                                 said->id[i].dimension.data, (int)said->id[i].value.size, said->id[i].value.data);
    const struct bytes selectors[] = {said->service, said->endpoint, said->tier, said->rule};
    for (size_t i = 0; i < 4; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%.*s|", (int)selectors[i].size,
                                 selectors[i].size > 0 ? selectors[i].data : "");
    for (uint32_t i = 0; i < said->cost_count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%.*s:%llu|", (int)said->named_cost[i].name.size,
                                 said->named_cost[i].name.data, (unsigned long long)said->named_cost[i].tokens);
    (void)snprintf(text + size, sizeof text - size, "%llu %d %u", (unsigned long long)said->cost,
                   (int)said->priority, words.denied_status);
    return text;
}

static void test_query(void)
{
    OK_STRING(told("user=alice"), "user=alice ||||1 1 0", "a name is a dimension");
    OK_STRING(told("ip=1.2.3.4&user_id=7&service_id=shop&endpoint=/v1/x&tier=pro&rule=r&cost=3&priority=high"),
              "ip=1.2.3.4 user_id=7 shop|/v1/x|pro|r|3 2 0", "but for the names of options");
    OK_STRING(told("user=a&denied=403"), "user=a ||||1 1 403", "a gateway may want another status");
    OK_STRING(told("user=a&patience_ms=5001"),
              "! patience_ms: PATIENCE is '5001': expected milliseconds from 0 to 5000", "patience has its bound");
    OK_STRING(told("user=a&cost.bytes=1500&cost=2&cost.rows=3"), "user=a ||||bytes:1500|rows:3|2 1 0",
              "a name behind 'cost.' is what rules count");
    OK_STRING(told("user=a&cost.bytes=x"),
              "! cost.bytes: cost 'x' is out of range: expected a whole number of tokens from 0 to 1000000000000",
              "a wrong cost");
    OK_STRING(told("user=a&cost.b=1&cost.b=1"), "! cost.b: a second cost of 'b': expected each name once", "twice");
    OK_STRING(told("user=a%20b%2Bc+d&&"), "user=a b+c d ||||1 1 0", "values are decoded");
    OK_STRING(told("user=a&ip=&endpoint="), "user=a ||||1 1 0", "an empty value is none");
    OK_STRING(told("user=a&user=b"), "! user: a second id of dimension 'user': expected each dimension once",
              "nothing is said twice");
    OK_STRING(told("user=a&cost=1&cost=1"), "! cost: said twice: expected it once", "nor an option");
    OK_STRING(told("user=a&denied=403&denied=429"), "! denied: denied twice: expected it once", "nor the status");
    OK_STRING(told("user=a&denied=200"), "! denied: denied is a status: expected 429 or 403", "which refuses");
    OK_STRING(told("user=%4"), "! user: '%' in the query: expected two hexadecimal digits behind it",
              "half an escape");
    OK_STRING(told("user=%4g"), "! user: '%' in the query: expected two hexadecimal digits behind it", "no escape");
    OK_STRING(told("user"), "! user: a name of the query without '=': expected name=value", "no value");
    OK_STRING(told(""), "! : no identifier: expected one at least, e.g. user=alice", "nothing");
    OK_STRING(told("cost=1"), "! : no identifier: expected one at least, e.g. user=alice", "nobody");
    OK_STRING(told("user=a&priority=x"), "! priority: PRIORITY is 'x': expected low, normal, high or critical",
              "a wrong value is told with its name");
}

static void test_fields(void)
{
    add_source("ip", "x-forwarded-for");
    add_source("user", "x-user");
    add_source("cost.bytes", "content-length");
    add_source("endpoint", "x-original-uri");
    add_header("X-User", "alice");
    OK_STRING(told("tier=pro"), "user=alice ||pro||1 1 0", "the field of a head, in any case, is a dimension");
    OK_STRING(told("user=bob"), "user=bob ||||1 1 0", "the query goes before it");
    add_header("X-Forwarded-For", "6.6.6.6, 1.2.3.4 ");
    OK_STRING(told(""), "ip=1.2.3.4 user=alice ||||1 1 0", "of addresses, the one that the gateway saw itself");
    add_header("X-Forwarded-For", "7.7.7.7");
    OK_STRING(told(""), "ip=7.7.7.7 user=alice ||||1 1 0", "also where they come in several fields");
    message.header_count--;
    add_header("X-Original-URI", "/v1/checkout?card=1");
    OK_STRING(told(""), "ip=1.2.3.4 user=alice |/v1/checkout|||1 1 0", "an endpoint has no query");
    add_header("x-user", "bob");
    OK_STRING(told(""), "! x-user: the header stands there twice: expected it once, from the gateway",
              "nobody is two clients");
    message.header_count--;
    add_header("X-Other", "x");
    OK_STRING(told("endpoint=/"), "ip=1.2.3.4 user=alice |/|||1 1 0", "what the config does not name says nothing");
    add_header("Content-Length", "70");
    OK_STRING(told("endpoint=/"), "ip=1.2.3.4 user=alice |/|||bytes:70|1 1 0", "a header may say a cost");
    OK_STRING(told("endpoint=/&cost.bytes=5"), "ip=1.2.3.4 user=alice |/|||bytes:5|1 1 0", "before it the query");
}

/* Wherever an endpoint comes from, a path has one spelling. */
static void test_spelling(void)
{
    settings = (struct http_settings){0};
    message.header_count = 0;
    add_source("user", "x-user");
    add_source("path", "x-path");
    add_source("endpoint", "x-original-uri");
    add_header("X-User", "a");
    add_header("X-Path", "//v1//%6f");
    add_header("X-Original-URI", "//v1/./check%6fut?card=1");
    OK_STRING(told(""), "user=a path=//v1//%6f |/v1/checkout|||1 1 0", "of a field, but not of an identifier");
    OK_STRING(told("endpoint=/a/%252e./b%23c"), "user=a path=//v1//%6f |/b|||1 1 0", "of the query, decoded once");
    OK_STRING(told("endpoint=orders.%252e//x"), "user=a path=//v1//%6f |orders.%2e//x|||1 1 0",
              "a name is no path");
    OK_STRING(told("endpoint=%3F"), "user=a path=//v1//%6f |/v1/checkout|||1 1 0", "what has no path says nothing");
    settings.endpoint_spelling = PATH_IGNORE_CASE;
    OK_STRING(told("endpoint=/A%252Fb"), "user=a path=//v1//%6f |/a%2Fb|||1 1 0", "as the config says");
    settings.endpoint_spelling = PATH_AS_WRITTEN;
    OK_STRING(told(""), "user=a path=//v1//%6f |//v1/./check%6fut|||1 1 0", "or as it is written");
}

/* What the client of a gateway may choose is no error, however long it is. */
static void test_long(void)
{
    char long_value[2000], query[2100], first[1024];
    memset(long_value, 'k', sizeof long_value - 1);
    long_value[sizeof long_value - 1] = '\0';
    settings = (struct http_settings){0};
    message.header_count = 0;
    add_source("api_key", "x-api-key");
    add_source("endpoint", "x-original-uri");
    add_header("X-Api-Key", long_value);
    (void)snprintf(first, sizeof first, "%s", told(""));
    OK(strncmp(first, "api_key=hash:", 13) == 0 && first[13 + 32] == ' ', "a long value is told by its hash");
    (void)snprintf(query, sizeof query, "api_key=%s", long_value);
    OK_STRING(told(query), first, "the same one wherever it stands");
    long_value[1500]++;
    OK(strcmp(told(""), first) != 0, "and another one by another");
    long_value[COMMAND_VALUE_MAX_BYTES] = '\0';
    message.header[0].value = bytes_of(long_value);
    OK(strncmp(told(""), "api_key=kkkk", 12) == 0, "one that just fits is told itself");
    message.header[0].value = bytes_of("a");
    long_value[COMMAND_VALUE_MAX_BYTES] = 'k';
    long_value[0] = '/';
    add_header("X-Original-URI", long_value);
    (void)snprintf(first, sizeof first, "api_key=a |%.*s|||1 1 0", COMMAND_SELECTOR_MAX_BYTES, long_value);
    OK_STRING(told(""), first, "of a long path the begin counts, which is longer than any pattern");
}

int main(void)
{
    test_query();
    test_fields();
    test_spelling();
    test_long();
    return tap_done();
}
