/*
 * proof_state: the keys of members that are known here, and what they have signed of themselves.
 *
 * The one idea: a key outlives its member's place in the list, so pins are kept by name; all else is a part of the
 * member. Only members/proofs.c changes it, and votes.c the words of members about each other.
 */
#ifndef HEADGATE_CLUSTER_STATE_PROOF_STATE_H
#define HEADGATE_CLUSTER_STATE_PROOF_STATE_H

#include "cluster/codec/message.h"
#include "cluster/codec/statement.h"
#include "cluster/node_options.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PINS_MAX = 2 * NODE_PEERS_MAX,
    /* "name key", "name former key" and "name since incarnation", each in a line */
    PIN_TEXT_MAX_BYTES = 3 * (NODE_NAME_BYTES + sizeof " former \n") + 4 * NODE_KEY_BYTES + 20,
    PINS_TEXT_MAX_BYTES = (PINS_MAX + 1) * PIN_TEXT_MAX_BYTES,
    STEP_CHECKS_MAX = 16, /* signatures that one step checks */
};

struct pin {
    char name[NODE_NAME_BYTES]; /* "": the place is free */
    bool has_former;
    uint8_t key[NODE_KEY_BYTES];
    uint8_t former[NODE_KEY_BYTES]; /* the key before, which has signed that `key` follows it */
    uint64_t since;                 /* the newest incarnation that `key` has signed; 0: none is known */
};

/* A part of each member. */
struct member_proof {
    bool has_key;
    bool is_new;     /* learnt since this node started */
    bool differs;    /* it came with `offered` in place of the key, and is not heard for that */
    bool is_missing; /* it came without one where keys are required, and is not heard for that */
    bool has_life; /* the fields below are what it has signed last, with the addresses and the region in the list */
    uint8_t key[NODE_KEY_BYTES], offered[NODE_KEY_BYTES];
    enum peer_state state;
    uint64_t incarnation, config;
    /* what was known before this node started: without it, old messages would bring former keys back */
    bool had_former;
    uint8_t former[NODE_KEY_BYTES];
    uint64_t since;
    uint8_t proof[NODE_PROOF_BYTES];
    struct node_handover handover; /* to `key`, which was checked here; of the own one see node_options */
    bool knows_ours;               /* its newest message had this node's present key */
    uint32_t wrong_count;          /* signatures that it brought and that were wrong, since `wrong_since_ns` */
    uint64_t wrong_since_ns;
    /* its word about others, by its newest message: see votes.h */
    uint64_t forgets; /* bit i: the member i, of the incarnation that is known here, is to be forgotten */
    uint64_t ends_us; /* that this incarnation of this node's name counts, or has ended; 0: it does not say so */
    uint64_t gone[NODE_PEERS_MAX]; /* that this incarnation of a stranger has left; 0: it does not say so */
    uint64_t dialled_ns; /* when this node began to listen to it, as a stranger; 0: never. See strangers.h */
};

/* The newest statement of a member, which was checked: members/statements.c. */
struct kept_statement {
    char *bytes;
    size_t size, room; /* size 0: there is none */
    uint64_t incarnation, number;
    uint64_t heard_ns; /* when it was heard */
    uint32_t batch_count;
    struct statement_batch batches[STATEMENT_BATCHES_MAX];
};

struct proofs {
    struct pin pin[PINS_MAX];
    bool unsaved; /* the caller has not had them since they changed */
    uint64_t saved_number;
    char saved[PINS_TEXT_MAX_BYTES];
    uint32_t checks_left; /* of this step */
    bool sender_signed;   /* the message in work has its sender's signature, which was checked now or before */
    uint64_t wrong_ns, differs_ns, unsigned_ns; /* when a notice of that was last given */
    struct kept_statement kept[NODE_PEERS_MAX];
    struct statement statement;              /* scratch */
    char own_statement[STATEMENT_MAX_BYTES]; /* until the message is written that has it */
};

#endif
