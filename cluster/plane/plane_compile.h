/*
 * plane_compile: compiles the rules of a service in the book into the form that requests use.
 *
 * The one idea: rules that fit together are staged. Of rules that do not, the newest are left out,
 * which gives the same rules at every peer.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_COMPILE_H
#define HEADGATE_CLUSTER_PLANE_PLANE_COMPILE_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct error;
struct node;
struct rulebook;

/* Compiles all services at once, after the store gave its versions. */
void plane_compile_all(struct node *node, struct effects *effects);
/*
 * Stages a service as the book has it; *rules: the number of its rules. If the rules do not fit
 * together and `all_or_none` (an operator's change), false with `error`. Otherwise the rules that
 * fit are staged, and a notice tells the rest.
 */
bool plane_stage(struct node *node, const struct rulebook *book, struct bytes service, bool all_or_none,
                 uint32_t *rules, struct error *error, struct effects *effects);
/*
 * Keys of the config's limits are bounded like keys of a service while some service has rules; else
 * they have no bound.
 */
void plane_bound_keys(struct node *node);

#endif
