/*
 * changes: for how long a change of rules holds up whoever asks meanwhile.
 *
 * Three real nodes in this process, on simulated time. One of them is given a document of 10,000 rules; then the same
 * with two rules changed; then one rule; each time the others take over what changed. A step holds up all requests at
 * its node, so it is the longest step of each that counts, in processor time; of several rounds in fresh worlds the
 * least. Exit status 1 if one is longer than 5 ms.
 */
#include "tests/bench/measure.h"
#include "tests/lib/plane_world.h"

enum { RULES = 10000, SERVICE_RULES = 12, ROUNDS = 5, NODES = 3, WAIT_MS = 2000, GOAL_US = 5000 };

enum kind { ALL_NEW, TWO_CHANGED, ONE_RULE, KINDS };
static const char *const kind_names[KINDS] = {"10,000 new rules", "a document of 10,000, two changed", "one rule"};

struct cost {
    uint64_t longest_ns, total_ns, steps;
};
static struct cost cost[NODES]; /* of the change at hand */
static uint64_t asked_longest_ns[KINDS], peer_longest_ns[KINDS], asked_total_ns[KINDS], peer_total_ns[KINDS];
static uint64_t asked_steps[KINDS];

static void timed_step(unsigned i, const struct event *event)
{
    uint64_t began_ns = processor_ns();
    node_step(world.host[i].node, event, &world.effects);
    uint64_t took_ns = processor_ns() - began_ns;
    cost[i].longest_ns = took_ns > cost[i].longest_ns ? took_ns : cost[i].longest_ns;
    cost[i].total_ns += took_ns;
    cost[i].steps++;
}

static const char *document(unsigned changed_rate)
{
    static const char *const dimensions[] = {"user", "ip", "tenant"};
    static char text[RULES * 96];
    size_t size = (size_t)snprintf(text, sizeof text, "rules:\n");
    for (unsigned i = 0; i < RULES; i++)
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "  - {id: r%u, service: svc%u, by: %s, rate: %u/s, burst: 100}\n", i,
                                 i / SERVICE_RULES, dimensions[i % 3],
                                 i == RULES / 100 || i == RULES / 2 ? changed_rate : 100);
    return text;
}

static void change(enum kind kind, const char *text)
{
    memset(cost, 0, sizeof cost);
    struct rules_result result = set(ANN, text);
    if (result.refused)
        give_up(result.error.text);
    keep_least(&asked_longest_ns[kind], cost[ANN].longest_ns);
    keep_least(&asked_total_ns[kind], cost[ANN].total_ns);
    asked_steps[kind] = cost[ANN].steps;
    world_run(WAIT_MS);
    if (!all_agree())
        give_up("the others have not taken it over");
    for (unsigned i = BOB; i < NODES; i++) {
        keep_least(&peer_longest_ns[kind], cost[i].longest_ns);
        keep_least(&peer_total_ns[kind], cost[i].total_ns);
    }
}

static void one_round(void)
{
    world_init(NODES);
    world.quiet = true;
    world.step = timed_step;
    for (unsigned i = 0; i < NODES; i++)
        world.host[i].options.message_max_bytes = 1 << 20;
    world_name_all();
    world_start_all();
    world_run(1000);
    change(ALL_NEW, document(100));
    change(TWO_CHANGED, document(101));
    change(ONE_RULE, "{id: r1, service: svc0, by: ip, rate: 7/s}");
    world_close();
}

int main(void)
{
    uint64_t worst_ns = 0;
    for (int round = 0; round < ROUNDS; round++)
        one_round();
    printf(
        "changes of rules; us of processor time    asked: longest step     all  steps   peer: longest     all\n");
    for (unsigned kind = 0; kind < KINDS; kind++) {
        printf("  %-40s %20.0f %7.0f %6" PRIu64 " %15.0f %7.0f\n", kind_names[kind],
               (double)asked_longest_ns[kind] / 1e3, (double)asked_total_ns[kind] / 1e3, asked_steps[kind],
               (double)peer_longest_ns[kind] / 1e3, (double)peer_total_ns[kind] / 1e3);
        worst_ns = asked_longest_ns[kind] > worst_ns ? asked_longest_ns[kind] : worst_ns;
        worst_ns = peer_longest_ns[kind] > worst_ns ? peer_longest_ns[kind] : worst_ns;
    }
    bool kept = worst_ns <= (uint64_t)GOAL_US * 1000;
    printf("%s: the longest step is at most 5 ms\n", kept ? "kept" : "BROKEN");
    return kept ? 0 : 1;
}
