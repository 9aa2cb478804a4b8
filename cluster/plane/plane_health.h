/*
 * plane_health: the health of services, told around, by which rules may be scaled.
 *
 * The one idea: each member says what it sees, the worst that anybody says counts, and silence
 * means that a service is well.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_HEALTH_H
#define HEADGATE_CLUSTER_PLANE_PLANE_HEALTH_H

#include "base/bytes.h"

#include <stdint.h>

struct effects;
struct health_report;
struct node;

void plane_health(struct node *node, const struct health_report *report, struct effects *effects);
/* What that member said of a service in its newest advert; services that it does not name are well. */
void plane_health_forget(struct node *node, uint32_t member);
void plane_health_hear(struct node *node, uint32_t member, struct bytes service_name, uint32_t level);
void plane_health_step(struct node *node);
/* After compiling: what is new is scaled, too. */
void plane_health_apply(struct node *node);

#endif
