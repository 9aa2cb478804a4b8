/* When the spends of logs end, told in fewer parts where a page has no room for all of them. */
#include "cluster/codec/message_parts.h"
#include "tests/lib/tap.h"

static void halved(void)
{
    struct number_parts logs[] = {
        {.count = 3,
         .part = {{.left_ns = 900, .tokens = 1}, {.left_ns = 500, .tokens = 2}, {.left_ns = 100, .tokens = 4}}},
        {.count = 1, .part = {{.left_ns = 700, .tokens = 8}}},
        {.count = 0},
    };
    OK_U64(parts_numbers(logs, 3), 7 + 3 + 1, "of each log how many parts it has, and two numbers of each");
    parts_halve(logs, 3);
    OK(logs[0].count == 2 && logs[0].part[0].left_ns == 900 && logs[0].part[0].tokens == 3 &&
           logs[0].part[1].left_ns == 100 && logs[0].part[1].tokens == 4,
       "two parts become one, which ends as late as the later one");
    OK(logs[1].count == 1 && logs[1].part[0].tokens == 8 && logs[2].count == 0, "a single one stays, and none");
    parts_halve(logs, 3);
    OK(logs[0].count == 1 && logs[0].part[0].left_ns == 900 && logs[0].part[0].tokens == 7, "and so on");
    OK_U64(parts_numbers(logs, 3), 3 + 3 + 1, "until each log has one");
}

int main(void)
{
    halved();
    return tap_done();
}
