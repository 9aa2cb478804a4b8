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
struct verdict;

/* decide_held for any charges, which are made. */
bool decide_full(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns,
                 struct verdict *verdicts, bool *taken);
/* The same decision; makes no charge. */
bool peek_full(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns,
               struct verdict *verdicts);

#endif
