/*
 * persist_reservations: open reservations of a daemon, as bytes for a file that one process leaves to the next.
 *
 * The one idea: a head, records of two sizes, and a seal of all that under the key of the hashes. Times are spans from
 * the moment at which the file was written, and the wall clock says how long ago that is; where it was set back, no
 * time has passed. A file of another byte order, of another form of records or of other hashes is of no use, nor is one
 * that another daemon wrote: that daemon gives back what it holds. What becomes of a reservation,
 * node_recall_reservation says.
 */
#ifndef HEADGATE_PERSIST_RESERVATIONS_H
#define HEADGATE_PERSIST_RESERVATIONS_H

#include "base/bytes.h"
#include "base/hash.h"
#include "cluster/node.h"

/* The clocks of one moment. */
struct persist_moment {
    uint64_t now_ns, wall_ns;
};

/*
 * The open reservations of the node, in memory that the caller frees; NULL if there are none. False, with NULL: memory
 * is short.
 */
bool persist_keep_reservations(struct node *node, const char *name, const struct hash_key *key,
                               const struct persist_moment *moment, char **bytes, size_t *size);

struct persist_recalled {
    uint64_t open, ended;       /* reservations that go on; that have no room, and end */
    char name[NODE_NAME_BYTES]; /* of the daemon that has written the bytes; "": they are damaged, or of other hashes */
};
/*
 * Opens the reservations again, as node_recall_reservation does. False, with nothing changed: the bytes are of no use.
 */
bool persist_recall_reservations(struct node *node, const char *name, const struct hash_key *key,
                                 const struct persist_moment *moment, struct bytes kept,
                                 struct persist_recalled *recalled);

#endif
