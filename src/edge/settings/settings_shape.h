/*
 * settings_shape: the shape of a config: which keys it has, and whether each is a value, a map or a list.
 *
 * The one idea: the whole tree is compared with the table of keys before any value is read, so the readers of values
 * find the keys and forms of the table. The values themselves are not looked at.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_SHAPE_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_SHAPE_H

#include "edge/settings/settings_reader.h"

/* Checks that all keys are known and have values of the right shape, within the bounds of lists and texts. */
bool settings_check_keys(const struct settings_reader *reader);

#endif
