/*
 * server_weights says which weights of the config have no effect, because a version of weights that was set while
 * daemons ran is in force instead: at the start, when such a version comes into force, and when the config is read
 * again.
 */
#include "server_state.h"

#include <string.h>

void server_tell_weights(struct server *server, const struct settings *settings)
{
    struct weights_report report;
    node_weights(server->node, &report);
    const bool by_demand = strcmp(report.base->author, WEIGHTS_AUTO_AUTHOR) == 0;
    if (by_demand && settings->node.weights_by_demand_ns > 0)
        return; /* the config asks for that: its weights are those to begin with */
    for (uint32_t i = 0; i < settings->node.region_count && report.base->stamp.number > 0; i++) {
        const struct region_weight *config = &settings->node.regions[i];
        const uint64_t billionths = settings->region_billionths[i],
                       set = weights_of_region(report.base, config->region);
        if (settings->region_line[i] > 0 && billionths != set)
            log_write(&server->log, LOG_LEVEL_WARNING,
                      "%s:%u: the weight of region %s is %.9g, which has no effect: %.9g of version %llu of the "
                      "weights is in force, made by %s; headgate weights set changes it",
                      server->config_path, settings->region_line[i], config->region, weight_number(billionths),
                      weight_number(set), (unsigned long long)report.base->stamp.number,
                      by_demand ? "demand" : "an operator");
    }
}

void server_watch_weights(struct server *server)
{
    const uint64_t number = node_weights_number(server->node);
    if (number == server->weights_told)
        return;
    server->weights_told = number;
    server_tell_weights(server, server->settings);
}
