/*
 * plain: requests of which nothing but tokens has to be seen to, as most are: keys that are in the table, under the
 * limits that their rules have now, or new ones that start full, all of them allowed.
 *
 * The one idea: what charges say of any key is looked up first, once for all requests that are alike; what is left is
 * done in line. Whatever is otherwise is left to check.c, as it was. Only for request.c and plain.c.
 */
#ifndef HEADGATE_CLUSTER_PLAIN_H
#define HEADGATE_CLUSTER_PLAIN_H

#include "cluster/record.h"

/* What a charge says of any key: good until a step. */
struct plain {
    const struct charge *charge; /* its id does not matter */
    const struct limit *limit;   /* the charge's, as what follows */
    const struct budget *budget;
    struct recording recording;
};

/* False: something else has to be seen to. `plain`: as many. */
bool plain_of(const struct node *node, const struct charge *charges, size_t count, struct plain *plain);

/*
 * Charges all keys of a request, which the caller holds; false, with nothing changed: it is not plain, or not allowed.
 * The time is that of request_time; guesses as node_prefetch_each has made them, or 0.
 */
bool take_plain(struct node *node, const struct plain *plain, const struct key_id *ids, const uint64_t *guesses,
                size_t count, uint64_t now_ns, struct verdict *verdicts);

#endif
