/*
 * metrics_limits: the part of /metrics about bounds: what limits of the config and rules declare, and what was
 * measured.
 *
 * The one idea: the measure is the worst debt of a key that this node saw, which is late and counts by terms: rules
 * of the same terms share it. Of a rule with several amounts the one is told that is nearest to its bound. Internal
 * to src/http. What rules decided is in metrics.c.
 */
#ifndef HEADGATE_HTTP_METRICS_LIMITS_H
#define HEADGATE_HTTP_METRICS_LIMITS_H

#include "http/call.h"
#include "http/metrics_page.h"

#define METRICS_OTHERS "(others)" /* the label of what has no series of its own */

void metrics_limits(struct metrics_page *page, const struct commands *commands);
/* Rules that may refuse, but for those in shadow and soft ones. */
void metrics_bounds(struct metrics_page *page, struct node *node);

#endif
