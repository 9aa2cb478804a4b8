/*
 * settings_weights: the setting weights_by_demand, with which weights follow demand by themselves
 * (cluster/members/weights_auto.h), and the floors of regions.
 *
 * The one idea: the setting is refused where it can do nothing, and so is a floor without the setting. Each daemon may
 * have it or not: the setting is no part of the digest.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_WEIGHTS_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_WEIGHTS_H

#include <stdbool.h>

struct settings;
struct settings_reader;

/* To be called when the interval, the regions, takeover_after and state_dir are known. */
bool settings_read_weights(struct settings *settings, const struct settings_reader *reader);

#endif
