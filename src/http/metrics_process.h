/*
 * metrics_process: what /metrics says of the daemon as a process: its version, its clock, memory and descriptors, its
 * certificates, and how it last read its config. What it decides is not here.
 */
#ifndef HEADGATE_HTTP_METRICS_PROCESS_H
#define HEADGATE_HTTP_METRICS_PROCESS_H

#include "http/call.h"
#include "http/metrics_page.h"

void metrics_put_process(struct metrics_page *page, struct commands *commands, struct turn turn);

#endif
