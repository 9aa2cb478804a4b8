/*
 * settings_cluster: the part of the config that says who is where: regions and their weights, this node's
 * addresses, its peers. settings.c calls it once this node's name is known.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_CLUSTER_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_CLUSTER_H

#include "edge/settings/settings.h"
#include "edge/settings/settings_reader.h"

/* False after filling the reader's error. */
bool settings_read_cluster(struct settings *settings, const struct settings_reader *reader);

#endif
