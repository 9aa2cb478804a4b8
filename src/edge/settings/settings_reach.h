/*
 * settings_reach: whether the limits of the config let anything through where all daemons that it names share them.
 *
 * The one idea: as of rules (rules/rule_reach.h). A limit under which no daemon ever admits a request is a mistake; one
 * under which only some do may be meant, and is a warning.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_REACH_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_REACH_H

#include "edge/settings/settings.h"
#include "edge/settings/settings_reader.h"

/* Once all else is read: fills settings->warning, or false after filling the reader's error. */
bool settings_check_reach(struct settings *settings, const struct settings_reader *reader);

/* The share of each daemon that the config names, its own first, in 1/SHARE_ONE; says how many they are. */
uint32_t settings_shares(const struct node_options *node, uint64_t shares[NODE_PEERS_MAX + 1]);

#endif
