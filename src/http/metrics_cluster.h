/*
 * metrics_cluster: what /metrics says of the cluster as this daemon sees it, and of each peer.
 *
 * The one idea: a row of a table for each figure of a peer. What a figure means is the node's
 * business (cluster/node_report.h).
 */
#ifndef HEADGATE_HTTP_METRICS_CLUSTER_H
#define HEADGATE_HTTP_METRICS_CLUSTER_H

#include "cluster/node.h"
#include "http/metrics_page.h"

#include <stdint.h>

void metrics_put_cluster(struct metrics_page *page, const struct node *node, uint64_t now_ns);

#endif
