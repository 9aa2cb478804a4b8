/*
 * Numbers of replies: every length and sign, alone and several together, and where the room ends.
 */
#include "wire/answer.h"

#include "tests/lib/tap.h"

#include <stdio.h>

enum { COUNT = 5 };

static char written[256], expected[256];

/* Whether `count` values into so much room are what printf says, all or none of them. */
static bool is_right(const int64_t *values, size_t count, size_t room)
{
    struct output output = output_over(written, room);
    struct answer answer = {.output = &output, .protocol = 2};
    size_t size = 0;
    if (count > 1)
        size = (size_t)snprintf(expected, sizeof expected, "*%zu\r\n", count + 2);
    for (size_t i = 0; i < count; i++)
        size += (size_t)snprintf(expected + size, sizeof expected - size, ":%lld\r\n", (long long)values[i]);
    memset(written, '#', sizeof written);
    if (count == 1)
        answer_integer(&answer, values[0]);
    else
        answer_array_of(&answer, count + 2, values, count);
    bool fits = size <= room;
    if (output.overflowed == fits || output.size > room || (fits && output.size != size))
        return false;
    return memcmp(written, expected, output.size) == 0 && (room == sizeof written || written[room] == '#');
}

static void test_numbers(void)
{
    unsigned wrong = 0;
    uint64_t power = 1;
    for (int digits = 0; digits < 19; digits++, power *= 10)
        for (int64_t near = -2; near <= 2; near++)
            for (int sign = -1; sign <= 1; sign += 2) {
                int64_t value = ((int64_t)power + near) * sign;
                wrong += !is_right(&value, 1, sizeof written);
            }
    const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX, 0, 999};
    wrong += !is_right(ends, COUNT, sizeof written);
    for (size_t i = 0; i < COUNT; i++)
        wrong += !is_right(&ends[i], 1, sizeof written);
    OK(wrong == 0, "numbers: %u wrong", wrong);
}

static void test_room(void)
{
    const int64_t lists[][COUNT] = {{1, 2, 3, 4, 5},
                                    {100, 99, 0, -1, 1000},
                                    {INT64_MIN, 1, INT64_MIN, 2, INT64_MAX}};
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (size_t room = 0; room <= 130; room++)
            wrong += !(is_right(lists[i], COUNT, room) && is_right(lists[i], 1, room));
    OK(wrong == 0, "into any room: %u wrong", wrong);
}

/* Whether what says yes is what its parts are one by one, all of it or none of it. */
static bool is_whole(const int64_t *figures, struct bytes rule, size_t room)
{
    struct output output = output_over(written, room), parts = output_over(expected, sizeof expected);
    struct answer answer = {.output = &output, .protocol = 2}, by_parts = {.output = &parts, .protocol = 2};
    answer_array_of(&by_parts, COUNT + 1, figures, COUNT);
    answer_bulk(&by_parts, rule);
    memset(written, '#', sizeof written);
    answer_allowed(&answer, figures[1], figures[2], figures[4], rule);
    bool fits = parts.size <= room;
    if (output.overflowed == fits || output.size > room || (fits && output.size != parts.size))
        return false;
    return memcmp(written, expected, output.size) == 0 && (room == sizeof written || written[room] == '#');
}

static void test_allowed(void)
{
    const int64_t lists[][COUNT] = {{1, 100, 99, 0, 10}, {1, 0, 9, 0, 1000}, {1, INT64_MAX, INT64_MIN, 0, -1}};
    const struct bytes rules[] = {{NULL, 0},
                                  bytes_of("per-user"),
                                  bytes_of("a rule's name is of up to 64 bytes, so")};
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (size_t j = 0; j < sizeof rules / sizeof rules[0]; j++)
            for (size_t room = 0; room <= 180; room++)
                wrong += !is_whole(lists[i], rules[j], room);
    OK(wrong == 0, "what says yes, into any room: %u wrong", wrong);
}

static void test_frames(void)
{
    struct output output = output_over(written, sizeof written);
    struct answer answer = {.output = &output, .protocol = 3};
    answer_map(&answer, 12);
    answer_bulk(&answer, bytes_of("0123456789"));
    answer_text(&answer, "");
    OK(output.size == 28 && memcmp(written, "%12\r\n$10\r\n0123456789\r\n$0\r\n\r\n", 28) == 0, "counts and sizes");
}

int main(void)
{
    test_numbers();
    test_room();
    test_allowed();
    test_frames();
    return tap_done();
}
