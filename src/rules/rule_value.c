/*
 * Parsers and printers of the values of rules.
 */
#include "rules/rule_value.h"

#include "base/units.h"
#include "limit/limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Each in the order of its enum. */
#define WORD_OF(name, word, kind, form, traits) word,
const struct rule_choices rule_algorithms = {{RULE_ALGORITHMS(WORD_OF)}};
#undef WORD_OF
_Static_assert((int)RULE_ALGORITHMS_END <= (int)RULE_CHOICES_MAX, "a field accepts all words");
const struct rule_choices rule_modes = {{"enforce", "soft", "shadow", "off"}};
const struct rule_choices rule_syncs = {{"gossip", "budget", "central"}};
const struct rule_choices rule_isolations = {{"budget", "open", "closed"}};
const struct rule_choices rule_inherits = {{"keep", "proportional", "reset"}};
const struct rule_choices rule_calendars = {{"hour", "day", "week", "month", "year"}};
const struct rule_choices rule_begins = {{"clock", "first_request"}};
const struct rule_choices rule_priorities = {{"low", "normal", "high", "critical"}};
const struct rule_choices rule_booleans = {{"false", "true"}};

int rule_choice(const struct rule_choices *choices, struct bytes text)
{
    for (int i = 0; i < RULE_CHOICES_MAX && choices->name[i]; i++)
        if (bytes_equal(bytes_of(choices->name[i]), text))
            return i;
    return -1;
}

const char *rule_choices_text(const struct rule_choices *choices, char *out, size_t room)
{
    size_t size = 0;
    out[0] = '\0';
    for (int i = 0; i < RULE_CHOICES_MAX && choices->name[i] && size < room; i++) {
        bool last = i + 1 == RULE_CHOICES_MAX || !choices->name[i + 1];
        int written = snprintf(out + size, room - size, "%s%s",
                               i == 0 ? ""
                               : last ? " or "
                                      : ", ",
                               choices->name[i]);
        size += written > 0 ? (size_t)written : 0;
    }
    return out;
}

/* ---- amounts ---- */

static struct bytes part(struct bytes text, size_t from, size_t to)
{
    return (struct bytes){.data = text.data + from, .size = to - from};
}

static bool parse_bucket(struct bytes text, struct rule_amount *amount)
{
    static const char word[] = " burst ";
    const char *burst = memmem(text.data, text.size, word, sizeof word - 1);
    size_t end = burst ? (size_t)(burst - text.data) : text.size;
    if (!units_parse_rate(part(text, 0, end), &amount->rate, &amount->period_ns))
        return false;
    amount->limit = amount->rate;
    return !burst || units_parse_count(part(text, end + sizeof word - 1, text.size), &amount->limit);
}

static bool parse_quota(const struct rule_amount *of, struct bytes text, struct rule_amount *amount)
{
    const char *slash = memchr(text.data, '/', text.size);
    size_t end = slash ? (size_t)(slash - text.data) : text.size;
    int unit = slash           ? rule_choice(&rule_calendars, part(text, end + 1, text.size))
               : of->unlimited ? -1
                               : (int)of->unit;
    if (unit < 0)
        return false;
    amount->unit = (enum rule_calendar)unit;
    return units_parse_count(part(text, 0, end), &amount->limit);
}

static bool parse_window(const struct rule_amount *of, struct bytes text, struct rule_amount *amount)
{
    if (memchr(text.data, '/', text.size))
        return units_parse_rate(text, &amount->limit, &amount->period_ns);
    amount->period_ns = of->period_ns;
    return !of->unlimited && units_parse_count(text, &amount->limit);
}

static bool is_zero(struct bytes text)
{
    uint64_t count;
    return units_parse_count(text, &count) && count == 0;
}

/* A window or unit that the text leaves out comes from `of`. */
static bool parse_form(enum rule_amount_form form, const struct rule_amount *of, struct bytes text,
                       struct rule_amount *amount)
{
    switch (form) {
    case RULE_AMOUNT_RATE:
        return parse_bucket(text, amount);
    case RULE_AMOUNT_WINDOW:
        return parse_window(of, text, amount);
    case RULE_AMOUNT_CALENDAR:
        return parse_quota(of, text, amount);
    }
    return false;
}

bool rule_amount_parse(enum rule_algorithm algorithm, const struct rule_amount *of, struct bytes text,
                       struct rule_amount *amount)
{
    struct rule_amount parsed = {0};
    if (text.size == 0)
        return false;
    if (bytes_equal(text, bytes_of("unlimited")))
        parsed.unlimited = true;
    else if (!is_zero(text) && !parse_form(rule_amount_form(algorithm), of, text, &parsed))
        return false;
    if (parsed.limit == 0 && parsed.rate == 0 && !parsed.unlimited)
        parsed = (struct rule_amount){0}; /* where nothing is admitted, the window does not matter */
    *amount = parsed;
    return true;
}

const char *rule_amount_text(enum rule_algorithm algorithm, const struct rule_amount *of,
                             const struct rule_amount *amount, char *out, size_t room)
{
    const enum rule_amount_form form = rule_amount_form(algorithm);
    char rate[UNITS_TEXT_BYTES];
    if (amount->unlimited)
        (void)snprintf(out, room, "unlimited");
    else if (amount->limit == 0)
        (void)snprintf(out, room, "0");
    else if (form == RULE_AMOUNT_RATE) {
        (void)units_format_rate(rate, sizeof rate, amount->rate, amount->period_ns);
        if (amount->limit == amount->rate)
            (void)snprintf(out, room, "%s", rate);
        else
            (void)snprintf(out, room, "%s burst %" PRIu64, rate, amount->limit);
    } else if (form == RULE_AMOUNT_CALENDAR && (of->unlimited || of->unit != amount->unit))
        (void)snprintf(out, room, "%" PRIu64 "/%s", amount->limit, rule_calendars.name[amount->unit]);
    else if (form == RULE_AMOUNT_WINDOW && (of->unlimited || of->period_ns != amount->period_ns))
        (void)units_format_rate(out, room, amount->limit, amount->period_ns);
    else
        (void)snprintf(out, room, "%" PRIu64, amount->limit);
    return out;
}

const char *rule_amount_expected(enum rule_algorithm algorithm, const struct rule_amount *of)
{
    switch (rule_amount_form(algorithm)) {
    case RULE_AMOUNT_RATE:
        return "a rate such as 100/m, perhaps with a burst such as 100/m burst 200, or unlimited";
    case RULE_AMOUNT_CALENDAR:
        return of->unlimited ? "a count with a unit such as 5000/month, or unlimited"
                             : "a count such as 5000, perhaps with a unit such as 5000/month, or unlimited";
    case RULE_AMOUNT_WINDOW:
        break;
    }
    return of->unlimited ? "a count with a window such as 500/m, or unlimited"
                         : "a count such as 500, perhaps with a window such as 500/m, or unlimited";
}

/* ---- moments ---- */

static bool take_digits(struct bytes *text, size_t count, unsigned *number)
{
    if (text->size < count)
        return false;
    *number = 0;
    for (size_t i = 0; i < count; i++) {
        if (text->data[i] < '0' || text->data[i] > '9')
            return false;
        *number = *number * 10 + (unsigned)(text->data[i] - '0');
    }
    *text = part(*text, count, text->size);
    return true;
}

static bool take_mark(struct bytes *text, char mark)
{
    if (text->size == 0 || text->data[0] != mark)
        return false;
    *text = part(*text, 1, text->size);
    return true;
}

static bool is_leap(unsigned year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static unsigned month_days(unsigned year, unsigned month)
{
    static const uint8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year) ? 1u : 0u);
}

/* Years 1 to y have y/4 - y/100 + y/400 leap days. */
static uint64_t days_before_year(unsigned year)
{
    uint64_t y = year - 1, from = 1969;
    return (y - from) * 365 + (y / 4 - y / 100 + y / 400) - (from / 4 - from / 100 + from / 400);
}

bool rule_moment_parse(struct bytes text, uint64_t *at_s)
{
    unsigned year, month, day, hour = 0, minute = 0, second = 0;
    if (!take_digits(&text, 4, &year) || !take_mark(&text, '-') || !take_digits(&text, 2, &month) ||
        !take_mark(&text, '-') || !take_digits(&text, 2, &day))
        return false;
    if (text.size > 0 && (!take_mark(&text, 'T') || !take_digits(&text, 2, &hour) || !take_mark(&text, ':') ||
                          !take_digits(&text, 2, &minute) || !take_mark(&text, ':') ||
                          !take_digits(&text, 2, &second) || !take_mark(&text, 'Z') || text.size > 0))
        return false;
    if (year < 1971 || month < 1 || month > 12 || day < 1 || day > month_days(year, month) || hour > 23 ||
        minute > 59 || second > 59)
        return false;
    uint64_t days = days_before_year(year) + day - 1;
    for (unsigned i = 1; i < month; i++)
        days += month_days(year, i);
    *at_s = days * 86400 + hour * 3600u + minute * 60u + second;
    return true;
}

const char *rule_moment_text(uint64_t at_s, char *out, size_t room)
{
    uint64_t days = at_s / 86400;
    unsigned second = (unsigned)(at_s % 86400), year = 1970 + (unsigned)(days / 366), month = 1;
    while (days_before_year(year + 1) <= days)
        year++;
    days -= days_before_year(year);
    for (; days >= month_days(year, month); month++)
        days -= month_days(year, month);
    if (second == 0)
        (void)snprintf(out, room, "%04u-%02u-%02u", year, month, (unsigned)days + 1);
    else
        (void)snprintf(out, room, "%04u-%02u-%02uT%02u:%02u:%02uZ", year, month, (unsigned)days + 1, second / 3600,
                       second / 60 % 60, second % 60);
    return out;
}

/* ---- durations, percents ---- */

const char *rule_duration_text(uint64_t ns, char *out, size_t room)
{
    (void)units_format_duration(out, room, ns);
    char *space = strchr(out, ' ');
    if (space)
        memmove(space, space + 1, strlen(space));
    return out;
}

const char *rule_percent_text(uint64_t millionths, char *out, size_t room)
{
    char decimals[8] = "";
    if (millionths % 10000 > 0) {
        (void)snprintf(decimals, sizeof decimals, ".%04u", (unsigned)(millionths % 10000));
        for (size_t last = strlen(decimals) - 1; decimals[last] == '0'; last--)
            decimals[last] = '\0';
    }
    (void)snprintf(out, room, "%" PRIu64 "%s%%", millionths / 10000, decimals);
    return out;
}

/* ---- weights ---- */

bool rule_weight_parse(struct bytes text, uint64_t *billionths)
{
    uint64_t value = 0, digit = LIMIT_WEIGHTS_WHOLE;
    size_t at = 0;
    if (text.size > 0 && (text.data[0] == '0' || text.data[0] == '1'))
        value = (uint64_t)(text.data[at++] - '0') * digit;
    const size_t whole = at;
    if (at < text.size && text.data[at] == '.')
        for (at++; at < text.size && text.data[at] >= '0' && text.data[at] <= '9' && digit > 1; at++)
            value += (uint64_t)(text.data[at] - '0') * (digit /= 10);
    if (at < text.size || at < 1 || (whole == 0 && at < 2) || value > LIMIT_WEIGHTS_WHOLE)
        return false;
    *billionths = value;
    return true;
}

const char *rule_weight_text(uint64_t billionths, char *out, size_t room)
{
    (void)snprintf(out, room, "%" PRIu64 ".%09" PRIu64, billionths / LIMIT_WEIGHTS_WHOLE,
                   billionths % LIMIT_WEIGHTS_WHOLE);
    size_t size = strlen(out);
    while (out[size - 1] == '0')
        size--;
    out[size - (out[size - 1] == '.')] = '\0';
    return out;
}
