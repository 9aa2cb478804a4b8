/*
 * How much a connection may ask for in one turn: expensive commands use a turn up sooner than cheap ones, and what is
 * left is served in further turns, each command once.
 */
#include "tests/lib/served.h"
#include "wire/command.h"

enum { RULES = 40, WORK = 512, TURN_BYTES_MAX = 32 << 10 };

static char input[120000];

static struct bytes repeat(const char *line, size_t count)
{
    size_t size = strlen(line);
    assert(size * count <= sizeof input);
    for (size_t i = 0; i < count; i++)
        memcpy(input + i * size, line, size);
    return (struct bytes){input, size * count};
}

/* One call as the listener's: how many commands it executed, and how many bytes it answered. */
static uint64_t turn(struct bytes *rest, enum serve_status *status, size_t *bytes)
{
    struct output output = output_over(served.reply, sizeof served.reply);
    struct turn turn = {.now_ns = served.now_ns, .wall_ns = served.wall_ns, .work_max = WORK};
    const uint64_t before = served.commands.stats.total_commands_processed;
    size_t consumed;
    *status = commands_serve(&served.commands, &served.session, *rest, &output, turn, &consumed);
    rest->data += consumed;
    rest->size -= consumed;
    *bytes = output.size;
    return served.commands.stats.total_commands_processed - before;
}

/* Serves `count` times `line` in turns, of which each but the last executes at most `most`. */
static void expect(const char *line, size_t count, uint64_t most)
{
    struct bytes rest = repeat(line, count);
    enum serve_status status = SERVE_ENOUGH;
    uint64_t largest = 0, total = 0;
    size_t most_bytes = 0;
    size_t turns = 0;
    bool told = true;
    for (; status == SERVE_ENOUGH; turns++) {
        size_t bytes;
        uint64_t executed = turn(&rest, &status, &bytes);
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
        largest = executed > largest ? executed : largest;
        total += executed;
        told &= served.commands.worked >= WORK || status == SERVE_MORE;
    }
    OK(status == SERVE_MORE && total == count, "%.24s: each of %zu is executed once, in %zu turns", line, count,
       turns);
    OK(largest <= most && turns >= (count + most - 1) / most, "at most %llu of them in a turn: %llu",
       (unsigned long long)most, (unsigned long long)largest);
    OK(most_bytes <= TURN_BYTES_MAX, "and %zu bytes of answers at most", most_bytes);
    OK(told, "the work of a turn that ends early is told to be all there is");
}

static bool many_rules(void)
{
    static char text[RULES * 96];
    size_t size = (size_t)snprintf(text, sizeof text, "rules:\n");
    for (int i = 1; i <= RULES; i++)
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "  - {id: r%d, service: shop, endpoint: /e%d, by: user, rate: %d/s}\n", i, i, i);
    return set_rules(text);
}

int main(void)
{
    served_open();
    OK(many_rules(), "a service has %d rules", RULES);
    expect("*2\r\n$10\r\nCAN_ACCESS\r\n$3\r\njoe\r\n", 2500, WORK + 63);
    expect("CAN_ACCESS joe 2\r\n", 2000, WORK / 4);
    expect("CHECK joe\r\n", 2000, WORK / 4);
    expect("PING\r\n", 20000, WORK / 2);
    expect("INFO\r\n", 500, WORK / 270 + 1);
    expect("COMMAND DOCS\r\n", 500, 2);
    expect("EXPLAIN joe\r\n", 500, WORK / 240 + 1);
    expect("RULE LIST\r\n", 500, WORK / 100 + 1);
    expect("NONSENSE\r\n", 5000, WORK / 10 + 1);

    struct bytes rest = repeat("CAN_ACCESS joe\r\n", 64);
    enum serve_status status;
    size_t bytes;
    OK_U64(turn(&rest, &status, &bytes), 64, "an ordinary pipeline is served in one turn");
    OK(status == SERVE_MORE && served.commands.worked < WORK, "and does not use it up: %u", served.commands.worked);
    for (unsigned i = 0; i < COMMAND_ID_COUNT; i++)
        if (command_table[i].work == 0 || command_table[i].work > WORK)
            OK(false, "%s has work %u", command_table[i].name, command_table[i].work);
    served_close();
    return tap_done();
}
