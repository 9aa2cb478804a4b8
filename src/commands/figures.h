/*
 * figures: what a daemon has counted, for the reports of every protocol: INFO, and /metrics of HTTP.
 *
 * The one idea: other threads change these figures while they decide, so they are copied while the caller's thread is
 * alone. Reports print the copy afterwards, which takes far longer: meanwhile other threads decide. No text, no
 * allocation. What a step alone changes (peers, rules) reports read by themselves.
 */
#ifndef HEADGATE_COMMANDS_FIGURES_H
#define HEADGATE_COMMANDS_FIGURES_H

#include "cluster/node_report.h"
#include "commands/commands.h"
#include "edge/peers/transport.h"

#include <stdint.h>

struct figures {
    struct listener_stats listener; /* of all threads together, as the next */
    struct commands_stats commands;
    struct node_stats node;
    struct transport_stats transport; /* all 0 where there is none */
    uint64_t thread_commands[GATE_THREADS_MAX];
};

/* Makes the caller's thread alone for a while, see `alone` of struct commands. */
void figures_gather(const struct commands *commands, struct figures *figures);
/* The memory that the system backs, as it said 0.1 s ago at most: to ask takes longer than all other figures. */
uint64_t figures_resident_bytes(struct commands *commands, uint64_t now_ns);

#endif
