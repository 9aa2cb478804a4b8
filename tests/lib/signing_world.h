/*
 * signing_world: hosts that sign what they say of themselves, each with a key of its own.
 *
 * The one idea: host 0 has the key 01 01 .., host 1 has 02 02 .., and so on, so that a test can name any key.
 */
#ifndef HEADGATE_TESTS_LIB_SIGNING_WORLD_H
#define HEADGATE_TESTS_LIB_SIGNING_WORLD_H

#include "tests/lib/cluster_harness.h"
#include "tests/lib/fake_signing.h"

extern uint8_t signing_key[WORLD_HOSTS_MAX][NODE_KEY_BYTES];

/* All hosts of the world sign, from their next start on. */
void signing_all(enum node_keys how);
/* All name each other and sign; none is started. */
void signing_world_init(unsigned count, enum node_keys how);
/* The same; all are active, and the transcript is empty. */
void signing_world_start(unsigned count, enum node_keys how);
/* What the host reports of that peer; all 0 where it knows none of the name. */
struct peer_report signing_report(unsigned host, const char *name);

#endif
