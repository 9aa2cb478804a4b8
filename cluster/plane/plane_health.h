/*
 * plane_health: spreads the health of services, by which rules may be scaled.
 *
 * The one idea: each member tells what it sees, and the worst level counts; silence means that a
 * service is well.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_HEALTH_H
#define HEADGATE_CLUSTER_PLANE_PLANE_HEALTH_H

#include "base/bytes.h"

#include <stdint.h>

struct effects;
struct health_report;
struct node;

void plane_health(struct node *node, const struct health_report *report, struct effects *effects);
/*
 * The health of services in the newest advert of that member; services that the advert does not
 * name are well.
 */
void plane_health_forget(struct node *node, uint32_t member);
void plane_health_hear(struct node *node, uint32_t member, struct bytes service_name, uint32_t level);
void plane_health_step(struct node *node);
/* To be called after compiling: new rules are scaled as well. */
void plane_health_apply(struct node *node);

#endif
