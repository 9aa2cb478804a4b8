/*
 * plane_compile: services of the book become what requests use.
 *
 * The one idea: rules that fit together are staged; of rules that do not, the newest are left out,
 * which is the same everywhere.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_COMPILE_H
#define HEADGATE_CLUSTER_PLANE_PLANE_COMPILE_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct error;
struct node;
struct rule;
struct rulebook;

/* All services, once: what the store kept. */
void plane_compile_all(struct node *node, struct effects *effects);
/* One version may be tried out beside the other. */
bool plane_counts_by_the_same(const struct rule *a, const struct rule *b);
/*
 * Stages a service as the book has it; *rules: how many those are. Where they are not right together, an operator's
 * change is refused: false with `error`; of others those that fit are staged, which is told.
 */
bool plane_stage(struct node *node, const struct rulebook *book, struct bytes service, bool all_or_none,
                 uint32_t *rules, struct error *error, struct effects *effects);
/* Keys of the config's limits have the bound of a service as long as some service has rules; alone, none. */
void plane_bound_keys(struct node *node);

#endif
