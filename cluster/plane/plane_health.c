/*
 * plane_health keeps the health of services: own reports of clients and the levels that members
 * advertise. The worst level decides the scale of a service's rules. A service that is well and
 * silent is forgotten. How a level follows from reports is in rules/health.h.
 */
#include "cluster/plane/plane_health.h"

#include "cluster/state/node_state.h"
#include "cluster/state/plane_state.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

/* a silent service that is well is forgotten after this */
#define HEALTH_REMEMBERED_NS 60000000000u

static struct plane_service *find(const struct plane *plane, struct bytes name)
{
    for (uint32_t i = 0; i < plane->service_count; i++)
        if (bytes_equal(bytes_of(plane->service[i]->name), name))
            return plane->service[i];
    return NULL;
}

/*
 * NULL: no rule here is about the service, or too many services report, or there is no memory. An
 * unknown service takes no place, so made-up names keep no real service out.
 */
static struct plane_service *obtain(struct node *node, struct bytes name)
{
    struct plane *plane = node->plane;
    if (!ruleset_has_service(plane->rules, name))
        return NULL;
    struct plane_service *service = find(plane, name);
    if (service)
        return service;
    if (plane->service_count < PLANE_HEALTH_MAX)
        service = calloc(1, sizeof *service);
    if (!service) {
        node->stats.limit_drops++;
        return NULL;
    }
    memcpy(service->name, name.data, name.size);
    service->scale = HEALTH_STEPS;
    health_init(&service->own);
    for (uint32_t i = 0; i < NODE_PEERS_MAX; i++)
        health_init(&service->heard[i]);
    plane->service[plane->service_count++] = service;
    return service;
}

/* The worst level of all peers: a service is one thing, at whichever peer it is reported. */
static uint32_t level_of(const struct plane_service *service, uint64_t now_ns)
{
    uint32_t level = health_level(&service->own, now_ns);
    for (uint32_t i = 0; i < NODE_PEERS_MAX; i++) {
        uint32_t heard = health_level(&service->heard[i], now_ns);
        level = heard < level ? heard : level;
    }
    return level;
}

/* True if the scale has changed, which has twenty steps. */
static bool apply(struct node *node, struct plane_service *service)
{
    uint32_t scale = health_scale(level_of(service, node->now_ns));
    if (scale == service->scale)
        return false;
    service->scale = scale;
    (void)ruleset_set_scale(node->plane->rules, bytes_of(service->name), scale);
    return true;
}

void plane_health_apply(struct node *node)
{
    const struct plane *plane = node->plane;
    for (uint32_t i = 0; i < plane->service_count; i++)
        (void)ruleset_set_scale(plane->rules, bytes_of(plane->service[i]->name), plane->service[i]->scale);
}

void plane_health(struct node *node, const struct health_report *report, struct effects *effects)
{
    struct plane *plane = node->plane;
    struct plane_service *service = obtain(node, report->service);
    if (!service) {
        effects->rules.refused = true;
        if (ruleset_has_service(plane->rules, report->service))
            (void)error_set(&effects->rules.error, EX_TEMPFAIL, "%u services report their health: expected no more",
                            plane->service_count);
        else
            (void)error_set(&effects->rules.error, EX_DATAERR,
                            "unknown service '%.*s': no rule is about it, and RULE LIST names those that have some",
                            (int)(report->service.size < RULE_NAME_MAX_BYTES ? report->service.size
                                                                             : RULE_NAME_MAX_BYTES),
                            report->service.data);
        return;
    }
    uint64_t target_ns = ruleset_latency_target_ns(plane->rules, report->service);
    if (report->latency_count == 0)
        health_report(&service->own, report->health_millionths, node->now_ns);
    for (size_t i = 0; i < report->latency_count && target_ns > 0; i++)
        health_sample(&service->own, report->latency_ns[i], target_ns, node->now_ns);
    plane->advert_wanted |= apply(node, service);
}

void plane_health_forget(struct node *node, uint32_t member)
{
    for (uint32_t i = 0; i < node->plane->service_count; i++)
        health_init(&node->plane->service[i]->heard[member]);
}

void plane_health_hear(struct node *node, uint32_t member, struct bytes service_name, uint32_t level)
{
    struct plane_service *service = obtain(node, service_name);
    if (service)
        health_report(&service->heard[member], level, node->now_ns);
}

static bool is_forgettable(const struct plane *plane, const struct plane_service *service, uint64_t now_ns)
{
    if (!ruleset_has_service(plane->rules, bytes_of(service->name)))
        return true;
    return service->scale == HEALTH_STEPS && level_of(service, now_ns) == HEALTH_ONE &&
           (!service->own.told || now_ns - service->own.reported_ns > HEALTH_REMEMBERED_NS);
}

void plane_health_step(struct node *node)
{
    struct plane *plane = node->plane;
    for (uint32_t i = 0; i < plane->service_count;) {
        struct plane_service *service = plane->service[i];
        (void)apply(node, service);
        if (!is_forgettable(plane, service, node->now_ns)) {
            i++;
            continue;
        }
        free(service);
        plane->service[i] = plane->service[--plane->service_count];
    }
}
