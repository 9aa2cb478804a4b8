/*
 * settings_reach: whether limits of the config ever admit a request when all daemons of the config
 * share them.
 *
 * The one idea: the same as for rules (rules/rule_reach.h). A limit under which no daemon ever
 * admits a request is a mistake. A limit under which only some daemons admit requests may be meant,
 * and is a warning. This file reads no text.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_REACH_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_REACH_H

#include "edge/settings/settings.h"
#include "edge/settings/settings_reader.h"

/*
 * Fills settings->warning. False: a limit is a mistake, and the reader's error says which. The
 * caller must have read everything else of the settings.
 */
bool settings_check_reach(struct settings *settings, const struct settings_reader *reader);

/*
 * Fills in the share of each daemon that the config names, this daemon first, in 1/SHARE_ONE.
 * Returns the number of shares.
 */
uint32_t settings_shares(const struct node_options *node, uint64_t shares[NODE_PEERS_MAX + 1]);

#endif
