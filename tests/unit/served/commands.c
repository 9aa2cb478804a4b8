/*
 * How much a connection may ask for in one turn: expensive commands use a turn up sooner than cheap ones, and what is
 * left is served in further turns, each command once. What a command costs beyond its name: keys, rules, long logs.
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

static uint32_t work_of(const char *line)
{
    char input_line[256];
    enum serve_status status;
    size_t bytes, size = (size_t)snprintf(input_line, sizeof input_line, "%s\r\n", line);
    struct bytes rest = {input_line, size};
    (void)turn(&rest, &status, &bytes);
    return served.commands.worked;
}

static void cost_of_rules(void)
{
    char yaml[4096];
    size_t size = (size_t)snprintf(yaml, sizeof yaml, "rules:\n");
    for (int i = 0; i < 16; i++)
        size += (size_t)snprintf(yaml + size, sizeof yaml - size,
                                 "- {id: k%d, service: many, by: [user, d%d], rate: 1/s}\n", i, i % 7);
    OK(set_rules(yaml), "a request may come to sixteen keys");
#define IDS " user=a d0=b d1=c d2=d d3=e d4=f d5=g d6=h SERVICE many"
    expect("CHECK" IDS "\r\n", 500, WORK / 16 + 31);
    expect("REFUND" IDS "\r\n", 500, WORK / 18 + 1);
    uint32_t work = work_of("EXPLAIN" IDS);
    OK(work > 240 + 15 * 30, "to explain each costs more than to count it: %u", work);
    OK_U64(work_of("CHECK user=a d0=b SERVICE many"), 4, "few keys are counted in in the table of commands");
}

/* What asks for nothing is read all the same. */
static void cost_of_nothing(const char *line)
{
    enum serve_status status;
    size_t bytes;
    struct bytes rest = repeat(line, 16000);
    const size_t size = rest.size;
    (void)turn(&rest, &status, &bytes);
    OK(status == SERVE_ENOUGH && size - rest.size <= WORK * strlen(line) && served.commands.worked >= WORK,
       "empty lines and arrays use a turn up: %zu of %zu bytes", size - rest.size, size);
}

/* More rules than an answer shows, or asks. */
static void cost_of_many_rules(void)
{
    enum { MANY = 1200, AT_ONCE = 300 };
    static char yaml[AT_ONCE * 96];
    bool set = true;
    for (int i = 0; i < MANY;) {
        size_t size = (size_t)snprintf(yaml, sizeof yaml, "rules:\n");
        for (int end = i + AT_ONCE; i < end; i++)
            size +=
                (size_t)snprintf(yaml + size, sizeof yaml - size,
                                 "- {id: m%d, service: s%d, endpoint: /e%d, by: user, rate: 1/s}\n", i, i / 100, i);
        set &= set_rules(yaml);
    }
    OK(set, "there are many rules");
    uint32_t work = work_of("EXPLAIN user=a");
    OK(work > 4000, "of which EXPLAIN asks a thousand, and that is its work: %u", work);
    work = work_of("INFO rules");
    OK(work < 500, "INFO does not look at those that it does not show: %u", work);
    for (int i = 0; i < MANY; i += 100)
        for (int k = i; k < i + 100; k++) {
            char line[64];
            (void)snprintf(line, sizeof line, "RULE DEL s%d m%d", i / 100, k);
            (void)served_ask(line);
        }
    work = work_of("RULE LIST s3");
    OK(work >= 100 + 100 / 4, "rules that are gone cost a look: %u", work);
}

/* Requests that cost most of a long log: the time until so many spends have ended is found by a walk along them. */
static void cost_of_walks(void)
{
    enum { SPENT = 9990 };
    unsigned long long retry[3], reset[3];
    served_open_with(65536, 0);
    OK(set_rules("{id: log, service: slog, by: user, algorithm: sliding_log, limit: 10000, window: 1h}"), "a log");
    for (int i = 0; i < SPENT; i++) {
        served.now_ns += SERVED_MS;
        (void)served_ask("CHECK user=a SERVICE slog");
    }
    const char *told = served_send(repeat("CHECK user=a SERVICE slog COST 9000\r\n", 3));
    int read = sscanf(told, "[0 10000 10 %llu %llu 'log'] [0 10000 10 %llu %llu 'log'] [0 10000 10 %llu %llu",
                      &retry[0], &reset[0], &retry[1], &reset[1], &retry[2], &reset[2]);
    OK(read == 6 && retry[0] + 1000 == reset[0], "after so long there is room for 9,000: %s", told);
    OK(retry[1] == reset[1] && retry[2] == reset[2], "who asks for that again and again is told when all is over");
    OK(served.commands.worked > SPENT / 20, "the walk is counted: %u", served.commands.worked);
    served_close();
}

int main(void)
{
    cost_of_walks();
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
    cost_of_nothing("\r\n");
    cost_of_nothing("*0\r\n");
    cost_of_rules();
    cost_of_many_rules();
    served_close();
    return tap_done();
}
