#include "base/units.h"

#include "base/number.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* Smallest first. */
static const struct unit durations[] = {
    {"ns", 1},          {"us", 1000},         {"ms", 1000000},       {"s", 1000000000},
    {"m", 60000000000}, {"h", 3600000000000}, {"d", 86400000000000},
};
static const struct unit binary_sizes[] = {
    {"B", 1},
    {"KiB", (uint64_t)1 << 10},
    {"MiB", (uint64_t)1 << 20},
    {"GiB", (uint64_t)1 << 30},
    {"TiB", (uint64_t)1 << 40},
};
static const struct unit decimal_sizes[] = {
    {"kB", 1000}, {"KB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"TB", 1000000000000},
};
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* A decimal number: mantissa / 10^decimals. */
struct number {
    uint64_t mantissa;
    unsigned decimals;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool append_digit(uint64_t *value, char digit)
{
    return !__builtin_mul_overflow(*value, (uint64_t)10, value) &&
           !__builtin_add_overflow(*value, (uint64_t)(digit - '0'), value);
}

/* Takes digits[.digits][space] off the front of `text`. */
static bool take_number(struct bytes *text, struct number *number)
{
    size_t i = 0;
    *number = (struct number){0};
    for (; i < text->size && is_digit(text->data[i]); i++)
        if (!append_digit(&number->mantissa, text->data[i]))
            return false;
    if (i == 0)
        return false;
    if (i < text->size && text->data[i] == '.') {
        size_t start = ++i, end = start;
        for (; i < text->size && is_digit(text->data[i]); i++)
            if (text->data[i] != '0')
                end = i + 1;
        if (i == start)
            return false;
        for (size_t j = start; j < end; j++)
            if (!append_digit(&number->mantissa, text->data[j]))
                return false;
        number->decimals = (unsigned)(end - start); /* <= 20: more would have overflowed, unless all are 0 */
        if (number->mantissa == 0)
            number->decimals = 0;
    }
    if (i > 0 && i + 1 < text->size && text->data[i] == ' ')
        i++;
    text->data += i;
    text->size -= i;
    return true;
}

static bool scale(struct number number, uint64_t factor, uint64_t *result)
{
    uint128 product = (uint128)number.mantissa * factor;
    for (unsigned i = 0; i < number.decimals; i++) {
        if (product % 10 != 0)
            return false;
        product /= 10;
    }
    if (product > UINT64_MAX)
        return false;
    *result = (uint64_t)product;
    return true;
}

static bool find_unit(const struct unit *units, size_t count, struct bytes name, uint64_t *factor)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_equal(bytes_of(units[i].name), name)) {
            *factor = units[i].factor;
            return true;
        }
    return false;
}

bool units_parse_duration(struct bytes text, uint64_t *ns)
{
    struct number number;
    uint64_t factor = 1;
    if (!take_number(&text, &number))
        return false;
    if (!find_unit(durations, COUNT_OF(durations), text, &factor) && (text.size != 0 || number.mantissa != 0))
        return false;
    return scale(number, factor, ns);
}

bool units_parse_size(struct bytes text, uint64_t *bytes)
{
    struct number number;
    uint64_t factor = 1;
    if (!take_number(&text, &number))
        return false;
    if (text.size != 0 && !find_unit(binary_sizes, COUNT_OF(binary_sizes), text, &factor) &&
        !find_unit(decimal_sizes, COUNT_OF(decimal_sizes), text, &factor))
        return false;
    return scale(number, factor, bytes);
}

bool units_parse_count(struct bytes text, uint64_t *count)
{
    uint64_t value = 0;
    size_t group = 0; /* digits since the last separator */
    char separator = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (is_digit(c)) {
            if (!append_digit(&value, c) || (separator && group == 3))
                return false;
            group++;
        } else if (separator ? c == separator && group == 3 : (c == ',' || c == '_') && group >= 1 && group <= 3) {
            separator = c;
            group = 0;
        } else {
            return false;
        }
    }
    if (separator ? group != 3 : group == 0)
        return false;
    *count = value;
    return true;
}

bool units_parse_rate(struct bytes text, uint64_t *tokens, uint64_t *period_ns)
{
    const char *slash = text.size > 0 ? memchr(text.data, '/', text.size) : NULL;
    if (!slash)
        return false;
    struct bytes before = {.data = text.data, .size = (size_t)(slash - text.data)};
    struct bytes after = {.data = slash + 1, .size = text.size - before.size - 1};
    uint64_t count, ns;
    if (!units_parse_count(before, &count))
        return false;
    if (!find_unit(durations, COUNT_OF(durations), after, &ns) && !units_parse_duration(after, &ns))
        return false;
    if (ns == 0)
        return false;
    *tokens = count;
    *period_ns = ns;
    return true;
}

bool units_parse_percent(struct bytes text, uint64_t *millionths)
{
    struct number number;
    return take_number(&text, &number) && bytes_equal(text, bytes_of("%")) && scale(number, 10000, millionths);
}

bool units_take(struct bytes text, bool (*parse)(struct bytes text, uint64_t *number), uint64_t least,
                uint64_t most, uint64_t *number)
{
    uint64_t value;
    if (!parse(text, &value) || value < least || value > most)
        return false;
    *number = value;
    return true;
}

/* The largest unit but the first in which `value` has at most 3 decimals, or NULL. */
static const struct unit *largest_exact(const struct unit *units, size_t count, uint64_t value)
{
    for (size_t i = count; i-- > 1;)
        if (value >= units[i].factor && (uint128)(value % units[i].factor) * 1000 % units[i].factor == 0)
            return &units[i];
    return NULL;
}

/* "1.5" and `gap` and "ms", without trailing zeros. */
static const char *write_exact(char *out, size_t room, const struct unit *unit, uint64_t value, const char *gap)
{
    char decimals[8] = "";
    uint64_t thousandths = (uint64_t)((uint128)(value % unit->factor) * 1000 / unit->factor);
    if (thousandths > 0) {
        (void)snprintf(decimals, sizeof decimals, ".%03u", (unsigned)(thousandths % 1000));
        for (size_t last = strlen(decimals) - 1; decimals[last] == '0'; last--)
            decimals[last] = 0;
    }
    (void)snprintf(out, room, "%" PRIu64 "%s%s%s", value / unit->factor, decimals, gap, unit->name);
    return out;
}

/* Three digits of `value` in the largest unit that is not above it. */
static const char *write_short(char *out, size_t room, const struct unit *units, size_t count, uint64_t value)
{
    size_t i = count - 1;
    while (i > 0 && value < units[i].factor)
        i--;
    for (;;) {
        /* From 3 decimals to none, rounded: the first that leaves at most three digits. */
        uint64_t power = 1000;
        unsigned decimals = 3;
        uint128 rounded = 0;
        for (;; decimals--, power /= 10) {
            rounded = ((uint128)value * power * 2 + units[i].factor) / ((uint128)units[i].factor * 2);
            if (decimals == 0 || (rounded < 1000 && decimals < 3))
                break;
        }
        if (i + 1 < count && rounded * units[i].factor >= (uint128)units[i + 1].factor * power) {
            i++; /* 59.99 s has become 60: say 1 m */
            continue;
        }
        for (; decimals > 0 && rounded % 10 == 0; decimals--)
            rounded /= 10, power /= 10;
        uint64_t whole = (uint64_t)(rounded / power), part = (uint64_t)(rounded % power);
        if (decimals == 0)
            (void)snprintf(out, room, "%" PRIu64 " %s", whole, units[i].name);
        else
            (void)snprintf(out, room, "%" PRIu64 ".%0*" PRIu64 " %s", whole, (int)decimals, part, units[i].name);
        return out;
    }
}

const char *units_format_duration(char *out, size_t room, uint64_t ns)
{
    assert(room >= 1);
    const struct unit *unit = largest_exact(durations, COUNT_OF(durations), ns);
    return write_exact(out, room, unit ? unit : durations, ns, " ");
}

const char *units_format_size(char *out, size_t room, uint64_t bytes)
{
    assert(room >= 1);
    const struct unit *unit = largest_exact(binary_sizes, COUNT_OF(binary_sizes), bytes);
    if (!unit && bytes % 1000 == 0)
        unit = largest_exact(decimal_sizes + 1, COUNT_OF(decimal_sizes) - 1, bytes);
    return write_exact(out, room, unit ? unit : binary_sizes, bytes, " ");
}

const char *units_format_count(char *out, size_t room, uint64_t count)
{
    assert(room >= 1);
    char plain[24], grouped[32];
    size_t digits = (size_t)snprintf(plain, sizeof plain, "%" PRIu64, count), length = 0;
    for (size_t i = 0; i < digits; i++) {
        if (i > 0 && (digits - i) % 3 == 0)
            grouped[length++] = ',';
        grouped[length++] = plain[i];
    }
    grouped[length] = 0;
    (void)snprintf(out, room, "%s", grouped);
    return out;
}

const char *units_format_rate(char *out, size_t room, uint64_t tokens, uint64_t period_ns)
{
    assert(room >= 1);
    char period[UNITS_TEXT_BYTES];
    const struct unit *unit = largest_exact(durations, COUNT_OF(durations), period_ns);
    if (!unit)
        unit = durations;
    if (unit->factor == period_ns)
        (void)snprintf(period, sizeof period, "%s", unit->name);
    else
        (void)write_exact(period, sizeof period, unit, period_ns, "");
    (void)snprintf(out, room, "%" PRIu64 "/%s", tokens, period);
    return out;
}

const char *units_format_duration_short(char *out, size_t room, uint64_t ns)
{
    assert(room >= 1);
    return write_short(out, room, durations, COUNT_OF(durations), ns);
}

const char *units_format_size_short(char *out, size_t room, uint64_t bytes)
{
    assert(room >= 1);
    return write_short(out, room, binary_sizes, COUNT_OF(binary_sizes), bytes);
}

/* ---- examples ---- */

static const char *examples(char *out, size_t room, const char *const *usual, size_t count,
                            bool (*parse)(struct bytes, uint64_t *), uint64_t least, uint64_t most)
{
    unsigned shown = 0;
    size_t size = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && shown < 2 && size < room; i++) {
        uint64_t value;
        if (parse(bytes_of(usual[i]), &value) && value >= least && value <= most)
            size +=
                (size_t)snprintf(out + size, room - size, "%s%s", shown++ > 0 ? " or " : ", such as ", usual[i]);
    }
    return out;
}

const char *units_duration_examples(char *out, size_t room, uint64_t least_ns, uint64_t most_ns)
{
    static const char *const usual[] = {"100ms", "2s", "5m", "1h", "1d"};
    return examples(out, room, usual, COUNT_OF(usual), units_parse_duration, least_ns, most_ns);
}

const char *units_size_examples(char *out, size_t room, uint64_t least, uint64_t most)
{
    static const char *const usual[] = {"64KiB", "1MiB", "16MiB", "256MiB", "1GiB"};
    return examples(out, room, usual, COUNT_OF(usual), units_parse_size, least, most);
}
