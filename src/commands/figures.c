/*
 * Adds up the counters of all threads while no other thread decides, and asks the system for the
 * memory of the process.
 */
#include "commands/figures.h"

#include "base/metric.h"
#include "edge/process/memory.h"

#define RESIDENT_STALE_NS ((uint64_t)100000000)

static void add_listener(struct listener_stats *sum, const struct listener_stats *of)
{
#define X(name, help) sum->name += metric_get(&of->name);
    LISTENER_STATS(X)
#undef X
}

static void add_commands(struct commands_stats *sum, const struct commands_stats *of)
{
#define X(name, help) sum->name += of->name;
    COMMANDS_STATS(X)
#undef X
}

static void add_central(struct central_stats *sum, const struct central_stats *of)
{
#define X(name, help) sum->name += metric_get(&of->name);
    CENTRAL_STATS(X)
#undef X
}

static void add_observed(struct observed_counts *sum, const struct observed_counts *of)
{
    sum->listed += of->listed;
    sum->zero += of->zero;
    sum->shadow += of->shadow;
    sum->soft += of->soft;
}

static void be_alone(const struct commands *commands, bool alone)
{
    if (commands->alone)
        commands->alone(commands->context, alone);
}

void figures_gather(const struct commands *commands, struct figures *figures)
{
    const struct commands *only = commands;
    const struct commands_worker_threads *worker_threads = commands->worker_threads;
    const struct commands *const *members = worker_threads != NULL ? worker_threads->member : &only;
    *figures = (struct figures){0};
    be_alone(commands, true);
    for (uint32_t i = 0; i < (worker_threads != NULL ? worker_threads->count : 1); i++) {
        if (members[i]->listener != NULL)
            add_listener(&figures->listener, members[i]->listener);
        add_commands(&figures->commands, &members[i]->stats);
        if (members[i]->central != NULL)
            add_central(&figures->central, central_stats(members[i]->central));
        if (members[i]->central_before != NULL)
            add_central(&figures->central, central_stats(members[i]->central_before));
        add_observed(&figures->observed, &members[i]->observer.counts);
        for (size_t door = 0; door < DOORS; door++)
            latency_add(&figures->latency[door], &members[i]->latencies.door[door]);
        figures->thread_commands[i] = members[i]->stats.total_commands_processed;
    }
    node_stats(commands->node, &figures->node);
    node_refusals(commands->node, figures->refused);
    figures->refused[VERDICT_DENY_LIST] += figures->observed.listed;
    figures->refused[VERDICT_LIMIT_ZERO] += figures->observed.zero;
    if (commands->transport != NULL)
        figures->transport = transport_stats(commands->transport);
    be_alone(commands, false);
}

uint64_t figures_resident_bytes(struct commands *commands, uint64_t now_ns)
{
    struct resident *resident = &commands->resident;
    if (resident->asked_ns == 0 || now_ns - resident->asked_ns >= RESIDENT_STALE_NS)
        *resident = (struct resident){.bytes = memory_resident_bytes(), .asked_ns = now_ns};
    return resident->bytes;
}
