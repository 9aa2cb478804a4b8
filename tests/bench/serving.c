/*
 * serving: what a CAN_ACCESS, and a CHECK that falls under three rules, costs a daemon from the bytes of the command to
 * those of the answer, in nanoseconds, as many at a time as a pipeline brings. What the kernel and the event loop cost
 * comes on top.
 *
 * Keys are drawn evenly: a thousand, which stay near, or a million, each of which memory has to be asked for. Time
 * passes as fast as a daemon's would under such load. The node is alone, or has peers: then all that is spent waits to
 * be told to them, of a million keys. All kinds alternate in rounds; the fastest round counts, since whatever else the
 * machine does slows it down, never speeds it up. With --kernel, the kernel sends and receives the bytes of each
 * pipeline and of its answers over loopback, from one of 50 sockets to another: that is not counted, but it drives out
 * of the caches what it does in a daemon.
 *
 * --case measures one kind alone, so that a profiler counts nothing else: tests/bench/instructions does that.
 *
 *     serving [--quick] [--kernel] [--table KEYS] [--rounds N] [--case KIND:PEERS:KEYS:DEPTH]
 *
 * KIND is 0 for CAN_ACCESS, 1 for CHECK and 2 for CAN_ACCESS under a rule of the service default.
 */
#include "base/random.h"
#include "edge/process/memory.h"
#include "tests/bench/measure.h"
#include "tests/lib/served.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum {
    SOCKETS = 50,
    COMMAND_BYTES = 160,
    PIPELINE_BYTES_MAX = 64 * COMMAND_BYTES, /* and its answers */
    ROUNDS = 7,
    QUICK_ROUNDS = 5,
    GAP_NS = 200, /* of simulated time, between commands */
};

static const int depths[] = {1, 16, 64};
static const uint32_t key_counts[] = {1000, 1000000};

enum { DEPTHS = sizeof depths / sizeof depths[0], KEY_COUNTS = sizeof key_counts / sizeof key_counts[0] };

enum kind { CAN_ACCESS, CHECK, RULED_ACCESS, KINDS };
static const char *const names[KINDS] = {"CAN_ACCESS", "CHECK, three rules", "CAN_ACCESS, one rule"};
static const uint32_t keys_of[KINDS] = {1, 3, 1}; /* of one command */
/* Of a round: so many that before one is repeated the caches have forgotten its keys. */
static const int command_counts[KINDS] = {1 << 18, 3 << 15, 1 << 18};

/* One after the other; at[i] is where command i begins, at[count] where they end. */
struct commands_text {
    int count;
    char *text;
    size_t *at;
};

static size_t write_command(char *text, enum kind kind, const char *key)
{
    int size = (int)strlen(key);
    if (kind != CHECK)
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

static struct options {
    bool kernel;
    uint64_t table_keys;
    int rounds;
    const char *only; /* KIND:PEERS:KEYS:DEPTH; NULL: every case */
} options = {.table_keys = 2000000, .rounds = ROUNDS};

/* ---- the kernel ---- */

static int servers[SOCKETS], clients[SOCKETS];

static void open_sockets(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr *where = (struct sockaddr *)(void *)&address;
    socklen_t size = sizeof address;
    int on = 1, listening = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listening, where, size) != 0 || listen(listening, SOCKETS) != 0 ||
        getsockname(listening, where, &size) != 0)
        give_up("cannot listen");
    for (int i = 0; i < SOCKETS; i++) {
        clients[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(clients[i], where, size) != 0 || (servers[i] = accept(listening, NULL, NULL)) < 0)
            give_up("cannot connect");
        (void)setsockopt(clients[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        (void)setsockopt(servers[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
}

/* Returns how long it took: what is sent over loopback has been received by then. */
static uint64_t carry(int from, int to, struct bytes data)
{
    static char received[PIPELINE_BYTES_MAX];
    const uint64_t began_ns = clock_ns();
    if (data.size > sizeof received || send(from, data.data, data.size, 0) != (ssize_t)data.size ||
        recv(to, received, data.size, MSG_WAITALL) != (ssize_t)data.size)
        give_up("the kernel lost something");
    return clock_ns() - began_ns;
}

/* ---- serving ---- */

static void serve_pipeline(struct bytes input, int depth, struct output *output)
{
    const struct turn turn = {.now_ns = served.now_ns, .wall_ns = served.wall_ns};
    size_t consumed;
    (void)commands_serve(&served.commands, &served.session, input, output, turn, &consumed);
    if (consumed != input.size || output->size < 4 * (size_t)depth)
        give_up("a command was not served");
    served.now_ns += GAP_NS * (uint64_t)depth;
    served.wall_ns += GAP_NS * (uint64_t)depth;
}

static double run(const struct commands_text *commands, int depth)
{
    const uint64_t began_ns = clock_ns();
    uint64_t kernel_ns = 0;
    for (int i = 0; i < commands->count; i += depth) {
        const size_t first = commands->at[i];
        const struct bytes input = {commands->text + first, commands->at[i + depth] - first};
        struct output output = output_over(served.reply, sizeof served.reply);
        const int at = i / depth % SOCKETS;
        if (options.kernel)
            kernel_ns += carry(clients[at], servers[at], input);
        serve_pipeline(input, depth, &output);
        if (options.kernel)
            kernel_ns += carry(servers[at], clients[at], (struct bytes){output.data, output.size});
    }
    return (double)(clock_ns() - began_ns - kernel_ns) / commands->count;
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

static void open_node(enum kind kind, uint32_t peers)
{
    static const char shop[] = "rules:\n"
                               "  - {id: per-user, service: shop, by: user, rate: 100/s, burst: 100}\n"
                               "  - {id: per-ip, service: shop, by: ip, rate: 100/s, burst: 100}\n"
                               "  - {id: per-tenant, service: shop, by: tenant, rate: 100/s, burst: 100}\n";
    static const char by_default[] = "rules:\n  - {id: per-user, by: user, rate: 100/s, burst: 100}\n";
    served_open_with(options.table_keys, peers);
    node_visit_memory(served.node, prefer_huge_pages, NULL);
    if (!set_rules(kind == RULED_ACCESS ? by_default : shop))
        give_up("the rules are refused");
}

static void serve(enum kind kind, uint32_t peers)
{
    double fastest_ns[KEY_COUNTS][DEPTHS] = {{0}};
    open_node(kind, peers);
    for (int i = 0; i < options.rounds * KEY_COUNTS; i++) {
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

/* The same commands in every round, so that a longer run differs from a shorter one by whole rounds alone. */
static void serve_case(const char *which)
{
    unsigned kind, peers, keys;
    int depth;
    if (sscanf(which, "%u:%u:%u:%d", &kind, &peers, &keys, &depth) != 4 || kind >= KINDS || keys == 0 ||
        depth < 1 || depth > 64 || command_counts[kind] % depth != 0)
        give_up("--case: expected KIND:PEERS:KEYS:DEPTH");
    open_node((enum kind)kind, peers);
    struct commands_text commands = write_commands((enum kind)kind, keys, 1);
    for (int i = 0; i < options.rounds; i++)
        (void)run(&commands, depth);
    printf("%d commands a round\n", commands.count);
    served_close();
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--quick") == 0)
            options.rounds = QUICK_ROUNDS;
        else if (strcmp(argv[i], "--kernel") == 0)
            options.kernel = true;
        else if (strcmp(argv[i], "--table") == 0 && (options.table_keys = strtoull(value, NULL, 10)) > 0)
            i++;
        else if (strcmp(argv[i], "--rounds") == 0 && (options.rounds = (int)strtol(value, NULL, 10)) > 0)
            i++;
        else if (strcmp(argv[i], "--case") == 0)
            options.only = argv[++i < argc ? i : 0];
        else
            give_up(
                "usage: serving [--quick] [--kernel] [--table KEYS] [--rounds N] [--case KIND:PEERS:KEYS:DEPTH]");
    }
    if (options.only) {
        serve_case(options.only);
        return 0;
    }
    if (options.kernel)
        open_sockets();
    for (int kind = 0; kind < KINDS; kind++)
        for (int p = 0; p < PEER_COUNTS; p++)
            serve((enum kind)kind, peer_counts[p]);
    return 0;
}
