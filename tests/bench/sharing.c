/*
 * sharing: how much more two threads serve than one, from the bytes of commands to those of the answers, over one node.
 *
 * Two processes, one with one thread, without gate and locks as a daemon with `threads: 1`, and one with two, each on
 * a core of its own. They measure by turns; nothing else runs meanwhile, since what clients and the kernel cost would
 * need cores of its own. Every millisecond a step of the node happens, alone. The node has two peers, so that all that
 * is spent waits to be told to them; what telling costs, gossip.c measures. Of each pair of turns the ratio counts:
 * median, least and most.
 *
 * Of what a daemon does for a request this is the part where threads can meet; the kernel's part, which is two thirds
 * to nine tenths of it, knows nothing of threads. See tests/bench/threads for both together.
 *
 *   tests/bench/sharing [ROUNDS]
 */
#include "base/gate.h"
#include "base/random.h"
#include "edge/memory.h"
#include "tests/bench/measure.h"
#include "tests/served.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS = 2,
    COMMANDS = 1 << 16, /* of each thread and kind; served again and again */
    COMMAND_BYTES = 160,
    DEPTH = 16,
    KEYS = 1000000,
    TABLE_KEYS = 2000000,
    LOG_KEYS = 1 << 20,
    PACE = 1000, /* nobody acknowledges: what is told would fill the log */
    ROUNDS = 5,
    PAGE_BYTES = 4096,
    ROUNDS_MAX = 64,
};
#define TURN_NS UINT64_C(200000000)
#define STEP_NS UINT64_C(1000000)

enum kind { RANDOM_KEYS, ONE_KEY, THREE_RULES, KINDS };
static const char *const names[KINDS] = {"CAN_ACCESS, 1 M keys", "CAN_ACCESS, one key", "CHECK, three rules"};

struct text {
    char *bytes;
    size_t at[COMMANDS + 1]; /* where each command begins, and where they end */
};

struct server {
    pthread_t thread;
    uint32_t lane;
    enum kind kind;
    uint64_t commands_count;
    struct commands commands;
    struct session session;
    char reply[2 * OUTPUT_REPLY_MAX_BYTES];
    struct text text[KINDS];
};

/* What one turn of a process comes to. */
struct turn_report {
    double per_second[KINDS];
    uint64_t closed_count, waited_count; /* of the gate */
    uint64_t alone_ns;                   /* in steps */
};

static struct server *servers;
static struct gate gate;
static uint32_t threads;
static uint64_t began_ns;
static atomic_bool over;
static uint64_t alone_ns;

static void pin(uint32_t core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

/* ---- what is served ---- */

static size_t write_command(char *text, enum kind kind, unsigned number)
{
    char key[24];
    int size = snprintf(key, sizeof key, "key:%u", number);
    if (kind != THREE_RULES)
        return (size_t)snprintf(text, COMMAND_BYTES, "*2\r\n$10\r\nCAN_ACCESS\r\n$%d\r\n%s\r\n", size, key);
    return (size_t)snprintf(text, COMMAND_BYTES,
                            "*6\r\n$5\r\nCHECK\r\n$%d\r\nuser=%s\r\n$%d\r\nip=%s\r\n$%d\r\ntenant=%s\r\n"
                            "$7\r\nSERVICE\r\n$4\r\nshop\r\n",
                            size + 5, key, size + 3, key, size + 7, key);
}

static void write_text(struct text *text, enum kind kind, uint64_t seed)
{
    struct random random;
    size_t size = 0;
    random_seed(&random, seed);
    text->bytes = malloc((size_t)COMMANDS * COMMAND_BYTES);
    if (!text->bytes)
        give_up("not enough memory");
    for (int i = 0; i < COMMANDS; i++) {
        text->at[i] = size;
        uint64_t keys = kind == ONE_KEY ? 1 : kind == THREE_RULES ? KEYS / 3 : KEYS;
        size += write_command(text->bytes + size, kind, (unsigned)random_below(&random, keys));
    }
    text->at[COMMANDS] = size;
}

static void open_server(struct server *server, uint32_t lane)
{
    server->lane = lane;
    server->commands = served.commands;
    server->commands.lane = (uint8_t)lane;
    commands_init(&server->commands);
    session_open(&server->session, &server->commands, lane + 1, "127.0.0.1:50000");
    for (enum kind kind = 0; kind < KINDS; kind++)
        write_text(&server->text[kind], kind, lane * KINDS + kind);
}

/* ---- one process ---- */

/* All of it is there before anything is measured: what is touched for the first time may cost milliseconds. */
static void warm(void *context, void *memory, size_t bytes)
{
    (void)context;
    memory_prefer_huge_pages(memory, bytes);
    for (size_t i = 0; i < bytes; i += PAGE_BYTES) {
        volatile char *byte = (volatile char *)memory + i;
        *byte = *byte;
    }
}

static void step(uint64_t now_ns)
{
    if (threads > 1)
        gate_close(&gate, 0);
    served.now_ns = now_ns;
    served_step((struct event){.kind = EVENT_WAKE});
    alone_ns += began_ns + clock_ns() - now_ns;
    if (threads > 1)
        gate_open(&gate, 0, false);
}

static void serve_some(struct server *server, int first, uint64_t now_ns)
{
    const struct text *text = &server->text[server->kind];
    const struct turn turn = {now_ns, SERVED_WALL_NS + now_ns};
    const struct bytes input = {text->bytes + text->at[first], text->at[first + DEPTH] - text->at[first]};
    struct output output = output_over(server->reply, sizeof server->reply);
    size_t consumed;
    if (threads > 1)
        gate_enter(&gate, server->lane);
    (void)commands_serve(&server->commands, &server->session, input, &output, turn, &consumed);
    if (threads > 1)
        gate_leave(&gate, server->lane);
    if (consumed != input.size || output.size == 0)
        give_up("a command was not served");
}

static void *serve(void *context)
{
    struct server *server = context;
    uint64_t stepped_ns = 0, count = 0;
    pin(server->lane);
    node_use_lane(server->lane);
    for (int at = 0; !atomic_load_explicit(&over, memory_order_relaxed); at = (at + DEPTH) % COMMANDS) {
        uint64_t now_ns = began_ns + clock_ns();
        if (server->lane == 0 && now_ns - stepped_ns > STEP_NS) {
            step(now_ns);
            stepped_ns = now_ns;
        }
        serve_some(server, at, now_ns);
        count += DEPTH;
    }
    server->commands_count = count;
    return NULL;
}

static double take_turn(enum kind kind)
{
    uint64_t since_ns = clock_ns(), count = 0;
    struct timespec turn = {.tv_nsec = TURN_NS};
    atomic_store(&over, false);
    for (uint32_t i = 0; i < threads; i++) {
        servers[i].kind = kind;
        if (pthread_create(&servers[i].thread, NULL, serve, &servers[i]) != 0)
            give_up("no thread can be started");
    }
    (void)nanosleep(&turn, NULL);
    atomic_store(&over, true);
    for (uint32_t i = 0; i < threads; i++) {
        (void)pthread_join(servers[i].thread, NULL);
        count += servers[i].commands_count;
    }
    return (double)count * 1e9 / (double)(clock_ns() - since_ns);
}

/* Every byte that is read asks for a turn. */
static void run_process(uint32_t count, int asked, int told)
{
    char byte;
    struct turn_report report;
    threads = count;
    servers = calloc(count, sizeof *servers);
    if (!servers || !gate_init(&gate, count))
        give_up("not enough memory");
    served_plan(TABLE_KEYS, 2);
    served.options.lanes = count;
    served.options.log_keys_max = LOG_KEYS;
    served.options.tell_pace = PACE;
    /* So wide that what nobody acknowledges does not use it up. */
    if (!limits_add(&served.limits, "wide", 1000000000, 1, 1000 * SERVED_MS, 0))
        give_up("the limit is refused");
    served.limits.named.by_default = 2;
    served_begin();
    if (!set_rules("rules:\n"
                   "  - {id: per-user, service: shop, by: user, rate: 1/s, burst: 1000000000}\n"
                   "  - {id: per-ip, service: shop, by: ip, rate: 1/s, burst: 1000000000}\n"
                   "  - {id: per-tenant, service: shop, by: tenant, rate: 1/s, burst: 1000000000}\n"))
        give_up("the rules are refused");
    node_visit_memory(served.node, warm, NULL);
    for (uint32_t i = 0; i < count; i++)
        open_server(&servers[i], i);
    began_ns = served.now_ns - clock_ns();
    while (read(asked, &byte, 1) == 1) {
        for (enum kind kind = 0; kind < KINDS; kind++)
            report.per_second[kind] = take_turn(kind);
        report.alone_ns = alone_ns;
        report.closed_count = atomic_load(&gate.closed_count);
        report.waited_count = atomic_load(&gate.waited_count);
        if (write(told, &report, sizeof report) != sizeof report)
            give_up("nobody listens");
    }
    exit(0);
}

/* ---- both by turns ---- */

struct process {
    int ask, told;
};

static struct process start_process(uint32_t count)
{
    int asks[2], tells[2];
    if (pipe(asks) != 0 || pipe(tells) != 0)
        give_up("no pipe can be made");
    pid_t pid = fork();
    if (pid < 0)
        give_up("no process can be started");
    if (pid == 0) {
        (void)close(asks[1]);
        run_process(count, asks[0], tells[1]);
    }
    (void)close(asks[0]);
    (void)close(tells[1]);
    return (struct process){asks[1], tells[0]};
}

static struct turn_report measure(const struct process *process)
{
    struct turn_report report;
    if (write(process->ask, "?", 1) != 1 || read(process->told, &report, sizeof report) != sizeof report)
        give_up("a process has ended");
    return report;
}

static double share_alone(const struct turn_report *report, int rounds)
{
    return 100.0 * (double)report->alone_ns / ((double)TURN_NS * KINDS * (rounds + 1));
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    static double ratio[KINDS][ROUNDS_MAX];
    struct turn_report one, two = {0};
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : ROUNDS;
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    const struct process single = start_process(1), pair = start_process(THREADS);
    (void)measure(&single); /* tables fill */
    (void)measure(&pair);
    printf("millions a second, pipelined %d          one thread  two threads   ratio (least, most)\n", DEPTH);
    for (int round = 0; round < rounds; round++) {
        one = measure(&single);
        two = measure(&pair);
        for (enum kind kind = 0; kind < KINDS; kind++)
            ratio[kind][round] = two.per_second[kind] / one.per_second[kind];
    }
    for (enum kind kind = 0; kind < KINDS; kind++) {
        qsort(ratio[kind], (size_t)rounds, sizeof ratio[kind][0], by_size);
        printf("  %-38s %10.2f   %10.2f    %4.2f (%.2f, %.2f)\n", names[kind], one.per_second[kind] / 1e6,
               two.per_second[kind] / 1e6, ratio[kind][rounds / 2], ratio[kind][0], ratio[kind][rounds - 1]);
    }
    printf("  the gate was closed %" PRIu64 " times, somebody had to be waited for %" PRIu64
           " times; closing and steps\n"
           "  took %.2f %% of the time, of one thread %.2f %%\n",
           two.closed_count, two.waited_count, share_alone(&two, rounds), share_alone(&one, rounds));
    return 0;
}
