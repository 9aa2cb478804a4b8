/*
 * sharing: how much more two threads serve than one, from the bytes of commands to those of the answers, over one node.
 *
 * By turns, each on cores of their own: one thread, without gate and locks, as a daemon with `threads: 1`; two of these
 * at the same time in two processes, which share nothing; and two threads over one node. The second says what this
 * machine's two cores can at most do more than one (they share its power, its caches, its memory and perhaps more, if
 * it is a virtual one), the third, next to it, what sharing costs. Nothing else runs meanwhile, since what clients and
 * the kernel cost would need cores of its own. Every millisecond a step of the node happens, alone. Nodes are alone, or
 * have two peers that all is to be told that is spent; what telling costs, gossip.c measures. A ratio is taken within a
 * round: median, least and most of all rounds.
 *
 * Of what a daemon does for a request this is the part where threads can meet; the kernel's part, which is two thirds
 * to nine tenths of it, knows nothing of threads. See tests/bench/threads for both together.
 *
 *   tests/bench/sharing [--quick | ROUNDS]
 */
#include "base/gate.h"
#include "base/random.h"
#include "commands/hot.h"
#include "edge/process/memory.h"
#include "tests/bench/measure.h"
#include "tests/bench/spread.h"
#include "tests/lib/served.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS = 2,
    COMMAND_BYTES = 160,
    DEPTH = 16,
    DIGITS = 3,
    THOUSAND = 1000,
    IDS_MAX = 3,
    TABLE_KEYS = 2000000,
    LOG_KEYS = 1 << 20,
    PACE = 1000, /* nobody acknowledges: what is told would fill the log */
    ROUNDS = 200,
    QUICK_ROUNDS = 45,
    WARM_TURNS = 40,
    PAGE_BYTES = 4096,
    ROUNDS_MAX = 1000,
};
#define TURN_NS UINT64_C(10000000) /* shorter than what else a machine does mostly lasts */
#define STEP_NS UINT64_C(1000000)

enum kind { RANDOM_KEYS, ONE_KEY, THREE_RULES, TOLD_KEYS, KINDS };

/* What is asked: of so many keys, or three times as many. */
static const struct {
    const char *name;
    uint32_t peers, keys;
    bool checks;
} kinds[KINDS] = {
    [RANDOM_KEYS] = {"CAN_ACCESS, 1 M keys", 0, 1000000, false},
    [ONE_KEY] = {"CAN_ACCESS, one key", 0, 1, false},
    [THREE_RULES] = {"CHECK, three rules", 0, 333333, true},
    [TOLD_KEYS] = {"CAN_ACCESS, told", 2, 300000, false}, /* so many are untold at once */
};

/* DEPTH commands, with the places of the digits that tell keys apart. */
struct text {
    char bytes[DEPTH * COMMAND_BYTES];
    size_t size;
    uint32_t number[DEPTH][IDS_MAX]; /* of each command's ids; all of a command have the same */
    uint32_t ids;
};

struct server {
    pthread_t thread;
    uint32_t number, core;
    enum kind kind;
    uint64_t commands_count, serving_ns;
    struct random random;
    struct commands commands;
    struct session session;
    char reply[2 * OUTPUT_REPLY_MAX_BYTES];
    struct text text[KINDS];
};

/* What a process is asked for, and what it answers. */
struct turn_wish {
    enum kind kind;
    uint32_t core; /* the first thread's; the next have the next */
};
struct turn_report {
    double per_second;
    double alone_share; /* of the time, in steps */
    uint64_t commands_count;
    uint64_t lock_waits; /* for the table's locks */
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

static char digits[THOUSAND][DIGITS + 1];

static void write_command(struct text *text, uint32_t index, bool checks)
{
    static const char access[] = "*2\r\n$10\r\nCAN_ACCESS\r\n$10\r\nkey:000000\r\n";
    static const char check[] = "*6\r\n$5\r\nCHECK\r\n$15\r\nuser=key:000000\r\n$13\r\nip=key:000000\r\n"
                                "$17\r\ntenant=key:000000\r\n$7\r\nSERVICE\r\n$4\r\nshop\r\n";
    char *command = text->bytes + text->size;
    (void)memcpy(command, checks ? check : access, checks ? sizeof check : sizeof access);
    text->ids = 0;
    for (const char *key = command; (key = strstr(key, "key:")) != NULL;) {
        key += sizeof "key:" - 1;
        text->number[index][text->ids++] = (uint32_t)(key - text->bytes);
    }
    text->size += strlen(command);
}

/* Each time others: what is asked again and again in the same order finds all that belongs to it in that order. */
static void draw_keys(struct text *text, struct random *random, uint32_t keys)
{
    for (uint32_t i = 0; i < DEPTH; i++) {
        uint32_t key = (uint32_t)random_below(random, keys);
        for (uint32_t k = 0; k < text->ids; k++) {
            char *number = text->bytes + text->number[i][k];
            memcpy(number, digits[key / THOUSAND], DIGITS);
            memcpy(number + DIGITS, digits[key % THOUSAND], DIGITS);
        }
    }
}

static void open_server(struct server *server, uint32_t thread)
{
    server->number = thread;
    server->commands = served.commands;
    server->commands.thread = (uint8_t)thread;
    random_seed(&server->random, thread);
    server->commands.observer.hot = hot_create(false, thread);
    if (!server->commands.observer.hot)
        give_up("memory is short");
    commands_init(&server->commands);
    session_open(&server->session, &server->commands, thread + 1, "127.0.0.1:50000");
    for (enum kind kind = 0; kind < KINDS; kind++)
        for (uint32_t i = 0; i < DEPTH; i++)
            write_command(&server->text[kind], i, kinds[kind].checks);
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

static void serve_some(struct server *server, uint64_t now_ns)
{
    struct text *text = &server->text[server->kind];
    const struct turn turn = {.now_ns = now_ns, .wall_ns = SERVED_WALL_NS + now_ns};
    const struct bytes input = {text->bytes, text->size};
    struct output output = output_over(server->reply, sizeof server->reply);
    size_t consumed;
    draw_keys(text, &server->random, kinds[server->kind].keys);
    if (threads > 1)
        gate_enter(&gate, server->number);
    (void)commands_serve(&server->commands, &server->session, input, &output, turn, &consumed);
    if (threads > 1)
        gate_leave(&gate, server->number);
    if (consumed != input.size || output.size == 0)
        give_up("a command was not served");
}

static void *serve(void *context)
{
    struct server *server = context;
    uint64_t count = 0;
    pin(server->core);
    node_use_thread(server->number);
    const uint64_t from_ns = began_ns + clock_ns();
    uint64_t stepped_ns = from_ns;
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        uint64_t now_ns = began_ns + clock_ns();
        if (server->number == 0 && now_ns - stepped_ns > STEP_NS) {
            step(now_ns);
            stepped_ns = now_ns;
        }
        serve_some(server, now_ns);
        count += DEPTH;
    }
    server->commands_count = count;
    server->serving_ns = began_ns + clock_ns() - from_ns;
    return NULL;
}

static uint64_t table_waits(void)
{
    struct table_stats table;
    node_table_stats(served.node, &table);
    return table.lock_waits;
}

/* The step that is due since the turn before comes first, and how long threads take to come and go does not count. */
static struct turn_report take_turn(struct turn_wish wish)
{
    struct turn_report report = {0};
    struct timespec turn = {.tv_nsec = TURN_NS};
    atomic_store(&over, false);
    step(began_ns + clock_ns());
    report.lock_waits = table_waits();
    const uint64_t since_ns = clock_ns(), alone_before_ns = alone_ns;
    for (uint32_t i = 0; i < threads; i++) {
        servers[i].kind = wish.kind;
        servers[i].core = wish.core + i;
        if (pthread_create(&servers[i].thread, NULL, serve, &servers[i]) != 0)
            give_up("no thread can be started");
    }
    (void)nanosleep(&turn, NULL);
    atomic_store(&over, true);
    for (uint32_t i = 0; i < threads; i++) {
        (void)pthread_join(servers[i].thread, NULL);
        report.commands_count += servers[i].commands_count;
        report.per_second += (double)servers[i].commands_count * 1e9 / (double)servers[i].serving_ns;
    }
    report.alone_share = (double)(alone_ns - alone_before_ns) / (double)(clock_ns() - since_ns);
    report.lock_waits = table_waits() - report.lock_waits;
    return report;
}

static void run_process(uint32_t count, uint32_t peers, int asked, int told)
{
    struct turn_wish wish;
    threads = count;
    for (int i = 0; i < THOUSAND; i++)
        (void)snprintf(digits[i], sizeof digits[i], "%03d", i);
    servers = calloc(count, sizeof *servers);
    if (!servers || !gate_init(&gate, count))
        give_up("not enough memory");
    served_plan(TABLE_KEYS, peers);
    served.options.threads = count;
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
    while (read(asked, &wish, sizeof wish) == sizeof wish) {
        struct turn_report report = take_turn(wish);
        if (write(told, &report, sizeof report) != sizeof report)
            give_up("nobody listens");
    }
    exit(0);
}

/* ---- all by turns ---- */

struct process {
    int ask, told;
};

static struct process start_process(uint32_t count, uint32_t peers)
{
    int asks[2], tells[2];
    if (pipe(asks) != 0 || pipe(tells) != 0)
        give_up("no pipe can be made");
    pid_t pid = fork();
    if (pid < 0)
        give_up("no process can be started");
    if (pid == 0) {
        (void)close(asks[1]);
        run_process(count, peers, asks[0], tells[1]);
    }
    (void)close(asks[0]);
    (void)close(tells[1]);
    return (struct process){asks[1], tells[0]};
}

static void begin_turn(const struct process *process, enum kind kind, uint32_t core)
{
    struct turn_wish wish = {kind, core};
    if (write(process->ask, &wish, sizeof wish) != sizeof wish)
        give_up("a process has ended");
}

static struct turn_report end_turn(const struct process *process)
{
    struct turn_report report;
    if (read(process->told, &report, sizeof report) != sizeof report)
        give_up("a process has ended");
    return report;
}

/* Those without peers, and those with: the first that are apart are also the ones that are alone. */
static struct process apart[2][THREADS], together[2];

/* What one kind comes to in a round, a second. */
struct round {
    double one, apart, together, waits, alone_share;
};

static struct round measure(enum kind kind, uint32_t core)
{
    const bool told = kinds[kind].peers > 0;
    struct round round = {0};
    begin_turn(&apart[told][0], kind, core); /* each core in turns: they may differ */
    round.one = end_turn(&apart[told][0]).per_second;
    for (uint32_t i = 0; i < THREADS; i++)
        begin_turn(&apart[told][i], kind, i);
    for (uint32_t i = 0; i < THREADS; i++)
        round.apart += end_turn(&apart[told][i]).per_second;
    begin_turn(&together[told], kind, 0);
    const struct turn_report now = end_turn(&together[told]);
    round.together = now.per_second;
    round.waits = (double)now.lock_waits / (double)now.commands_count;
    round.alone_share = now.alone_share;
    return round;
}

/* The medians of two threads: to one, and to two that share nothing. */
struct ratios {
    double to_one, to_apart;
};

static struct ratios tell(enum kind kind, const struct round *rounds, int count)
{
    static double one[ROUNDS_MAX], ceiling[ROUNDS_MAX], both[ROUNDS_MAX], cost[ROUNDS_MAX], waits[ROUNDS_MAX],
        alone[ROUNDS_MAX];
    for (int i = 0; i < count; i++) {
        one[i] = rounds[i].one;
        ceiling[i] = rounds[i].apart / rounds[i].one;
        both[i] = rounds[i].together / rounds[i].one;
        cost[i] = rounds[i].together / rounds[i].apart;
        waits[i] = rounds[i].waits;
        alone[i] = rounds[i].alone_share;
    }
    struct spread to_one = spread_of(both, count), to_apart = spread_of(cost, count);
    printf("  %-20s %6.2f      %4.2f      %4.2f (%.2f, %.2f)  %4.2f (%.2f, %.2f)  %6.0f   %4.2f %%\n",
           kinds[kind].name, spread_of(one, count).median / 1e6, spread_of(ceiling, count).median, to_one.median,
           to_one.least, to_one.most, to_apart.median, to_apart.least, to_apart.most,
           1e6 * spread_of(waits, count).median, 100.0 * spread_of(alone, count).median);
    return (struct ratios){to_one.median, to_apart.median};
}

static bool keeps(double ratio, double goal, enum kind kind, const char *what)
{
    const bool kept = ratio >= goal;
    printf("%s: %s: %s %.2f, at least %.1f\n", kept ? "kept" : "BROKEN", kinds[kind].name, what, ratio, goal);
    return kept;
}

int main(int argc, char **argv)
{
    static struct round rounds[KINDS][ROUNDS_MAX];
    struct ratios ratios[KINDS];
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    int count = quick ? QUICK_ROUNDS : argc > 1 ? (int)strtol(argv[1], NULL, 10) : ROUNDS;
    count = count < 1 ? 1 : count > ROUNDS_MAX ? ROUNDS_MAX : count;
    for (int told = 0; told < 2; told++) {
        for (uint32_t i = 0; i < THREADS; i++)
            apart[told][i] = start_process(1, told ? 2 : 0);
        together[told] = start_process(THREADS, told ? 2 : 0);
    }
    for (int i = 0; i < WARM_TURNS; i++)
        for (enum kind kind = 0; kind < KINDS; kind++)
            (void)measure(kind, 0);
    for (int i = 0; i < count; i++)
        for (enum kind kind = 0; kind < KINDS; kind++)
            rounds[kind][i] = measure(kind, (uint32_t)i % THREADS);
    printf("  medians of %3d           one,     apart,    two threads,      two threads,      waits,   steps,\n"
           "  rounds, %d at a time    M a s    to one    to one            to two apart      a million    time\n",
           count, DEPTH);
    for (enum kind kind = 0; kind < KINDS; kind++)
        ratios[kind] = tell(kind, rounds[kind], count);
    bool kept = true;
    for (enum kind kind = 0; kind < KINDS; kind++)
        kept &= kind == ONE_KEY ? keeps(ratios[kind].to_one, 1.0, kind, "two threads to one")
                                : keeps(ratios[kind].to_apart, 0.9, kind, "two threads to two that share nothing");
    return !kept;
}
