#include "rules/rule_value.h"

#include "base/random.h"
#include "tests/lib/tap.h"

static void moments(void)
{
    static const struct {
        const char *text;
        uint64_t at_s;
    } cases[] = {
        {"1971-01-01", 31536000},
        {"2000-02-29", 951782400},
        {"2000-03-01", 951868800},
        {"2027-01-31", 1801353600},
        {"2100-02-28", 4107456000},
        {"2100-03-01", 4107542400},
        {"9999-12-31", 253402214400},
        {"2027-01-31T12:30:01Z", 1801398601},
        {"1999-12-31T23:59:59Z", 946684799},
        {"9999-12-31T23:59:59Z", 253402300799},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t at_s = 0;
        char text[32];
        OK(rule_moment_parse(bytes_of(cases[i].text), &at_s) && at_s == cases[i].at_s, "%s is %" PRIu64,
           cases[i].text, cases[i].at_s);
        OK_STRING(rule_moment_text(at_s, text, sizeof text), cases[i].text, "... and back");
    }
    static const char *const wrong[] = {"",
                                        "2027",
                                        "2027-13-01",
                                        "2027-00-01",
                                        "2027-01-00",
                                        "2027-02-29",
                                        "1970-12-31",
                                        "2100-02-29",
                                        "2027-1-1",
                                        "2027-01-01 12:00:00Z",
                                        "2027-01-01T24:00:00Z",
                                        "2027-01-01T12:00:00",
                                        "2027-01-01T12:00Z",
                                        "2027-01-01T12:60:00Z",
                                        "2027-01-01T12:00:00Zx",
                                        "+027-01-01"};
    uint64_t at_s = 7;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        OK(!rule_moment_parse(bytes_of(wrong[i]), &at_s) && at_s == 7, "'%s' is no moment", wrong[i]);
    struct random random;
    random_seed(&random, 3);
    unsigned differ = 0;
    for (int i = 0; i < 100000; i++) {
        uint64_t from = 31536000 + random_below(&random, 253370764800), back = 0;
        char text[32];
        differ += !rule_moment_parse(bytes_of(rule_moment_text(from, text, sizeof text)), &back) || back != from;
    }
    OK_U64(differ, 0, "any second from 1971 to 9999 is written and read as itself");
}

static void amounts(void)
{
    static const struct {
        enum rule_algorithm algorithm;
        struct rule_amount of;
        const char *text, *back; /* back NULL: the same */
    } cases[] = {
        {RULE_TOKEN_BUCKET, {0}, "100/m", NULL},
        {RULE_TOKEN_BUCKET, {0}, "100/m burst 200", NULL},
        {RULE_LEAKY_BUCKET, {0}, "100/60s burst 100", "100/m"},
        {RULE_LEAKY_BUCKET, {0}, "1,000/1.5h burst 1_000_000", "1000/1.5h burst 1000000"},
        {RULE_FIXED_WINDOW, {.period_ns = 60000000000}, "500", NULL},
        {RULE_FIXED_WINDOW, {.period_ns = 60000000000}, "500/m", "500"},
        {RULE_FIXED_WINDOW, {.period_ns = 60000000000}, "500/s", NULL},
        {RULE_SLIDING_LOG, {.unlimited = true}, "500/s", NULL},
        {RULE_QUOTA, {.unit = RULE_MONTH}, "500", NULL},
        {RULE_QUOTA, {.unit = RULE_MONTH}, "500/month", "500"},
        {RULE_QUOTA, {.unit = RULE_MONTH}, "500/day", NULL},
        {RULE_QUOTA, {.unlimited = true}, "500/hour", NULL},
        {RULE_QUOTA, {0}, "unlimited", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rule_amount amount;
        char text[RULE_AMOUNT_TEXT_BYTES];
        OK(rule_amount_parse(cases[i].algorithm, &cases[i].of, bytes_of(cases[i].text), &amount), "%s",
           cases[i].text);
        OK_STRING(rule_amount_text(cases[i].algorithm, &cases[i].of, &amount, text, sizeof text),
                  cases[i].back ? cases[i].back : cases[i].text, "... and back");
    }
    static const struct {
        enum rule_algorithm algorithm;
        struct rule_amount of;
        const char *text;
    } wrong[] = {
        {RULE_TOKEN_BUCKET, {0}, ""},
        {RULE_TOKEN_BUCKET, {0}, "500"},
        {RULE_TOKEN_BUCKET, {0}, "500/"},
        {RULE_TOKEN_BUCKET, {0}, "500/m burst"},
        {RULE_TOKEN_BUCKET, {0}, "500/m  burst 7"},
        {RULE_TOKEN_BUCKET, {0}, "500/m burst x"},
        {RULE_TOKEN_BUCKET, {0}, " burst 7"},
        {RULE_FIXED_WINDOW, {.unlimited = true}, "500"},
        {RULE_FIXED_WINDOW, {.period_ns = 1}, "5x"},
        {RULE_FIXED_WINDOW, {.period_ns = 1}, "5/m burst 7"},
        {RULE_QUOTA, {.unlimited = true}, "500"},
        {RULE_QUOTA, {0}, "500/1h"},
        {RULE_QUOTA, {0}, "/hour"},
        {RULE_QUOTA, {0}, "Unlimited"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct rule_amount amount = {.limit = 77};
        OK(!rule_amount_parse(wrong[i].algorithm, &wrong[i].of, bytes_of(wrong[i].text), &amount) &&
               amount.limit == 77,
           "'%s' is no amount", wrong[i].text);
    }
}

static void others(void)
{
    char text[160];
    OK_STRING(rule_percent_text(0, text, sizeof text), "0%", "nothing");
    OK_STRING(rule_percent_text(1, text, sizeof text), "0.0001%", "a millionth");
    OK_STRING(rule_percent_text(125000, text, sizeof text), "12.5%", "an eighth");
    OK_STRING(rule_percent_text(10000000, text, sizeof text), "1000%", "ten times");
    OK_STRING(rule_duration_text(90001000000, text, sizeof text), "90.001s", "a duration");
    OK_STRING(rule_duration_text(60000000000, text, sizeof text), "1m", "a minute");
    OK_STRING(rule_choices_text(&rule_modes, text, sizeof text), "enforce, soft, shadow or off",
              "choices as a sentence");
    OK_STRING(rule_choices_text(&rule_modes, text, 10), "enforce, ", "... cut where there is no room");
    OK(rule_choice(&rule_modes, bytes_of("off")) == RULE_OFF && rule_choice(&rule_modes, bytes_of("of")) == -1,
       "a choice is its whole name");
}

int main(void)
{
    moments();
    amounts();
    others();
    return tap_done();
}
