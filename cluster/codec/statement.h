/*
 * statement: what a member signs of what it has heard, applied and spent, so that others may pass it on.
 *
 * The one idea: a statement names members and origins by itself and travels as the bytes that were signed. So whoever
 * passes it on need not know the same members and origins, and cannot change it. This file checks bounds and no
 * signature: members/statements.c does.
 */
#ifndef HEADGATE_CLUSTER_CODEC_STATEMENT_H
#define HEADGATE_CLUSTER_CODEC_STATEMENT_H

#include "cluster/codec/message.h"

#include <stdbool.h>
#include <stdint.h>

enum { STATEMENT_BATCHES_MAX = 32 };

/* One of the member's own batches. */
struct statement_batch {
    uint8_t hash[TEXT_HASH_BYTES]; /* see batch_hash.h */
    uint64_t age_ns;               /* since it was closed, when the statement was made */
};

struct statement_origin {
    uint32_t member; /* index into members */
    uint64_t incarnation, applied;
};

struct statement {
    struct bytes name;
    uint64_t incarnation, number; /* as of the member's message with that number */
    bool refuses, grants, heeds_uncharged, uncharged;
    uint64_t hears; /* bit i: it hears members[i]; its own bit: it is at rest */
    uint32_t member_count, origin_count;
    struct bytes members[NODE_PEERS_MAX];
    struct statement_origin origins[ORIGINS_MAX]; /* of which it has applied something */
    uint32_t batch_count;
    struct statement_batch batches[STATEMENT_BATCHES_MAX];
    struct bytes text;    /* what is signed */
    const uint8_t *proof; /* NODE_PROOF_BYTES, behind the text */
};

/*
 * Writes what the sender of a message with that header says of itself in `row`, and of own batches, at most
 * STATEMENT_BATCHES_MAX of them. The proof is still to be written.
 */
struct bytes statement_write(const struct message *header, const struct digest_row *row,
                             const struct statement_batch *batches, uint32_t batch_count,
                             char text[STATEMENT_MAX_BYTES]);
/* The statement has views into the bytes. False: it is malformed. */
bool statement_read(struct statement *statement, struct bytes bytes);

#endif
