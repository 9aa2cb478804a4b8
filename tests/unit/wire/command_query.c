/*
 * What CHECK and its kin are told: ids and options.
 */
#include "wire/command_query.h"

#include "tests/lib/tap.h"
#include "wire/command.h"

#include <assert.h>

enum { ALL = QUERY_COST | QUERY_WAIT | QUERY_VERBOSE, NAMED = QUERY_COST | QUERY_COSTS };

static struct resp_command command;

/* Parses an inline line into `command`. */
static void words(const char *line)
{
    size_t consumed;
    const char *error;
    enum resp_status status = resp_parse(bytes_of(line), &command, &consumed, &error);
    assert(status == RESP_COMMAND);
}

static int shown(const char *line)
{
    return (int)strlen(line) - 1;
}

/* What was understood, as one text: "user=alice ip=1 service=s ... cost=1 priority=1 wait". */
static const char *told(const struct command_query *query)
{
    static char text[2048];
    size_t size = 0;
    const struct {
        const char *name;
        struct bytes value;
    } selectors[] = {{"service", query->service},
                     {"endpoint", query->endpoint},
                     {"tier", query->tier},
                     {"rule", query->rule}};
    for (uint32_t i = 0; i < query->id_count; i++)
        size +=
            (size_t)snprintf(text + size, sizeof text - size, "%.*s=%.*s ", (int)query->id[i].dimension.size,
                             query->id[i].dimension.data, (int)query->id[i].value.size, query->id[i].value.data);
    for (size_t i = 0; i < sizeof selectors / sizeof selectors[0]; i++)
        if (selectors[i].value.size > 0)
            size += (size_t)snprintf(text + size, sizeof text - size, "%s:%.*s ", selectors[i].name,
                                     (int)selectors[i].value.size, selectors[i].value.data);
    if (query->ttl_ms > 0)
        size += (size_t)snprintf(text + size, sizeof text - size, "ttl:%llu ", (unsigned long long)query->ttl_ms);
    for (uint32_t i = 0; i < query->cost_count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%.*s:%llu ", (int)query->named_cost[i].name.size,
                                 query->named_cost[i].name.data, (unsigned long long)query->named_cost[i].tokens);
    (void)snprintf(text + size, sizeof text - size, "cost:%llu priority:%d%s%s", (unsigned long long)query->cost,
                   (int)query->priority, query->wait ? " wait" : "", query->verbose ? " verbose" : "");
    return text;
}

static const struct {
    const char *line;
    unsigned takes;
    const char *told;
} good[] = {
    {"CHECK alice\n", ALL, "user=alice cost:1 priority:1"},
    {"CHECK user=alice\n", ALL, "user=alice cost:1 priority:1"},
    {"CHECK ip=1.2.3.4 COST 5\n", ALL, "ip=1.2.3.4 cost:5 priority:1"},
    {"CHECK a PRIORITY HIGH\n", ALL, "user=a cost:1 priority:2"},
    {"CHECK a=b=c rule slow\n", ALL, "a=b=c rule:slow cost:1 priority:1"},
    {"CHECK a RULE slow COST 7\n", ALL, "user=a rule:slow cost:7 priority:1"},
    {"CHECK COST COST 7\n", ALL, "user=COST cost:7 priority:1"},
    {"CHECK cost=COST COST 0\n", ALL, "cost=COST cost:0 priority:1"},
    {"CHECK 12345678901234567890123456789012=x\n", ALL, "12345678901234567890123456789012=x cost:1 priority:1"},
    {"CHECK ip=1 user=2 api_key=3 d=4 e=5 f=6 g=7 h=8\n", ALL,
     "ip=1 user=2 api_key=3 d=4 e=5 f=6 g=7 h=8 cost:1 priority:1"},
    {"CHECK ip=1.2.3.4 alice SERVICE pay ENDPOINT /v1/x TIER pro PRIORITY critical COST 2 WAIT VERBOSE\n", ALL,
     "ip=1.2.3.4 user=alice service:pay endpoint:/v1/x tier:pro cost:2 priority:3 wait verbose"},
    {"CHECK a VERBOSE WAIT priority LOW\n", ALL, "user=a cost:1 priority:0 wait verbose"},
    {"CHECK a SERVICE SERVICE TIER WAIT\n", ALL, "user=a service:SERVICE tier:WAIT cost:1 priority:1"},
    {"RESERVE a TTL 30000 COST 9\n", QUERY_COST | QUERY_TTL, "user=a ttl:30000 cost:9 priority:1"},
    {"RESET wait=1 TIER x\n", 0, "wait=1 tier:x cost:1 priority:1"},
    {"CHECK a COST bytes=1500\n", NAMED, "user=a bytes:1500 cost:1 priority:1"},
    {"CHECK a COST b.y-t_e5=0 cost 2 COST rows=1000000000000\n", NAMED,
     "user=a b.y-t_e5:0 rows:1000000000000 cost:2 priority:1"},
    {"CHECK a COST 12345678901234567890123456789012=1 COST b=1 COST c=1 COST d=1\n", NAMED,
     "user=a 12345678901234567890123456789012:1 b:1 c:1 d:1 cost:1 priority:1"},
};

#define EXPECTED "expected one of SERVICE, ENDPOINT, TIER, PRIORITY, RULE"

static const struct {
    const char *line;
    unsigned takes;
    const char *error;
} bad[] = {
    {"CHECK =alice\n", ALL, "nothing before '=' in the id: expected dimension=value, e.g. user=alice"},
    {"CHECK user=\n", ALL, "empty key: expected 1 to 256 bytes"},
    {"CHECK a ip=\n", ALL, "empty key: expected 1 to 256 bytes"},
    {"CHECK \"\"\n", ALL, "empty key: expected 1 to 256 bytes"},
    {"CHECK 123456789012345678901234567890123=x\n", ALL, "dimension of 33 bytes: expected at most 32"},
    {"CHECK http://x?a=b\n", ALL,
     "dimension 'http://x?a' has characters other than letters, digits, '_', '-' and '.': "
     "expected dimension=value, e.g. user=a=b for the user a=b"},
    {"CHECK a b\n", ALL, "unknown option 'b': " EXPECTED ", COST, WAIT, VERBOSE"},
    {"CHECK user=a user=b\n", ALL, "'user=b' is a second id of dimension 'user': expected each dimension once"},
    {"CHECK a b=c b=d\n", ALL, "'b=d' is a second id of dimension 'b': expected each dimension once"},
    {"CHECK a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8 i=9\n", ALL, "too many ids: expected at most 8"},
    {"CHECK a COST 1 b=c\n", ALL, "id 'b=c' after the options: expected all ids first"},
    {"CHECK a COST 1 COTS 2\n", ALL, "unknown option 'COTS': " EXPECTED ", COST, WAIT, VERBOSE"},
    {"CHECK a COST\n", ALL, "nothing after COST: expected its value"},
    {"CHECK a WAIT RULE\n", ALL, "nothing after RULE: expected its value"},
    {"CHECK a COST 1 COST 2\n", ALL, "COST twice: expected it once"},
    {"CHECK a COST b=1 COST 1 COST 2\n", NAMED, "COST twice: expected it once"},
    {"CHECK a COST b=1 COST b=2\n", NAMED, "a second cost of 'b': expected each name once"},
    {"CHECK a COST a=1 COST b=1 COST c=1 COST d=1 COST e=1\n", NAMED, "too many costs: expected at most 4 names"},
    {"CHECK a COST =1\n", NAMED,
     "'' is no name of a cost: expected 1 to 32 letters, digits, '_', '-' and '.', e.g. bytes"},
    {"CHECK a COST by/tes=1\n", NAMED,
     "'by/tes' is no name of a cost: expected 1 to 32 letters, digits, '_', '-' and '.', e.g. bytes"},
    {"CHECK a COST 123456789012345678901234567890123=1\n", NAMED,
     "'123456789012345678901234567890123' is no name of a cost: expected 1 to 32 letters, digits, '_', '-' and "
     "'.', e.g. bytes"},
    {"CHECK a COST b=\n", NAMED,
     "cost '' is out of range: expected a whole number of tokens from 0 to 1000000000000"},
    {"CHECK a COST b=1=2\n", NAMED,
     "cost '1=2' is out of range: expected a whole number of tokens from 0 to 1000000000000"},
    {"RESERVE a COST bytes=1\n", QUERY_COST | QUERY_TTL,
     "COST 'bytes=1' names what is counted: expected a number, which is all that counts here"},
    {"CHECK a WAIT WAIT\n", ALL, "WAIT twice: expected it once"},
    {"CHECK a RULE \"\"\n", ALL, "RULE of 0 bytes: expected 1 to 256"},
    {"CHECK a COST -7\n", ALL,
     "cost '-7' is out of range: expected a whole number of tokens from 0 to 1000000000000"},
    {"CHECK a PRIORITY urgent\n", ALL, "PRIORITY is 'urgent': expected low, normal, high or critical"},
    {"CHECK a TIER x TTL 5\n", ALL, "unknown option 'TTL': " EXPECTED ", COST, WAIT, VERBOSE"},
    {"EXPLAIN a RULE x COST 1\n", 0, "unknown option 'COST': " EXPECTED},
    {"RESERVE a COST 1\n", QUERY_COST | QUERY_TTL,
     "no TTL: expected TTL and milliseconds, after which what is reserved comes back"},
    {"RESERVE a TTL 0\n", QUERY_COST | QUERY_TTL, "TTL is '0': expected milliseconds, 1 or more"},
    {"RESERVE a TTL 1h\n", QUERY_COST | QUERY_TTL, "TTL is '1h': expected milliseconds, 1 or more"},
};

/* The longest selector, and one more: of an endpoint and a tier the begin counts, others are wrong. */
static void test_long(void)
{
    static const char *const begins[] = {"CHECK a ENDPOINT ", "CHECK a TIER ", "CHECK a SERVICE "};
    char line[600], error[COMMAND_ERROR_BYTES] = "";
    struct command_query query;
    for (size_t i = 0; i < 3; i++)
        for (size_t size = COMMAND_SELECTOR_MAX_BYTES; size <= COMMAND_SELECTOR_MAX_BYTES + 1; size++) {
            const size_t begin = strlen(begins[i]);
            memset(line, 'e', sizeof line);
            memcpy(line, begins[i], begin);
            memcpy(line + begin + size, "\n", 2);
            words(line);
            bool fine = command_parse_query(&command, ALL, &query, error);
            OK(fine == (i < 2 || size == COMMAND_SELECTOR_MAX_BYTES), "%s of %zu bytes", begins[i], size);
            const struct bytes said[] = {query.endpoint, query.tier, query.service};
            OK(!fine || said[i].size == COMMAND_SELECTOR_MAX_BYTES, "so much of it counts");
        }
    OK_STRING(error, "SERVICE of 257 bytes: expected 1 to 256", "is told");
}

/* Whatever stands where an option may: it is one if it is an option's name in any case, and nothing else is. */
static void test_names(void)
{
    static const char *const names[] = {"service", "endpoint", "tier", "priority",
                                        "rule",    "cost",     "wait", "verbose"};
    char word[12], error[COMMAND_ERROR_BYTES];
    struct command_query query;
    unsigned wrong = 0, found = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (size_t at = 0; at <= strlen(names[i]); at++)
            for (unsigned c = 0; c < 256; c++) {
                size_t size = strlen(names[i]) + (at == strlen(names[i]));
                memcpy(word, names[i], size);
                word[at] = (char)c;
                const char *value = i == 3 ? "low" : "1";
                command.args[2] = (struct bytes){word, size};
                command.args[3] = bytes_of(value);
                command.count = names[i][0] == 'w' || names[i][0] == 'v' ? 3 : 4;
                bool fine = command_parse_query(&command, ALL, &query, error), is_name = false;
                for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
                    is_name |= word_is(command.args[2], names[k]);
                wrong += fine != is_name && (command.count == 4 || memchr(word, '=', size) == NULL);
                found += fine;
            }
    OK(wrong == 0 && found > 80, "names of options in any case, and no other words: %u wrong", wrong);
}

int main(void)
{
    char error[COMMAND_ERROR_BYTES] = "";
    struct command_query query;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        words(good[i].line);
        bool fine = command_parse_query(&command, good[i].takes, &query, error);
        OK(fine, "understood: %.*s", shown(good[i].line), good[i].line);
        OK_STRING(fine ? told(&query) : error, good[i].told, "as it was meant");
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        words(bad[i].line);
        OK(!command_parse_query(&command, bad[i].takes, &query, error), "refused: %.*s", shown(bad[i].line),
           bad[i].line);
        OK_STRING(error, bad[i].error, "and told why");
    }
    test_long();
    words("CHECK a b\n");
    test_names();
    return tap_done();
}
