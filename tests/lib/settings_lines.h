/*
 * settings_lines: configs of node a in region x that differ in a few lines, for tests of one setting.
 *
 * The one idea: a test says the lines alone; what every config needs is the same for all.
 */
#ifndef HEADGATE_TESTS_LIB_SETTINGS_LINES_H
#define HEADGATE_TESTS_LIB_SETTINGS_LINES_H

#include "edge/settings/settings.h"

#define PEER(name, region, port) "- {node: " name ", region: " region ", gossip: '10.0.0.1:" port "'}\n"

extern struct settings lines_settings; /* of the last config that was read */
extern struct error lines_error;

bool lines_read(const char *lines);
/* The digest of the config with these lines; 0: it is refused. */
uint64_t lines_digest(const char *lines);
/* True: the config is refused with a sentence that contains `why`. Another sentence is printed. */
bool lines_refused(const char *lines, const char *why);

#endif
