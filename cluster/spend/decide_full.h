/*
 * decide_full: the full kernel: decides any request, whatever its charges are.
 *
 * The one idea: all charges of a request are decided first and only then made, or none is. The fast
 * kernel decides the same, bit for bit, or leaves the request to this one.
 */
#ifndef HEADGATE_CLUSTER_SPEND_DECIDE_FULL_H
#define HEADGATE_CLUSTER_SPEND_DECIDE_FULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct charge;
struct node;
struct await;
struct verdict;

/* What became of one charge. */
struct made {
    bool is_made;
    uint64_t granted; /* see struct charge */
};

/*
 * Decides one request, as node_decide does, and makes its charges if `take`. The caller has locked its
 * keys; now_ns must come from decide_time_ns. `made`: of each charge; it may be NULL, and is written only if
 * `take`. `await`: see struct run; NULL: the request does not wait.
 */
bool decide_full(struct node *node, const struct charge *charges, size_t count, bool take, uint64_t now_ns,
                 struct verdict *verdicts, struct made *made, struct await *await);

#endif
