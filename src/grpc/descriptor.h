/*
 * descriptor: what a descriptor of Envoy asks, as a query of the commands.
 *
 * The one idea: as in http/words.h, an entry named endpoint, tier, priority, rule or drain says what that option of
 * CHECK says, cost.bytes says COST bytes=, and any other entry is an identifier: its key a dimension, its value the
 * value. An endpoint that is a path has one spelling (path.h).
 * Nothing that a client of the gateway may choose makes the query wrong, since an error of the service lets requests
 * pass in most gateways: values that are too long are told apart by a hash, and what is no cost is the largest. Pure.
 */
#ifndef HEADGATE_GRPC_DESCRIPTOR_H
#define HEADGATE_GRPC_DESCRIPTOR_H

#include "base/bytes.h"
#include "base/hash.h"
#include "grpc/arena.h"
#include "wire/command.h"
#include "wire/command_query.h"
#include "wire/path.h"

#include <stdbool.h>

struct grpc_descriptor {
    struct command_query query;
    enum path_spelling spelling;
    uint32_t said;        /* which options were */
    bool alternative;     /* one of several descriptors, of which one with room is enough */
    bool has_stand_in_id; /* no entry is an identifier: a query must have one, and no rule counts by this one */
    char error[COMMAND_ERROR_BYTES];
};

void grpc_descriptor_begin(struct grpc_descriptor *descriptor, enum path_spelling spelling);
/*
 * Adds an entry, which outlives the query as the arena does. An entry without a value is an absent one. False: error
 * says why, or the arena is exhausted.
 */
bool grpc_descriptor_add(struct grpc_descriptor *descriptor, struct bytes key, struct bytes value,
                         const struct hash_key *hash_key, struct grpc_arena *arena);
void grpc_descriptor_end(struct grpc_descriptor *descriptor);
/* True: an entry of this name is the endpoint, of which the query has one spelling. */
bool grpc_descriptor_is_endpoint(struct bytes key);
/* True: an entry of this name says how the request is decided, and nothing of what it is about. */
bool grpc_descriptor_is_manner(struct bytes key);

#endif
