/*
 * serving: what a CAN_ACCESS, and a CHECK that falls under three rules, costs a daemon from the bytes of the command to
 * those of the answer, in nanoseconds, as many at a time as a pipeline brings. What the kernel and the event loop cost
 * comes on top.
 *
 * Keys are drawn evenly: a thousand, which stay near, or a million, each of which memory has to be asked for. Time
 * passes as fast as a daemon's would under such load. The node is alone, or has peers: then all that is spent waits to
 * be told to them, of a million keys. All kinds alternate in rounds; the fastest round counts, since whatever else the
 * machine does slows it down, never speeds it up.
 *
 *     serving [--quick | ROUNDS]
 */
#include "base/random.h"
#include "edge/memory.h"
#include "tests/bench/measure.h"
#include "tests/served.h"

enum {
    COMMAND_BYTES = 160,
    ROUNDS = 7,
    QUICK_ROUNDS = 5,
    TABLE_KEYS = 2000000,
    GAP_NS = 200, /* of simulated time, between commands */
};

static const int depths[] = {1, 16, 64};
static const uint32_t key_counts[] = {1000, 1000000};

enum { DEPTHS = sizeof depths / sizeof depths[0], KEY_COUNTS = sizeof key_counts / sizeof key_counts[0] };

enum kind { CAN_ACCESS, CHECK, KINDS };
static const char *const names[KINDS] = {"CAN_ACCESS", "CHECK, three rules"};
static const uint32_t keys_of[KINDS] = {1, 3}; /* of one command */
/* Of a round: so many that before one is repeated the caches have forgotten its keys. */
static const int command_counts[KINDS] = {1 << 18, 3 << 15};

/* One after the other; at[i] is where command i begins, at[count] where they end. */
struct commands_text {
    int count;
    char *text;
    size_t *at;
};

static size_t write_command(char *text, enum kind kind, const char *key)
{
    int size = (int)strlen(key);
    if (kind == CAN_ACCESS)
        return (size_t)snprintf(text, COMMAND_BYTES, "*2\r\n$10\r\nCAN_ACCESS\r\n$%d\r\n%s\r\n", size, key);
    return (size_t)snprintf(text, COMMAND_BYTES,
                            "*6\r\n$5\r\nCHECK\r\n$%d\r\nuser=%s\r\n$%d\r\nip=%s\r\n$%d\r\ntenant=%s\r\n"
                            "$7\r\nSERVICE\r\n$4\r\nshop\r\n",
                            size + 5, key, size + 3, key, size + 7, key);
}

static struct commands_text write_commands(enum kind kind, uint32_t keys, uint64_t seed)
{
    const int count = command_counts[kind];
    struct commands_text commands = {.count = count,
                                     .text = malloc((size_t)count * COMMAND_BYTES),
                                     .at = malloc(((size_t)count + 1) * sizeof *commands.at)};
    struct random random;
    size_t size = 0;
    if (!commands.text || !commands.at)
        give_up("not enough memory");
    random_seed(&random, seed);
    for (int i = 0; i < count; i++) {
        char key[24];
        (void)snprintf(key, sizeof key, "key:%u", (unsigned)random_below(&random, keys / keys_of[kind]));
        commands.at[i] = size;
        size += write_command(commands.text + size, kind, key);
    }
    commands.at[count] = size;
    return commands;
}

static const uint32_t peer_counts[] = {0, 2};
enum { PEER_COUNTS = sizeof peer_counts / sizeof peer_counts[0] };

static double run(const struct commands_text *commands, int depth)
{
    uint64_t began_ns = clock_ns();
    for (int i = 0; i < commands->count; i += depth) {
        size_t consumed, first = commands->at[i], end = commands->at[i + depth];
        struct output output = output_over(served.reply, sizeof served.reply);
        const struct turn turn = {served.now_ns, served.wall_ns};
        const struct bytes input = {commands->text + first, end - first};
        (void)commands_serve(&served.commands, &served.session, input, &output, turn, &consumed);
        if (consumed != input.size || output.size < 4 * (size_t)depth)
            give_up("a command was not served");
        served.now_ns += GAP_NS * (uint64_t)depth;
        served.wall_ns += GAP_NS * (uint64_t)depth;
    }
    return (double)(clock_ns() - began_ns) / commands->count;
}

static void print(double fastest_ns[KEY_COUNTS][DEPTHS], const char *name, uint32_t peers)
{
    printf("ns a %-27s", name);
    for (int d = 0; d < DEPTHS; d++)
        printf("%7d", depths[d]);
    for (int k = 0; k < KEY_COUNTS; k++) {
        printf("\n  of %7u keys%-15s", (unsigned)key_counts[k], peers > 0 ? ", with peers" : "");
        for (int d = 0; d < DEPTHS; d++)
            printf("%7.0f", fastest_ns[k][d]);
    }
    printf("\n");
}

static void prefer_huge_pages(void *context, void *memory, size_t bytes)
{
    (void)context;
    memory_prefer_huge_pages(memory, bytes);
}

static void serve(enum kind kind, uint32_t peers, int rounds)
{
    double fastest_ns[KEY_COUNTS][DEPTHS] = {{0}};
    served_open_with(TABLE_KEYS, peers);
    node_visit_memory(served.node, prefer_huge_pages, NULL);
    if (!set_rules("rules:\n"
                   "  - {id: per-user, service: shop, by: user, rate: 100/s, burst: 100}\n"
                   "  - {id: per-ip, service: shop, by: ip, rate: 100/s, burst: 100}\n"
                   "  - {id: per-tenant, service: shop, by: tenant, rate: 100/s, burst: 100}\n"))
        give_up("the rules are refused");
    for (int i = 0; i < rounds * KEY_COUNTS; i++) {
        int k = i % KEY_COUNTS, round = i / KEY_COUNTS;
        struct commands_text commands = write_commands(kind, key_counts[k], (uint64_t)round);
        for (int d = 0; d < DEPTHS; d++) {
            double ns = run(&commands, depths[d]);
            if (round == 0 || ns < fastest_ns[k][d])
                fastest_ns[k][d] = ns;
        }
        free(commands.text);
        free(commands.at);
    }
    print(fastest_ns, names[kind], peers);
    served_close();
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    int rounds = quick ? QUICK_ROUNDS : argc > 1 ? (int)strtol(argv[1], NULL, 10) : ROUNDS;
    for (int kind = 0; kind < KINDS; kind++)
        for (int p = 0; p < PEER_COUNTS; p++)
            serve((enum kind)kind, peer_counts[p], rounds);
    return 0;
}
