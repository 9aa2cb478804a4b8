/*
 * fake_signing: signatures for tests that run many nodes.
 *
 * The one idea: a proof is a hash under the public key, and nobody computes it but the node whose key that is, since
 * tests forge nothing with fake_sign. So what is signed and what is checked is as with real keys, and it costs nothing.
 */
#ifndef HEADGATE_TESTS_LIB_FAKE_SIGNING_H
#define HEADGATE_TESTS_LIB_FAKE_SIGNING_H

#include "base/hash.h"
#include "cluster/node_options.h"

#include <string.h>

static inline void fake_proof(const uint8_t key[NODE_KEY_BYTES], struct bytes text, uint8_t proof[NODE_PROOF_BYTES])
{
    for (uint64_t i = 0; i < NODE_PROOF_BYTES / sizeof i; i++) {
        struct hash_key hash_key = {{(uint8_t)(i + 1)}};
        memcpy((uint8_t *)&hash_key + 1, key, sizeof hash_key - 1);
        const uint64_t part = hash_64(&hash_key, text.data, text.size);
        memcpy(proof + i * sizeof part, &part, sizeof part);
    }
}

/* `context`: the key. */
static inline void fake_sign(const void *context, struct bytes text, uint8_t proof[NODE_PROOF_BYTES])
{
    fake_proof(context, text, proof);
}

static inline bool fake_check(const uint8_t key[NODE_KEY_BYTES], struct bytes text,
                              const uint8_t proof[NODE_PROOF_BYTES])
{
    uint8_t expected[NODE_PROOF_BYTES];
    fake_proof(key, text, expected);
    return memcmp(proof, expected, sizeof expected) == 0;
}

/* The node signs from now on, with the key of that number. `signing` must stay where it is. */
static inline void fake_signing(struct node_signing *signing, uint8_t number, uint8_t key[NODE_KEY_BYTES])
{
    memset(key, number, NODE_KEY_BYTES);
    memcpy(signing->key, key, NODE_KEY_BYTES);
    signing->sign = fake_sign;
    signing->check = fake_check;
    signing->context = key;
}

#endif
