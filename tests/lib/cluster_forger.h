/*
 * cluster_forger: messages that somebody makes up who has the cluster's secret.
 *
 * The one idea: "eve", whom no config names, tells a node whatever a test wants of other members.
 * No node runs under her name.
 */
#ifndef HEADGATE_TESTS_LIB_CLUSTER_FORGER_H
#define HEADGATE_TESTS_LIB_CLUSTER_FORGER_H

#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "tests/lib/cluster_harness.h"

/*
 * The member that the message is about. `number`: of the newest message of that member that eve
 * claims to know; 0: of none.
 */
struct forged {
    const char *name, *region;
    uint64_t incarnation, number;
    enum peer_state state;
};

/* Eve sends `host` one message about `count` members. */
void forge(unsigned host, const struct forged *about, uint32_t count);

#endif
