/*
 * key_shown: what the hosts of cluster_harness have left of a key, for tests and their transcripts.
 */
#ifndef HEADGATE_TESTS_LIB_KEY_SHOWN_H
#define HEADGATE_TESTS_LIB_KEY_SHOWN_H

#include "limit/limit.h"

#include <stdint.h>

/* What that host thinks is left of a key under these terms, but for a part of a token that refills in seconds. */
int64_t key_left(unsigned host, const char *key, const struct limit_terms *terms);
/* Of its spends, those that somebody may not know of. */
int64_t key_unsettled(unsigned host, const char *key, const struct limit_terms *terms);
/* Tells both of each host. */
void key_show(const char *key, const struct limit_terms *terms);

#endif
