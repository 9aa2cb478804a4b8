/*
 * batch_hash: what a batch holds, as a hash that its maker signs (statement.h).
 *
 * The one idea: the hash is over what is the same at every member: numbers, keys, terms and tokens. Ages and lives are
 * as old as their reader takes them to be, and each member knows other limits and origins, so neither those, nor
 * dependencies, nor the order of limits are in it. Grants name holders, whom a relay may not know, so they are in
 * another hash.
 */
#ifndef HEADGATE_CLUSTER_CODEC_BATCH_HASH_H
#define HEADGATE_CLUSTER_CODEC_BATCH_HASH_H

#include "base/bytes.h"
#include "base/hash.h"

#include <stdint.h>

struct batch;
struct limit_set;

/* The batch must be sorted (batch_sort). Without memory the hash is that of no batch. */
void batch_hash(const struct batch *batch, const struct limit_set *limits, uint8_t hash[TEXT_HASH_BYTES]);

/* Whom a grant is for, as all members know it; an empty name: nobody here knows. */
struct batch_holder {
    struct bytes name;
    uint64_t incarnation;
};
/* The same with the grants of known holders: holders[g] is that of batch->grant[g]. NULL: without them. */
void batch_hash_granting(const struct batch *batch, const struct limit_set *limits,
                         const struct batch_holder *holders, uint8_t hash[TEXT_HASH_BYTES]);

#endif
