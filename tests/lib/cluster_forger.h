/*
 * cluster_forger: messages that somebody makes up who has the cluster's secret.
 *
 * The one idea: "eve", whom no config names, says of members what a test wants her to say. Nobody runs under her name.
 */
#ifndef HEADGATE_TESTS_LIB_CLUSTER_FORGER_H
#define HEADGATE_TESTS_LIB_CLUSTER_FORGER_H

#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "tests/lib/cluster_harness.h"

/* Whom the message is about; `number`: of the newest message that she says he made; 0: of none. */
struct forged {
    const char *name, *region;
    uint64_t incarnation, number;
    enum peer_state state;
};

/* Eve says it to that host: of `count` members, in one message. */
void forge(unsigned host, const struct forged *about, uint32_t count);

#endif
