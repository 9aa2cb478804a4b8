/*
 * settings_reach: whether the limits of the config let anything through where all daemons that it names share them.
 *
 * The one idea: as of rules (rules/rule_reach.h). A limit under which no daemon ever admits a request is a mistake; one
 * under which only some do may be meant, and is a warning.
 */
#ifndef HEADGATE_EDGE_SETTINGS_REACH_H
#define HEADGATE_EDGE_SETTINGS_REACH_H

#include "edge/settings.h"
#include "edge/settings_reader.h"

/* Once all else is read: fills settings->warning, or false after filling the reader's error. */
bool settings_check_reach(struct settings *settings, const struct settings_reader *reader);

#endif
