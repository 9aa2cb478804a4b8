/*
 * figures: what a daemon has counted, for the reports of every protocol: INFO, and /metrics of
 * HTTP.
 *
 * The one idea: other threads change these figures while they decide. So the figures are copied
 * while the caller's thread runs alone, and reports print the copy afterwards. Printing takes far
 * longer than copying, and other threads decide meanwhile. Not copied is what only a step changes (peers,
 * which rules there are), and the counts of rules, which a report reads rule by rule while threads count
 * (ruled_counts). No text, no allocation.
 */
#ifndef HEADGATE_COMMANDS_FIGURES_H
#define HEADGATE_COMMANDS_FIGURES_H

#include "cluster/node_report.h"
#include "commands/commands.h"
#include "edge/central/central.h"
#include "edge/peers/transport.h"

#include <stdint.h>

struct figures {
    struct listener_stats listener; /* sums of all threads, as are the figures that follow */
    struct commands_stats commands;
    struct node_stats node;
    struct central_stats central;     /* all 0 if there is no central store */
    struct transport_stats transport; /* all 0 if there is no transport */
    struct observed_counts observed;
    struct latency latency[DOORS];
    uint64_t refused[VERDICT_REASON_COUNT]; /* requests, by reason */
    uint64_t thread_commands[GATE_THREADS_MAX];
};

/* Copies all figures. Runs the caller's thread alone meanwhile: see `alone` of struct commands. */
void figures_gather(const struct commands *commands, struct figures *figures);
/* The memory that the system backs, at most 0.1 s old: asking the system takes longer than all other figures. */
uint64_t figures_resident_bytes(struct commands *commands, uint64_t now_ns);

#endif
