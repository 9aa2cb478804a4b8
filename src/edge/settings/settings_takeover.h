/*
 * settings_takeover: the setting takeover_after, which ends rights by themselves (cluster/members/takeover.h).
 *
 * The one idea: the setting is refused where it can do nothing, and where it would do harm. All daemons must have the
 * same value, and name the same peers, so value and peers are a part of the digest.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_TAKEOVER_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_TAKEOVER_H

#include <stdbool.h>
#include <stdint.h>

struct settings;
struct settings_reader;

/* To be called when silent_after, forget_after, the peers and the weights are known. */
bool settings_read_takeover(struct settings *settings, const struct settings_reader *reader);
/* A part of settings_digest, whatever the order of the peers; 0 while the setting is off. */
uint64_t settings_takeover_digest(const struct settings *settings);

#endif
