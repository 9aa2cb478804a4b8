#include "base/units.h"
#include "base/random.h"
#include "tests/lib/tap.h"

struct example {
    const char *text;
    uint64_t value;
};

static void accepts(const char *what, bool (*parse)(struct bytes, uint64_t *), const struct example *example)
{
    for (; example->text; example++) {
        uint64_t value = 1;
        OK(parse(bytes_of(example->text), &value), "%s \"%s\" is accepted", what, example->text);
        OK_U64(value, example->value, "... as %" PRIu64, example->value);
    }
}

static void refuses(const char *what, bool (*parse)(struct bytes, uint64_t *), const char *const *text)
{
    for (; *text; text++) {
        uint64_t value = 77;
        bool refused = !parse(bytes_of(*text), &value);
        OK(refused && value == 77, "%s \"%s\" is refused, the result untouched", what, *text);
    }
}

static void durations(void)
{
    accepts("duration", units_parse_duration,
            (const struct example[]){{"100ms", 100000000},
                                     {"1.5s", 1500000000},
                                     {"5m", 300000000000},
                                     {"2h", 7200000000000},
                                     {"7d", 604800000000000},
                                     {"250us", 250000},
                                     {"10ns", 10},
                                     {"1.5 ms", 1500000},
                                     {"0", 0},
                                     {"0s", 0},
                                     {"1.50000000000000000000000000s", 1500000000},
                                     {"0.000000001s", 1},
                                     {"18446744073709551615ns", UINT64_MAX},
                                     {"18446744073.709551615s", UINT64_MAX},
                                     {NULL, 0}});
    refuses("duration", units_parse_duration,
            (const char *const[]){"",
                                  " ",
                                  "s",
                                  "5",
                                  "-1s",
                                  "+1s",
                                  "1 s ",
                                  "1  s",
                                  " 1s",
                                  "1.s",
                                  ".5s",
                                  "1.5ns",
                                  "1e3s",
                                  "1S",
                                  "1ss",
                                  "18446744073709551616ns",
                                  "18446744073.709551616s",
                                  "0.0000000001s",
                                  "213504d",
                                  "99999999999999999999d",
                                  "1,000s",
                                  NULL});
}

static void sizes(void)
{
    accepts("size", units_parse_size,
            (const struct example[]){{"64MiB", 67108864},
                                     {"1MB", 1000000},
                                     {"4096B", 4096},
                                     {"4096", 4096},
                                     {"1.5 GiB", 1610612736},
                                     {"2kB", 2000},
                                     {"0.5KiB", 512},
                                     {"16777215TiB", 16777215ull << 40},
                                     {NULL, 0}});
    refuses("size", units_parse_size,
            (const char *const[]){"", "MiB", "1M", "1.5B", "0.3KiB", "16777216TiB", "1mib", "-1", "1 ", "1.5",
                                  NULL});
}

static void counts(void)
{
    accepts("count", units_parse_count,
            (const struct example[]){{"1048576", 1048576},
                                     {"1,048,576", 1048576},
                                     {"1_048_576", 1048576},
                                     {"0", 0},
                                     {"18446744073709551615", UINT64_MAX},
                                     {"18,446,744,073,709,551,615", UINT64_MAX},
                                     {NULL, 0}});
    refuses("count", units_parse_count,
            (const char *const[]){"", ",", "1M", "1.0", "1,5", "1,0485", "1048,576", "1,048_576", ",100", "100,",
                                  "1,,000", "-1", " 1", "18446744073709551616", NULL});
}

static void percents(void)
{
    accepts("percent", units_parse_percent,
            (const struct example[]){{"20%", 200000},
                                     {"0.5%", 5000},
                                     {"100%", 1000000},
                                     {"0%", 0},
                                     {"250 %", 2500000},
                                     {"0.0001%", 1},
                                     {NULL, 0}});
    refuses("percent", units_parse_percent,
            (const char *const[]){"", "%", "20", "20%%", "-1%", "0.00001%", "99999999999999999999%",
                                  "18446744073709551615%", NULL});
}

static void rates(void)
{
    static const struct {
        const char *text;
        uint64_t tokens, period_ns;
        const char *formatted;
    } good[] = {
        {"100/s", 100, 1000000000, "100/s"},
        {"6000/m", 6000, 60000000000, "6000/m"},
        {"5/10s", 5, 10000000000, "5/10s"},
        {"1/d", 1, 86400000000000, "1/d"},
        {"1,000/1.5h", 1000, 5400000000000, "1000/1.5h"},
        {"3/1000ms", 3, 1000000000, "3/s"},
        {"7/ns", 7, 1, "7/ns"},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint64_t tokens = 0, period_ns = 0;
        char text[UNITS_TEXT_BYTES];
        bool parsed = units_parse_rate(bytes_of(good[i].text), &tokens, &period_ns);
        OK(parsed && tokens == good[i].tokens && period_ns == good[i].period_ns, "rate \"%s\"", good[i].text);
        OK_STRING(units_format_rate(text, sizeof text, tokens, period_ns), good[i].formatted, "... is written %s",
                  good[i].formatted);
    }
    static const char *const bad[] = {"",      "/",     "100",     "100/",  "/s",   "100/0s",
                                      "100/0", "1.5/s", "100/s/s", "100/x", "-1/s", NULL};
    for (const char *const *text = bad; *text; text++) {
        uint64_t tokens = 7, period_ns = 7;
        bool refused = !units_parse_rate(bytes_of(*text), &tokens, &period_ns);
        OK(refused && tokens == 7 && period_ns == 7, "rate \"%s\" is refused", *text);
    }
}

static void writes(const char *(*format)(char *, size_t, uint64_t), const struct example *example)
{
    for (; example->text; example++) {
        char text[UNITS_TEXT_BYTES];
        OK_STRING(format(text, sizeof text, example->value), example->text, "%" PRIu64 " is written %s",
                  example->value, example->text);
    }
}

static void formats(void)
{
    writes(units_format_count, (const struct example[]){{"0", 0},
                                                        {"999", 999},
                                                        {"1,000", 1000},
                                                        {"1,048,576", 1048576},
                                                        {"18,446,744,073,709,551,615", UINT64_MAX},
                                                        {NULL, 0}});
    writes(units_format_size, (const struct example[]){{"0 B", 0},
                                                       {"64 MiB", 64 << 20},
                                                       {"1.5 KiB", 1536},
                                                       {"1025 B", 1025},
                                                       {"1 MB", 1000000},
                                                       {"18446744073709551615 B", UINT64_MAX},
                                                       {NULL, 0}});
    writes(units_format_duration, (const struct example[]){{"0 ns", 0},
                                                           {"1.5 ms", 1500000},
                                                           {"90.001 s", 90001000000},
                                                           {"1.5 m", 90000000000},
                                                           {"100 ms", 100000000},
                                                           {"7 d", 604800000000000},
                                                           {"1000000.001 us", 1000000001},
                                                           {NULL, 0}});
    writes(units_format_duration_short, (const struct example[]){{"0 ns", 0},
                                                                 {"999 ns", 999},
                                                                 {"1.23 ms", 1234567},
                                                                 {"1 ms", 999999},
                                                                 {"1 m", 59999000000},
                                                                 {"87.1 us", 87123},
                                                                 {"213504 d", UINT64_MAX},
                                                                 {NULL, 0}});
    writes(units_format_size_short, (const struct example[]){{"0 B", 0},
                                                             {"64.1 MiB", 67239936},
                                                             {"1023 B", 1023},
                                                             {"1 MiB", (1 << 20) - 1},
                                                             {"1.5 KiB", 1536},
                                                             {NULL, 0}});
    char small[4];
    OK_STRING(units_format_count(small, sizeof small, 1048576), "1,0", "a small buffer truncates");
}

static void round_trips(void)
{
    struct random random;
    random_seed(&random, 1);
    unsigned wrong = 0;
    for (int i = 0; i < 100000; i++) {
        uint64_t value = random_u64(&random) >> random_below(&random, 64), parsed = 0, period = 0;
        if (i % 2)
            value -= value % 1000000;
        char text[UNITS_TEXT_BYTES];
        (void)units_format_duration(text, sizeof text, value);
        wrong += !units_parse_duration(bytes_of(text), &parsed) || parsed != value;
        (void)units_format_size(text, sizeof text, value);
        wrong += !units_parse_size(bytes_of(text), &parsed) || parsed != value;
        (void)units_format_count(text, sizeof text, value);
        wrong += !units_parse_count(bytes_of(text), &parsed) || parsed != value;
        (void)units_format_rate(text, sizeof text, value, value + (value == 0));
        wrong += !units_parse_rate(bytes_of(text), &parsed, &period) || parsed != value ||
                 period != value + (value == 0);
    }
    OK_U64(wrong, 0, "whatever is written is read back as the same number");
}

int main(void)
{
    durations();
    sizes();
    counts();
    percents();
    rates();
    formats();
    round_trips();
    return tap_done();
}
