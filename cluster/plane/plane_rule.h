/*
 * plane_rule: what a rule that an operator sets must be, beyond being right by itself.
 *
 * The one idea: a rule that can admit nobody, or that only operators' programs understand, is a mistake, and is refused
 * before it is a version. Rules of peers are not asked: they are in force there.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_RULE_H
#define HEADGATE_CLUSTER_PLANE_PLANE_RULE_H

#include <stdbool.h>

struct error;
struct node;
struct plane_work;
struct rule;

/* False, with `error`: it has a home or weights, and not all nodes can do so here and now. */
bool plane_rule_may_have_parts(const struct node *node, const struct rule *rule, struct error *error);
/* False, with work->result.error. May add a warning to the result. */
bool plane_rule_is_right(struct node *node, struct plane_work *work, const struct rule *rule);

#endif
