/*
 * GET /healthz: the daemon is alive; GET /readyz: it decides.
 */
#include "cluster/node.h"
#include "cluster/node_report.h"
#include "http/call.h"

void http_alive(struct http_call *call)
{
    call->type = "text/plain";
    put_text(&call->body, "alive\n");
}

void http_ready(struct http_call *call)
{
    struct peer_report own;
    struct node_status status;
    const struct node *node = call->http->commands->node;
    node_status(node, &status);
    const bool known = node_peers(node, call->turn.now_ns, &own, 1) > 0;
    const bool ready = known && status.state == PEER_ACTIVE && own.decides;
    call->status = ready ? 200 : 503;
    put_text(&call->body, ready ? "{\"ready\":true,\"state\":" : "{\"ready\":false,\"state\":");
    put_string(&call->body, bytes_of(peer_state_name(status.state)));
    put_text(&call->body, ",\"config\":");
    put_string(&call->body, bytes_of(config_state_name(status.config_state)));
    put_text(&call->body, "}\n");
}
